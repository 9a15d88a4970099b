/**
 * Times of day in a time zone: what a person means by "tomorrow at 9". The zone's rules are those of the machine's ICU.
 */
const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;

/** As a clock on the wall shows it, in milliseconds since 1970 as if it were UTC. */
function wallMs(atMs: number, timeZone: string): number {
  const format = new Intl.DateTimeFormat("en-u-ca-gregory-nu-latn", {
    ...{ timeZone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric" },
    ...{ hour: "numeric", minute: "numeric", second: "numeric" },
  });
  const parts = Object.fromEntries(format.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]));
  const { year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

function offsetMs(atMs: number, timeZone: string): number {
  const seconds = Math.floor(atMs / 1000) * 1000;
  return wallMs(seconds, timeZone) - seconds;
}

/** In RFC 3339 with the zone's offset, in whole seconds. */
export function formatLocal(atMs: number, timeZone: string): string {
  const offset = offsetMs(atMs, timeZone);
  const minutes = Math.abs(Math.round(offset / MINUTE_MS));
  const sign = offset < 0 ? "-" : "+";
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60].map((each) => String(each).padStart(2, "0"));
  const shown = Math.floor(atMs / 1000) * 1000 + Math.round(offset / MINUTE_MS) * MINUTE_MS;
  return `${new Date(shown).toISOString().slice(0, 19)}${sign}${hours}:${rest}`;
}

export interface TimeOfDay {
  /** Days from today. */
  readonly inDays: number;
  readonly hour: number;
  readonly minute: number;
}

/** When that is next to `nowMs`. A time that a change of the clock leaves out is as much later; one that comes twice is the first. */
export function instantOf({ inDays, hour, minute }: TimeOfDay, nowMs: number, timeZone: string): number {
  const today = Math.floor(wallMs(Math.floor(nowMs / 1000) * 1000, timeZone) / DAY_MS) * DAY_MS;
  const wanted = today + inDays * DAY_MS + (hour * 60 + minute) * MINUTE_MS;
  const offsets = [wanted - DAY_MS, wanted + DAY_MS].map((near) => offsetMs(near, timeZone));
  const fitting = offsets.map((offset) => wanted - offset).filter((atMs) => offsetMs(atMs, timeZone) === wanted - atMs);
  return fitting.length > 0 ? Math.min(...fitting) : wanted - (offsets[0] ?? 0);
}
