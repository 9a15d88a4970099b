import fc from "fast-check";
import { expect, test } from "vitest";
import { unixMsOf } from "../../../../src/kernel/journal/views/unix-time.ts";

test("it agrees with the platform's clock on every date there is", () => {
  const min = new Date("0000-01-01T00:00:00.000Z");
  const max = new Date("9999-12-31T23:59:59.999Z");
  fc.assert(
    fc.property(fc.date({ min, max, noInvalidDate: true }), (date) => {
      expect(unixMsOf(date.toISOString())).toBe(date.getTime());
    }),
    { numRuns: 2000 },
  );
});

test.each([
  ["1970-01-01T00:00:00Z", 0],
  ["2026-02-15T00:00:00Z", 1_771_113_600_000],
  ["2024-02-29T23:59:59.999Z", 1_709_251_199_999],
  ["2000-03-01T00:00:00.5Z", 951_868_800_500],
  ["2026-02-15T00:00:00.123456789Z", 1_771_113_600_123],
])("%s is %d", (ts, ms) => {
  expect(unixMsOf(ts)).toBe(ms);
});

test.each([
  "",
  "2026-02-15",
  "2026-02-15T00:00:00",
  "2026-02-15T00:00:00+01:00",
  "2026-02-15T00:00:00.Z",
  " 2026-02-15T00:00:00Z",
  "2026-02-15T00:00:00Z ",
  "12026-02-15T00:00:00Z",
])("%j is no time", (ts) => {
  expect(unixMsOf(ts)).toBeNull();
});
