import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bodyRef } from "../../../src/kernel/journal/body.ts";
import { BodyCache } from "../../../src/runtime/run/body-cache.ts";

/** Different at every call, the same in every test. */
function countingBytes(): (count: number) => Uint8Array {
  let calls = 0;
  return (count) => {
    calls += 1;
    return new Uint8Array(count).fill(calls);
  };
}

describe("the body cache", () => {
  test("equal text has one ref, across restarts too; a new body is handed out for writing once", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 4 }), { maxLength: 20 }), (texts) => {
        const bodyCache = new BodyCache(countingBytes(), new Map());
        const refs = texts.map((text) => bodyCache.keep(text));
        expect(refs.map((ref) => bodyCache.read(ref))).toEqual(texts);
        expect(new Set(refs).size).toBe(new Set(texts).size);
        const written = bodyCache.takeUnwritten();
        expect(written.map(({ text }) => text)).toEqual([...new Set(texts)]);
        for (const { ref, salt, text } of written) expect(bodyRef(Buffer.from(salt, "hex"), text)).toBe(ref);
        expect(bodyCache.takeUnwritten()).toEqual([]);
        const next = new BodyCache(countingBytes(), new Map(written.map((body) => [body.ref, body])));
        expect(texts.map((text) => next.keep(text))).toEqual(refs);
        expect(next.takeUnwritten()).toEqual([]);
      }),
    );
  });

  test("an erased body reads as null", () => {
    const ref = bodyRef(new Uint8Array(16), "gone");
    expect(new BodyCache(countingBytes(), new Map()).read(ref)).toBeNull();
  });
});
