/**
 * Reminders at a time of day ("tomorrow at 9", "in 20 minutes", "at 5pm"). The demo model knows no time: it asks
 * schedule.list for it, and works out the rest from the answer.
 */
import { formatLocal, instantOf, type TimeOfDay } from "../../../assistant/schedule/local-time.ts";

export interface Reminder {
  readonly when: { readonly inMs: number } | (Omit<TimeOfDay, "inDays"> & { readonly inDays: number | null });
  readonly message: string;
}

const UNITS: Readonly<Record<string, number>> = { second: 1_000, minute: 60_000, hour: 3_600_000, day: 86_400_000 };
const MAX_AMOUNT = 10_000;
const DAY = "(?<day>today|tomorrow|(?:the )?day after tomorrow)";
const TIME = "at (?<hour>\\d{1,2})(?::(?<minute>\\d{2}))?(?: ?(?<half>am|pm))?(?: o'clock)?";
const WHEN = `(?:in (?<amount>\\d{1,5}|an?) (?<unit>second|minute|hour|day)s?|${DAY} ${TIME}|${TIME.replaceAll("?<", "?<at_")}(?: ${DAY.replaceAll("?<", "?<at_")})?)`;
const ABOUT = "(?:(?:to|about|that|of) )?";
const FIRST = new RegExp(`^remind me ${WHEN}(?:[ ,:]+${ABOUT}(?<message>.+))?$`, "is");
const LAST = new RegExp(`^remind me ${ABOUT}(?<message>.+?) ${WHEN}$`, "is");

export function parseReminder(text: string): Reminder | null {
  const { groups } = FIRST.exec(text) ?? LAST.exec(text) ?? {};
  if (groups === undefined) return null;
  const when = whenOf(groups);
  const about = (groups["message"] ?? "").trim();
  return when === null ? null : { when, message: about === "" ? "Reminder" : `Reminder: ${about}` };
}

function whenOf(groups: Readonly<Record<string, string | undefined>>): Reminder["when"] | null {
  const { amount, unit } = groups;
  if (amount !== undefined) {
    const count = /^an?$/i.test(amount) ? 1 : Number(amount);
    return count === 0 || count > MAX_AMOUNT ? null : { inMs: count * (UNITS[(unit ?? "").toLowerCase()] ?? 0) };
  }
  const half = (groups["half"] ?? groups["at_half"])?.toLowerCase();
  const said = Number(groups["hour"] ?? groups["at_hour"]);
  const minute = Number(groups["minute"] ?? groups["at_minute"] ?? 0);
  if (minute > 59 || said > (half === undefined ? 23 : 12) || (half !== undefined && said === 0)) return null;
  const hour = half === undefined ? said : (said % 12) + (half === "pm" ? 12 : 0);
  const day = (groups["day"] ?? groups["at_day"])?.toLowerCase();
  const inDays = day === undefined ? null : day === "today" ? 0 : day === "tomorrow" ? 1 : 2;
  return { inDays, hour, minute };
}

/** The schedule, from what schedule.list said; null when it said no time. */
export function scheduleOf({ when }: Reminder, now: string, timeZone: string): string | null {
  const nowMs = Date.parse(now);
  if (Number.isNaN(nowMs)) return null;
  try {
    return formatLocal(momentOf(when, nowMs, timeZone), timeZone);
  } catch {
    // No zone that this machine knows.
    return null;
  }
}

function momentOf(when: Reminder["when"], nowMs: number, timeZone: string): number {
  if ("inMs" in when) return nowMs + when.inMs;
  const { inDays } = when;
  const atMs = instantOf({ ...when, inDays: inDays ?? 0 }, nowMs, timeZone);
  // Without a day, the next such time.
  return inDays === null && atMs <= nowMs ? instantOf({ ...when, inDays: 1 }, nowMs, timeZone) : atMs;
}
