import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { timestampOf } from "../../../src/runtime/ports/clock.ts";

const LAST_MS = 8.64e15;
const NOW_MS = Date.UTC(2026, 10, 16, 11, 59, 59);
const BORDERS = [0, NOW_MS, Date.UTC(2027, 0, 1), Date.UTC(-1, 0, 1), Date.UTC(10_000, 0, 1), -LAST_MS, LAST_MS];

const anyStep = fc.oneof(
  fc.constantFrom(0, 1, -1, 9, 10, 99, 100, 999, 1000, 1001, -999, -1000, -1001, 0.5, -0.5, 0.001, 1e-9),
  fc.integer({ min: -2500, max: 2500 }),
  fc.double({ min: -1500, max: 1500, noNaN: true }),
);

describe("timestampOf", () => {
  test("spells every time as Date does, whichever came before it", () => {
    const anyTimes = fc.tuple(fc.constantFrom(...BORDERS), fc.array(anyStep, { minLength: 1, maxLength: 12 }));
    fc.assert(
      fc.property(anyTimes, fc.boolean(), ([border, steps], isFromBorder) => {
        let ms = border;
        for (const step of steps) {
          ms = Math.max(-LAST_MS, Math.min(LAST_MS, (isFromBorder ? border : ms) + step));
          expect(timestampOf(ms), `${ms}`).toBe(new Date(ms).toISOString());
        }
      }),
      { numRuns: 2000 },
    );
  });

  test("spells every millisecond around a second's border, forwards and backwards", () => {
    for (const border of [NOW_MS, 0, -1000]) {
      const times = Array.from({ length: 2100 }, (_, index) => border - 1050 + index);
      for (const ms of [...times, ...times.toReversed()]) expect(timestampOf(ms)).toBe(new Date(ms).toISOString());
    }
  });

  test("a fraction before 1970 spoils nothing that is asked after it", () => {
    for (const ms of [-0.5, -1, -1 + 2 ** -53, -500, -999.5, -1000, -1000.5, -1001, -0]) {
      expect(timestampOf(ms), `${ms}`).toBe(new Date(ms).toISOString());
    }
  });

  test("what is no time is refused, and changes nothing", () => {
    expect(timestampOf(NOW_MS)).toBe("2026-11-16T11:59:59.000Z");
    for (const ms of [Number.NaN, Number.POSITIVE_INFINITY, LAST_MS + 2])
      expect(() => timestampOf(ms)).toThrow(RangeError);
    expect(timestampOf(NOW_MS + 7)).toBe("2026-11-16T11:59:59.007Z");
  });
});
