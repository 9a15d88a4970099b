/** The two SHA-256 behind `#sha256` are one function: a chain sealed on Node verifies in a browser. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { sha256Hex } from "#sha256";
import { sha256Hex as nodeSha256Hex } from "../../src/kernel/vocabulary/sha256-node.ts";
import { sha256Hex as portableSha256Hex } from "../../src/kernel/vocabulary/sha256-portable.ts";

test("Node hashes with its own", () => {
  expect(sha256Hex).toBe(nodeSha256Hex);
});

test("both give the published digest of abc", () => {
  const digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  expect([nodeSha256Hex("abc"), portableSha256Hex("abc")]).toEqual([digest, digest]);
});

test("both agree on any text and any bytes", () => {
  // Code units one by one, so that lone surrogates occur; fc's own binary strings have none and are slow to set up.
  const anyText = fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units));
  const anyData = fc.oneof(anyText, fc.uint8Array({ maxLength: 500 }));
  fc.assert(
    fc.property(anyData, (data) => {
      expect(portableSha256Hex(data)).toBe(nodeSha256Hex(data));
    }),
  );
});
