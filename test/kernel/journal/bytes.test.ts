import fc from "fast-check";
import { expect, test } from "vitest";
import { bytesOfHex, hexOfBytes } from "../../../src/kernel/journal/bytes.ts";

test("bytes are written as two digits each, in lower case, and read back", () => {
  const all = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  expect(hexOfBytes(all).match(/../g)).toEqual(Array.from(all, (byte) => byte.toString(16).padStart(2, "0")));
  expect(hexOfBytes(new Uint8Array(0))).toBe("");
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      const hex = hexOfBytes(bytes);
      expect(hex).toMatch(/^(?:[0-9a-f]{2})*$/);
      expect(hex).toHaveLength(2 * bytes.length);
      expect(bytesOfHex(hex)).toEqual(bytes);
      expect(hexOfBytes(bytesOfHex(hex))).toBe(hex);
    }),
  );
});

test("a view is written as what it shows", () => {
  const whole = Uint8Array.from({ length: 32 }, (_, index) => index);
  expect(hexOfBytes(whole.subarray(16, 18))).toBe("1011");
});
