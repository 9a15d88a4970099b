/** Times of day in a zone that is named, whatever the machine's is. */
import { expect, test } from "vitest";
import { formatLocal, instantOf } from "../../../src/assistant/schedule/local-time.ts";

const at = (text: string): number => Date.parse(text);
const nineTomorrow = { inDays: 1, hour: 9, minute: 0 };

test("tomorrow at 9 is 9 in the zone, also over a change of the clock", () => {
  const cases = [
    ["2026-11-19T23:30:00Z", "Europe/Berlin", "2026-11-21T09:00:00+01:00"],
    ["2026-11-19T22:30:00Z", "Europe/Berlin", "2026-11-20T09:00:00+01:00"],
    ["2026-11-19T23:30:00Z", "America/New_York", "2026-11-20T09:00:00-05:00"],
    ["2026-11-19T23:30:00Z", "Asia/Kolkata", "2026-11-21T09:00:00+05:30"],
    ["2026-11-19T23:30:00Z", "UTC", "2026-11-20T09:00:00+00:00"],
    // The night before summer time begins, and the one before it ends.
    ["2026-03-28T12:00:00Z", "Europe/Berlin", "2026-03-29T09:00:00+02:00"],
    ["2026-10-24T12:00:00Z", "Europe/Berlin", "2026-10-25T09:00:00+01:00"],
    ["2026-12-31T12:00:00Z", "Pacific/Auckland", "2027-01-02T09:00:00+13:00"],
  ] as const;
  for (const [now, zone, wanted] of cases) {
    expect(formatLocal(instantOf(nineTomorrow, at(now), zone), zone), `${now} ${zone}`).toBe(wanted);
  }
});

test("a time that a change of the clock leaves out is as much later; one that comes twice is the first", () => {
  const berlin = "Europe/Berlin";
  const skipped = instantOf({ inDays: 1, hour: 2, minute: 30 }, at("2026-03-28T12:00:00Z"), berlin);
  expect(formatLocal(skipped, berlin)).toBe("2026-03-29T03:30:00+02:00");
  const twice = instantOf({ inDays: 1, hour: 2, minute: 30 }, at("2026-10-24T12:00:00Z"), berlin);
  expect(formatLocal(twice, berlin)).toBe("2026-10-25T02:30:00+02:00");
});
