/**
 * The grammar of schedules (O-4.2): `@every <Go duration>`, or one time in RFC 3339. Strict: what a lenient parser would
 * guess at (`2026-02-30`, `18 Feb 2026`, `@every 30`) is refused with what to write instead. Cron is refused by name.
 */
import { parseGoDuration } from "./go-duration.ts";
import { formatUtc, parseRfc3339 } from "./rfc3339.ts";

export type Schedule =
  | { readonly kind: "every"; readonly everyMs: number }
  | { readonly kind: "once"; readonly atMs: number };

export type ParsedSchedule =
  /** `text`: as it is stored; a time is in UTC. */
  | { readonly ok: true; readonly schedule: Schedule; readonly text: string }
  | { readonly ok: false; readonly message: string };

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const MIN_EVERY_MS = 10 * SECOND_MS;
const MAX_EVERY_MS = 366 * 24 * HOUR_MS;
const MAX_CHARS = 64;
const EVERY = "@every ";

const WAYS = "write @every 30m, or one time such as 2026-02-18T09:00:00Z";

export function parseSchedule(text: string): ParsedSchedule {
  if (text.length > MAX_CHARS) return refuse(`a schedule has at most ${MAX_CHARS} characters: ${WAYS}`);
  if (text.startsWith(EVERY)) return parseEvery(text);
  const cron = cronProblem(text);
  if (cron !== null) return refuse(cron);
  const time = parseRfc3339(text);
  if (!time.ok) return refuse(`${time.problem}: ${WAYS}`);
  return { ok: true, schedule: { kind: "once", atMs: time.atMs }, text: formatUtc(time.atMs) };
}

function parseEvery(text: string): ParsedSchedule {
  const everyMs = parseGoDuration(text.slice(EVERY.length));
  if (everyMs === null) {
    return refuse("after @every and one space stands a Go duration such as 30m, 1h30m or 1.5h, and nothing else");
  }
  if (everyMs < MIN_EVERY_MS || everyMs > MAX_EVERY_MS) {
    return refuse(`@every takes 10s to 366 days (${MAX_EVERY_MS / HOUR_MS}h)`);
  }
  return { ok: true, schedule: { kind: "every", everyMs }, text };
}

const MACROS: Readonly<Record<string, string>> = {
  "@hourly": "@every 1h",
  "@daily": "@every 24h",
  "@midnight": "@every 24h",
  "@weekly": "@every 168h",
  "@monthly": "@every 720h",
  "@yearly": "@every 8760h",
  "@annually": "@every 8760h",
};

/** A cron expression: five or six fields of its alphabet, or one of its macros. */
function cronProblem(text: string): string | null {
  const macro = MACROS[text.toLowerCase()];
  if (macro !== undefined) return `${text} is cron, which is not supported: write ${macro}`;
  const fields = text.trim().split(/\s+/);
  const isCron = (fields.length === 5 || fields.length === 6) && fields.every((field) => /^[\w*?/,#-]+$/.test(field));
  return isCron ? `cron expressions are not supported: ${insteadOf(fields)}` : null;
}

/** Names the interval where the expression has one. */
function insteadOf(fields: readonly string[]): string {
  const [minute = "", hour = "", ...days] = fields.slice(-5);
  const isEveryDay = days.every((field) => field === "*" || field === "?");
  const step = /^(?:\*|0)\/(\d{1,3})$/;
  const minutes = step.exec(minute)?.[1];
  const hours = step.exec(hour)?.[1];
  if (isEveryDay && minutes !== undefined && hour === "*") return `write @every ${minutes}m`;
  if (isEveryDay && minute === "*" && hour === "*") return "write @every 1m";
  if (isEveryDay && hours !== undefined) return `write @every ${hours}h`;
  if (isEveryDay && hour === "*") return "write @every 1h";
  return isEveryDay ? "write @every 24h, or one time such as 2026-02-18T09:00:00Z" : WAYS;
}

function refuse(message: string): ParsedSchedule {
  return { ok: false, message };
}
