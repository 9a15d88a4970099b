/** Reminders at a time of day, as plain requests say them. */
import { expect, test } from "vitest";
import { parseReminder, scheduleOf } from "../../../../src/adapters/models/builtin-demo/local-reminder.ts";

const NOW = "2026-11-19T20:15:00+01:00";
const scheduled = (text: string): string | null => {
  const reminder = parseReminder(text);
  const schedule = reminder === null ? null : scheduleOf(reminder, NOW, "Europe/Berlin");
  return reminder === null ? null : `${schedule} ${reminder.message}`;
};

test("a time of day is one in the zone that the gateway named", () => {
  const cases = {
    "remind me tomorrow at 9": "2026-11-20T09:00:00+01:00 Reminder",
    "remind me tomorrow at 9 to call home": "2026-11-20T09:00:00+01:00 Reminder: call home",
    "Remind me to call home tomorrow at 9:30 pm": "2026-11-20T21:30:00+01:00 Reminder: call home",
    "remind me at 21:00 to sleep": "2026-11-19T21:00:00+01:00 Reminder: sleep",
    "remind me at 8am to get up": "2026-11-20T08:00:00+01:00 Reminder: get up",
    "remind me today at 22 about the oven": "2026-11-19T22:00:00+01:00 Reminder: the oven",
    "remind me at 7 tomorrow to run": "2026-11-20T07:00:00+01:00 Reminder: run",
    "remind me in 20 minutes to stretch": "2026-11-19T20:35:00+01:00 Reminder: stretch",
    "remind me in an hour to look at 5 letters": "2026-11-19T21:15:00+01:00 Reminder: look at 5 letters",
  };
  for (const [text, wanted] of Object.entries(cases)) expect(scheduled(text), text).toBe(wanted);
});

test("what is no such request is not guessed at", () => {
  for (const text of [
    "remind me",
    "remind me to call",
    "remind me tomorrow at 25",
    "remind me at 13pm",
    "tomorrow at 9",
  ]) {
    expect(parseReminder(text), text).toBeNull();
  }
  expect(scheduleOf({ when: { inMs: 1 }, message: "x" }, "no time", "UTC")).toBeNull();
  expect(scheduleOf({ when: { inMs: 1 }, message: "x" }, NOW, "Nowhere/Zone")).toBeNull();
});
