import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { imageFacts } from "../../../src/runtime/model/image-facts.ts";
import { DOT_PNG, DRAWN, jpeg, png } from "../sample-images.ts";

describe("the facts of an image", () => {
  test("are read from a whole file", () => {
    expect(imageFacts(DOT_PNG)).toEqual({ mimeType: "image/png", width: 1, height: 1 });
  });

  test("are what its header says, of every type and size", () => {
    const side = fc.integer({ min: 1, max: 16_383 });
    fc.assert(
      fc.property(
        fc.constantFrom(...DRAWN),
        side,
        side,
        fc.uint8Array({ maxLength: 64 }),
        (drawn, width, height, rest) => {
          const [mimeType, draw] = drawn;
          expect(imageFacts(draw(width, height, rest))).toEqual({ mimeType, width, height });
        },
      ),
    );
  });

  test("are none of anything else: any bytes are an answer or null, and none has no pixels", () => {
    const damaged = fc
      .tuple(fc.constantFrom(...DRAWN), fc.nat(40), fc.uint8Array({ minLength: 1, maxLength: 8 }), fc.nat(60))
      .map(([[, draw], at, bytes, length]) => {
        const file = draw(640, 480, Buffer.alloc(20));
        bytes.forEach((byte, index) => {
          if (at + index < file.length) file[at + index] = byte;
        });
        return file.subarray(0, length);
      });
    fc.assert(
      fc.property(fc.oneof(damaged, fc.uint8Array({ maxLength: 64 })), (bytes) => {
        const facts = imageFacts(bytes);
        if (facts !== null) expect(Math.min(facts.width, facts.height)).toBeGreaterThan(0);
      }),
    );
  });

  test("are null of a file that ends before its size, that has none, or that only begins like an image", () => {
    for (const [, draw] of DRAWN) {
      const header = draw(9, 9);
      expect(imageFacts(header.subarray(0, 9))).toBeNull();
    }
    expect(imageFacts(png(0, 9))).toBeNull();
    expect(imageFacts(jpeg(9, 0))).toBeNull();
    for (const text of ["", "GIF", "<svg/>", "%PDF-1.7", "BM", "RIFF\0\0\0\0WAVEfmt ................"])
      expect(imageFacts(Buffer.from(text))).toBeNull();
  });

  test("are read at the place of a view, not of the buffer below it", () => {
    const shifted = Buffer.concat([Buffer.from("xyz"), png(3, 4)]);
    expect(imageFacts(new Uint8Array(shifted).subarray(3))).toEqual({ mimeType: "image/png", width: 3, height: 4 });
  });
});
