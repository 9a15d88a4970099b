/**
 * The log files of a home (P-4.4): `logs/gateway/` and `logs/<provider>/`.
 *
 * G1. Logging never waits: records are kept in memory and written together a moment later.
 * G2. A failed write hurts nothing but the log. When records come faster than the disk takes them, the newest are dropped,
 *     and their number is logged.
 * G3. Every value is redacted before pino sees it: pino's own redaction knows paths of one level, not values.
 */
import { join } from "node:path";
import { compileRedactor, type Redactor } from "../../kernel/redaction/redact.ts";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";
import { type Clock, timestampOf } from "../../runtime/ports/clock.ts";
import type { Log, LogFields, LogLevel, LogPlace } from "../../runtime/ports/log.ts";
import { type LogLimits, RotatingFile } from "./rotating-file.ts";

const FLUSH_AFTER_MS = 100;
const MAX_WAITING = 10_000;
const FOLDER = /^[a-z0-9][a-z0-9_-]{0,63}$/;

interface LogRecord {
  readonly place: LogPlace;
  readonly level: LogLevel;
  readonly time: string;
  readonly event: string;
  readonly fields: LogFields;
  readonly facts: LogFields;
}

type FormatLine = (record: LogRecord, redactor: Redactor) => string;

export class LogFiles implements Log {
  readonly #directory: string;
  readonly #clock: Pick<Clock, "nowMs" | "wake">;
  readonly #files = new Map<string, RotatingFile>();
  #limits: () => LogLimits;
  #redactor: Redactor | null = null;
  #records: LogRecord[] = [];
  #dropped = 0;
  #cancel: (() => void) | null = null;
  #writing: Promise<void> = Promise.resolve();
  #format: Promise<FormatLine> | null = null;

  constructor(directory: string, clock: Pick<Clock, "nowMs" | "wake">, limits: LogLimits) {
    this.#directory = directory;
    this.#clock = clock;
    this.#limits = () => limits;
  }

  /** From here on, these limits and the secrets that this redactor knows. */
  use(limits: () => LogLimits, redactor: Redactor): void {
    this.#limits = limits;
    this.#redactor = redactor;
  }

  write(place: LogPlace, level: LogLevel, event: string, fields: LogFields, facts: LogFields = {}): void {
    if (this.#records.length >= MAX_WAITING) {
      this.#dropped += 1;
      return;
    }
    this.#records.push({ place, level, event, fields, facts, time: timestampOf(this.#clock.nowMs()) });
    this.#cancel ??= this.#clock.wake(FLUSH_AFTER_MS, () => {
      this.flush();
    });
  }

  /** Everything that was logged so far is written, or could not be. */
  flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = null;
    this.#writing = this.#writing.then(() => this.#writeAll()).catch(() => {});
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    const records = this.#records;
    const dropped = this.#dropped;
    this.#records = [];
    this.#dropped = 0;
    if (records.length === 0) return;
    this.#format ??= openFormat();
    const format = await this.#format;
    const redactor = this.#redactor ?? patternsOnly();
    const lines = new Map<RotatingFile, string[]>();
    const add = (record: LogRecord): void => {
      const file = this.#fileOf(record.place);
      const own = lines.get(file) ?? [];
      own.push(format(record, redactor));
      lines.set(file, own);
    };
    for (const record of records) add(record);
    const time = records.at(-1)?.time ?? "";
    const count = { records: dropped };
    if (dropped > 0) add({ place: "gateway", level: "warn", event: "log.dropped", time, fields: {}, facts: count });
    const limits = this.#limits();
    await Promise.allSettled([...lines].map(([file, own]) => file.append(own, limits)));
  }

  #fileOf(place: LogPlace): RotatingFile {
    const folder = place === "gateway" ? place : FOLDER.test(place.provider) ? place.provider : "other";
    const name = place === "gateway" ? place : "requests";
    const path = join(folder, name);
    const file = this.#files.get(path) ?? new RotatingFile(join(this.#directory, folder), name);
    this.#files.set(path, file);
    return file;
  }
}

async function openFormat(): Promise<FormatLine> {
  const { pino } = await import("pino");
  let written = "";
  const logger = pino(
    { base: null, timestamp: false, formatters: { level: (level) => ({ level }) } },
    { write: (line) => (written = line) },
  );
  return ({ level, time, event, fields, facts }, redactor) => {
    // Their names are ours: one such as `tokens` would look like a secret's, and cost a thorough search.
    const values = redactor.redactJson(Object.values(fields)).value as readonly JsonValue[];
    const clean = Object.fromEntries(Object.keys(fields).map((name, at) => [name, values[at]]));
    logger[level]({ time, event, ...facts, ...clean });
    return written;
  };
}

function patternsOnly(): Redactor {
  const verdict = compileRedactor({ secrets: [], emails: true, phones: false });
  if (!verdict.ok) throw new Defect("logs: the patterns do not compile");
  return verdict.redactor;
}
