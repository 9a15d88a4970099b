import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { utf8Decoder } from "../../../../src/kernel/protocol/release/utf8-decoder.ts";
import { cutAt, everyCut, everyPartition, outputs, pass } from "./every-cut.ts";

const whole = (bytes: Uint8Array): string => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
const bytesOf = (hex: string): Uint8Array => Uint8Array.from(hex.split(" ").map((byte) => Number.parseInt(byte, 16)));

/** Lead and continuation bytes at the edges of what UTF-8 allows. */
const edgeByte = fc.constantFrom(
  0x00,
  0x2e,
  0x41,
  0x7f,
  0x80,
  0x8f,
  0x90,
  0x9f,
  0xa0,
  0xbf,
  0xc0,
  0xc1,
  0xc2,
  0xdf,
  0xe0,
  0xe1,
  0xec,
  0xed,
  0xee,
  0xef,
  0xf0,
  0xf1,
  0xf3,
  0xf4,
  0xf5,
  0xff,
);

describe("utf8Decoder", () => {
  test("every split of random bytes decodes as the whole does", () => {
    const bytes = fc.array(fc.oneof(edgeByte, fc.nat(255)), { maxLength: 40 }).map((list) => Uint8Array.from(list));
    fc.assert(
      fc.property(bytes, fc.array(fc.nat(40)), (input, cuts) => {
        expect(pass(utf8Decoder, cutAt(input, cuts))).toBe(whole(input));
      }),
      { numRuns: 2000 },
    );
  });

  test("every split of well-formed text, byte for byte, gives that text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 12 }), (text) => {
        for (const chunks of everyCut(new TextEncoder().encode(text))) expect(pass(utf8Decoder, chunks)).toBe(text);
      }),
    );
  });

  test.each([
    ["two, three and four bytes", "c3 a9 e2 82 ac f0 9f 98 80"],
    ["a surrogate in three bytes", "ed a0 80 ed b0 80"],
    ["beyond U+10FFFF", "f4 90 80 80"],
    ["a four-byte sequence cut after each byte", "f0 f0 9f f0 9f 98"],
    ["overlong, three and four bytes", "e0 9f bf f0 8f bf bf"],
    ["continuations without a lead", "80 bf 80 bf 80"],
    ["a byte order mark, twice", "ef bb bf ef bb bf 41"],
  ])("all partitions of %s", (_, hex) => {
    const input = bytesOf(hex);
    for (const chunks of everyPartition(input)) expect(pass(utf8Decoder, chunks)).toBe(whole(input));
  });

  test("a byte order mark is text", () => {
    expect(pass(utf8Decoder, [bytesOf("ef bb bf 61")])).toBe("\uFEFFa");
  });

  test.each([
    // what came so far, what is released at once
    ["41 c3", "A"],
    ["41 e2", "A"],
    ["41 e2 82", "A"],
    ["41 f0 9f 98", "A"],
    ["41 e0 a0", "A"],
    ["41 e0 9f", "A\uFFFD\uFFFD"],
    ["41 ed 9f", "A"],
    ["41 ed a0", "A\uFFFD\uFFFD"],
    ["41 f0 90", "A"],
    ["41 f0 8f", "A\uFFFD\uFFFD"],
    ["41 f4 8f", "A"],
    ["41 f4 90", "A\uFFFD\uFFFD"],
    ["41 c1", "A\uFFFD"],
    ["41 c2", "A"],
    ["41 df", "A"],
    ["41 f5", "A\uFFFD"],
    ["c3 a9", "é"],
    ["e2 82 ac", "€"],
    ["f0 9f 98 80", "😀"],
  ])("after %s it has released %j, no more and no less", (hex, released) => {
    expect(outputs(utf8Decoder, [bytesOf(hex)])[0]).toBe(released);
  });

  test("a sequence cut off by the end is one U+FFFD", () => {
    expect(outputs(utf8Decoder, [bytesOf("41 f0 9f 98")])).toEqual(["A", "\uFFFD"]);
  });

  test("a state can be pushed from twice", () => {
    const [state] = utf8Decoder.push(utf8Decoder.start(), bytesOf("e2 82"));
    expect(utf8Decoder.push(state, bytesOf("ac"))[1]).toBe("€");
    expect(utf8Decoder.push(state, bytesOf("ac"))[1]).toBe("€");
  });

  test("the buffer a chunk came in may be reused", () => {
    const buffer = bytesOf("41 e2 82");
    const [state] = utf8Decoder.push(utf8Decoder.start(), buffer);
    buffer.fill(0);
    expect(utf8Decoder.push(state, bytesOf("ac"))[1]).toBe("€");
  });
});
