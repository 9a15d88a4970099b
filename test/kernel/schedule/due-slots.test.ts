/** Which slots are due, at one check and over whatever a clock does. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { dueSlots, heldSlots } from "../../../src/kernel/schedule/due-slots.ts";
import { verifies } from "../../requirements.ts";

const HOUR = 3_600_000;
const hourly = { kind: "every", everyMs: HOUR } as const;

verifies("O-4.3/interval", "a gap costs one run: the latest slot has its turn, the earlier ones were missed", () => {
  expect(dueSlots(hourly, HOUR, 5.5 * HOUR)).toEqual({
    missed: { count: 4, firstMs: HOUR, lastMs: 4 * HOUR },
    turnMs: 5 * HOUR,
    nextMs: 6.5 * HOUR,
  });
});

test("an interval on time keeps its rhythm, a late one continues from its run", () => {
  expect(dueSlots(hourly, HOUR, HOUR + 40)).toEqual({ missed: null, turnMs: HOUR, nextMs: 2 * HOUR });
  expect(dueSlots(hourly, HOUR, 1.5 * HOUR)).toEqual({ missed: null, turnMs: HOUR, nextMs: 2.5 * HOUR });
});

test("a clock that went back plans the same slot again, at most one interval away", () => {
  expect(dueSlots(hourly, 100 * HOUR, HOUR)).toEqual({ missed: null, turnMs: null, nextMs: 2 * HOUR });
  expect(dueSlots(hourly, 1.5 * HOUR, HOUR)).toEqual({ missed: null, turnMs: null, nextMs: 1.5 * HOUR });
});

verifies("O-4.3/once", "a time has its turn once, however long ago it was", () => {
  const once = { kind: "once", atMs: 5 } as const;
  expect(dueSlots(once, 5, 10 * HOUR)).toEqual({ missed: null, turnMs: 5, nextMs: null });
  expect(dueSlots(once, 5, 4)).toEqual({ missed: null, turnMs: null, nextMs: 5 });
  expect(heldSlots(once, 5, 1, 10 * HOUR)).toEqual({ missed: null, skipped: null, nextMs: 5 });
});

test("a pause skips what fell due in it, and only that", () => {
  expect(heldSlots(hourly, HOUR, 2.5 * HOUR, 5.5 * HOUR)).toEqual({
    missed: { count: 2, firstMs: HOUR, lastMs: 2 * HOUR },
    skipped: { count: 3, firstMs: 3 * HOUR, lastMs: 5 * HOUR },
    nextMs: 6 * HOUR,
  });
});

const gap = fc.integer({ min: -30, max: 30 }).map((hours) => hours * HOUR + 7);

test("over any jumps of the clock: one turn a check, none twice, none lost", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(gap, fc.boolean()), { maxLength: 60 }), (gaps) => {
      let nowMs = 1_000 * HOUR;
      let dueMs = nowMs + HOUR;
      for (const [gapMs, isHeld] of gaps) {
        const sinceMs = nowMs;
        nowMs += gapMs;
        // What is due lies one interval apart, from `dueMs` to now.
        const expected = nowMs < dueMs ? 0 : Math.floor((nowMs - dueMs) / HOUR) + 1;
        if (isHeld) {
          const { missed, skipped, nextMs } = heldSlots(hourly, dueMs, sinceMs, nowMs);
          expect((missed?.count ?? 0) + (skipped?.count ?? 0)).toBe(expected);
          dueMs = nextMs;
        } else {
          const { missed, turnMs, nextMs } = dueSlots(hourly, dueMs, nowMs);
          expect((missed?.count ?? 0) + (turnMs === null ? 0 : 1)).toBe(expected);
          dueMs = nextMs ?? Number.NaN;
        }
        expect(dueMs).toBeGreaterThan(nowMs);
        expect(dueMs - nowMs).toBeLessThanOrEqual(HOUR);
      }
    }),
  );
});
