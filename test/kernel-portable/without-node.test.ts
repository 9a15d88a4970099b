/** Runs only where Node is taken away (scripts/without-node.ts): the guard is up, and the portable twin is in use. */
import { expect, test } from "vitest";
import { sha256Hex } from "#sha256";
import { sha256Hex as portableSha256Hex } from "../../src/kernel/vocabulary/sha256-portable.ts";

test("the kernel hashes with its portable twin", () => {
  expect(sha256Hex).toBe(portableSha256Hex);
});

test("the twin for Node cannot be loaded", async () => {
  await expect(import("../../src/kernel/vocabulary/sha256-node.ts")).rejects.toThrow("portable twin");
});

test("a file that imports a Node module cannot be loaded", async () => {
  await expect(import("./needs-node.ts")).rejects.toThrow("imports node:fs, which no browser has");
});
