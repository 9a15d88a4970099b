/** The grammar of schedules, attack by attack and as a property. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseSchedule } from "../../../src/kernel/schedule/parse-schedule.ts";
import { formatUtc, parseRfc3339 } from "../../../src/kernel/schedule/rfc3339.ts";
import { verifies } from "../../requirements.ts";

const every = (text: string): number | null => {
  const parsed = parseSchedule(text);
  return parsed.ok && parsed.schedule.kind === "every" ? parsed.schedule.everyMs : null;
};
const messageOf = (text: string): string => {
  const parsed = parseSchedule(text);
  return parsed.ok ? `taken as ${parsed.text}` : parsed.message;
};

describe("@every", () => {
  verifies("O-4.2/every", "takes Go durations from 10 seconds to 366 days", () => {
    const taken = {
      "10s": 10e3,
      "30m": 1800e3,
      "1h30m": 5400e3,
      "1.5h": 5400e3,
      "10000ms": 10e3,
      "8784h": 8784 * 3600e3,
    };
    for (const [duration, ms] of Object.entries(taken)) expect(every(`@every ${duration}`), duration).toBe(ms);
    expect(every("@every 10000000µs")).toBe(10_000);
    expect(every("@every 10000000μs")).toBe(10_000);
    expect(every("@every 10000000000ns")).toBe(10_000);
    expect(every("@every 0.5h30m")).toBe(3_600_000);
  });

  verifies("O-4.2/every", "refuses what is no duration, or out of bounds", () => {
    const wrong = [
      ...["@every 9.999s", "@every 1ns", "@every 500µs", "@every 0s", "@every 8784h1ms", "@every 9999999999h"],
      ...["@every 30", "@every", "@every ", "@every  30m", "@every 30m ", "@every 1h 30m", "@every -1h", "@every +1h"],
      ...["@EVERY 30m", "@every 30M", "@every 1d", "@every .5h", "@every 1.h", "@every 1e3s", "@every 1h\n@every 1s"],
      ...["@every 1h\n", " @every 1h", "@every 0x10s", "@every ١h", `@every ${"9".repeat(40)}h`],
    ];
    for (const text of wrong) expect(parseSchedule(text).ok, text).toBe(false);
  });
});

describe("one time", () => {
  verifies("O-4.2/once", "takes RFC 3339 and keeps it in UTC", () => {
    const taken = {
      "2026-02-18T09:00:00Z": "2026-02-18T09:00:00Z",
      "2026-02-18T09:00:00+09:00": "2026-02-18T00:00:00Z",
      "2026-02-18T23:30:00-02:00": "2026-02-19T01:30:00Z",
      "2026-02-18T09:00:00.5Z": "2026-02-18T09:00:00.500Z",
      "2001-01-01T00:00:00Z": "2001-01-01T00:00:00Z",
      "2028-02-29T00:00:00Z": "2028-02-29T00:00:00Z",
      "9999-12-31T23:59:59Z": "9999-12-31T23:59:59Z",
      "0001-01-01T00:00:00Z": "0001-01-01T00:00:00Z",
    };
    for (const [text, utc] of Object.entries(taken)) expect(parseSchedule(text)).toMatchObject({ ok: true, text: utc });
  });

  verifies("O-4.2/once", "refuses dates that do not exist, and every lenient spelling", () => {
    const wrong = [
      ...["2026-02-18", "2026-02-30T09:00:00Z", "2026-02-29T09:00:00Z", "2100-02-29T09:00:00Z", "18 Feb 2026"],
      ...["2026-13-01T00:00:00Z", "2026-00-10T00:00:00Z", "2026-02-00T00:00:00Z", "2026-02-18T24:00:00Z"],
      ...["2026-02-18T09:60:00Z", "2026-02-18T09:00:60Z", "2026-02-18T09:00:00", "2026-02-18 09:00:00Z"],
      ...["2026-02-18t09:00:00z", "2026-02-18T09:00Z", "2026-02-18T09:00:00+9:00", "2026-02-18T09:00:00+24:00"],
      ...["2026-02-18T09:00:00+0900", "2026-02-18T09:00:00.Z", "+002026-02-18T09:00:00Z", "1771405200"],
      ...["9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+00:01", "0000-01-01T00:00:00Z", "tomorrow", ""],
      ...["2026-02-18T09:00:00Z\n", "2026-02-18T09:00:00Z; @every 10s"],
    ];
    for (const text of wrong) expect(parseSchedule(text).ok, text).toBe(false);
  });

  test("reads every time as the calendar of Date does, and writes it back", () => {
    const first = Date.parse("0001-01-01T00:00:00Z");
    const last = Date.parse("9999-12-31T23:59:59.999Z");
    fc.assert(
      fc.property(fc.integer({ min: first, max: last }), (atMs) => {
        const text = new Date(atMs).toISOString();
        expect(parseRfc3339(text)).toEqual({ ok: true, atMs });
        expect(Date.parse(formatUtc(atMs))).toBe(atMs);
        expect(parseRfc3339(formatUtc(atMs))).toEqual({ ok: true, atMs });
      }),
    );
  });

  test("no text is taken that Date would not take", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-6]\d:[0-6]\dZ$/), (text) => {
        const parsed = parseRfc3339(text);
        const date = new Date(text);
        const isReal = !Number.isNaN(date.getTime()) && date.toISOString().slice(0, 19) === text.slice(0, 19);
        expect(parsed.ok).toBe(isReal && !text.startsWith("0000"));
      }),
    );
  });
});

verifies("O-4.2/cron", "cron is refused with what to write instead", () => {
  const instead = {
    "@daily": "write @every 24h",
    "@Hourly": "write @every 1h",
    "*/15 * * * *": "write @every 15m",
    "0 */6 * * *": "write @every 6h",
    "* * * * *": "write @every 1m",
    "30 * * * *": "write @every 1h",
    "0 9 * * *": "write @every 24h, or one time such as",
    "0 9 * * MON-FRI": "write @every 30m, or one time such as",
    "0 0 9 * * *": "write @every 24h, or one time such as",
  };
  for (const [text, words] of Object.entries(instead)) {
    expect(messageOf(text), text).toContain("not supported");
    expect(messageOf(text), text).toContain(words);
  }
});

test("no text, however odd, is anything but taken or refused with a sentence", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 80 }), (text) => {
      const parsed = parseSchedule(text);
      if (!parsed.ok) expect(parsed.message.length).toBeGreaterThan(10);
    }),
  );
});
