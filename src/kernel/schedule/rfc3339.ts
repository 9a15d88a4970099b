/**
 * Times in RFC 3339, strictly: every field there, in range, and a date that exists. The kernel has no `Date`, whose parser
 * takes 30 February for 2 March; days are counted in the Gregorian calendar.
 */
const SHAPE = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:Z|([+-])(\d{2}):(\d{2}))$/;
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const DAY_MS = 1_440 * MINUTE_MS;
const DAYS_OF_400_YEARS = 146_097;
/** From 1 March 0000 to 1 January 1970. */
const EPOCH_DAYS = 719_468;
/** The years that four digits can write. */
const FIRST_MS = daysFrom(1, 1, 1) * DAY_MS;
const END_MS = daysFrom(10_000, 1, 1) * DAY_MS;

export type ParsedTime =
  | { readonly ok: true; readonly atMs: number }
  | { readonly ok: false; readonly problem: string };

export function parseRfc3339(text: string): ParsedTime {
  const match = SHAPE.exec(text);
  if (match === null) return refuse("not a time in RFC 3339");
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return refuse("there is no such date");
  if (hour > 23 || minute > 59 || second > 59) return refuse("there is no such time of day");
  const [fraction = "", sign = "+", offsetHours = "0", offsetMinutes = "0"] = match.slice(7, 11);
  if (Number(offsetHours) > 23 || Number(offsetMinutes) > 59) return refuse("there is no such offset");
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * MINUTE_MS * (sign === "-" ? -1 : 1);
  const clockMs = (hour * 60 + minute) * MINUTE_MS + second * SECOND_MS + Number(fraction.padEnd(3, "0").slice(0, 3));
  const atMs = daysFrom(year, month, day) * DAY_MS + clockMs - offset;
  if (atMs < FIRST_MS || atMs >= END_MS) return refuse("the time is outside the years 0001 to 9999 of UTC");
  return { ok: true, atMs };
}

/** In UTC, with a fraction only where there is one. */
export function formatUtc(atMs: number): string {
  const days = Math.floor(atMs / DAY_MS);
  const { year, month, day } = dateOf(days);
  const rest = atMs - days * DAY_MS;
  const hour = Math.floor(rest / (60 * MINUTE_MS));
  const minute = Math.floor(rest / MINUTE_MS) % 60;
  const second = Math.floor(rest / SECOND_MS) % 60;
  const fraction = rest % SECOND_MS;
  const time = [hour, minute, second].map((each) => padded(each, 2)).join(":");
  const date = `${padded(year, 4)}-${padded(month, 2)}-${padded(day, 2)}`;
  return `${date}T${time}${fraction === 0 ? "" : `.${padded(fraction, 3)}`}Z`;
}

function daysIn(year: number, month: number): number {
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0;
}

/** Days since 1970. A year is counted from March, so that the leap day is its last. */
function daysFrom(year: number, month: number, day: number): number {
  const counted = month <= 2 ? year - 1 : year;
  const cycle = Math.floor(counted / 400);
  const yearOfCycle = counted - cycle * 400;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const dayOfCycle = yearOfCycle * 365 + Math.floor(yearOfCycle / 4) - Math.floor(yearOfCycle / 100) + dayOfYear;
  return cycle * DAYS_OF_400_YEARS + dayOfCycle - EPOCH_DAYS;
}

function dateOf(days: number): { readonly year: number; readonly month: number; readonly day: number } {
  const shifted = days + EPOCH_DAYS;
  const cycle = Math.floor(shifted / DAYS_OF_400_YEARS);
  const dayOfCycle = shifted - cycle * DAYS_OF_400_YEARS;
  const yearOfCycle = Math.floor(
    (dayOfCycle - Math.floor(dayOfCycle / 1_460) + Math.floor(dayOfCycle / 36_524) - Math.floor(dayOfCycle / 146_096)) /
      365,
  );
  const dayOfYear = dayOfCycle - (365 * yearOfCycle + Math.floor(yearOfCycle / 4) - Math.floor(yearOfCycle / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  return { year: cycle * 400 + yearOfCycle + (month <= 2 ? 1 : 0), month, day };
}

function padded(value: number, digits: number): string {
  return String(value).padStart(digits, "0");
}

function refuse(problem: string): ParsedTime {
  return { ok: false, problem };
}
