import { expect, test } from "vitest";
import { formatBytes, formatDuration, plural } from "../../../src/adapters/terminal/quantities.ts";

test.each([
  [0, "0 ms"],
  [999.4, "999 ms"],
  [1000, "1.0 s"],
  [59_900, "59.9 s"],
  [60_000, "1 min 0 s"],
  [3_661_000, "61 min 1 s"],
])("%d ms reads %s", (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test.each([
  [0, "0 bytes"],
  [1, "1 byte"],
  [1500, "1.5 kB"],
  [2_000_000, "2.0 MB"],
])("%d bytes read %s", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

test("one is one", () => {
  expect([plural(0, "call"), plural(1, "call"), plural(2, "call")]).toEqual(["0 calls", "1 call", "2 calls"]);
});
