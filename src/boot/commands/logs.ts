/** `surety logs`: prints the log files of a home, oldest record first. It needs no gateway, and disturbs none. */
import { type LoggedRecord, LogReader } from "../../adapters/logs/read-logs.ts";
import { pause } from "../../runtime/ports/clock.ts";
import { LOG_LEVELS } from "../../runtime/ports/log.ts";
import { usageError } from "../boot-error.ts";
import type { Action, CommandContext } from "../command.ts";
import { findExistingHome } from "../home.ts";
import { onInterrupt } from "../signals.ts";
import { systemClock } from "../system-clock.ts";

const LOOK_AGAIN_MS = 250;
const LEVELS: readonly string[] = LOG_LEVELS;
const KEEP_ALIVE_MS = 60_000;

type Fits = (record: LoggedRecord) => boolean;

export const command: Action = {
  summary: "print what was logged, oldest first",
  options: {
    follow: { type: "boolean", summary: "go on with what is logged from now on, until interrupted (-f)" },
    run: { type: "string", value: "RUN", summary: "only records of this run, by its id or the beginning of it" },
    level: { type: "string", value: "LEVEL", summary: `this level and higher: ${LOG_LEVELS.join(", ")}` },
  },
  examples: ["surety logs", "surety logs -f --level warn", "surety logs --run run_01 --json"],
  async run(context) {
    const fits = filterOf(context);
    await findExistingHome(context.home);
    const reader = new LogReader(context.home.logsDirectory);
    const records = (await reader.next()).filter(fits);
    if (context.options.flag("follow")) return await follow(context, reader, records, fits);
    context.output.result({ records }, () => {
      for (const record of records) context.output.line(describe(record));
    });
  },
};

/** With `--json`, one record a line. */
async function follow(
  { output, isJson }: CommandContext,
  reader: LogReader,
  first: readonly LoggedRecord[],
  fits: Fits,
) {
  const stopping = new AbortController();
  const stopListening = onInterrupt(() => Promise.resolve(stopping.abort()));
  // A pending wake keeps no process alive.
  const alive = setInterval(() => {}, KEEP_ALIVE_MS);
  for (let records = first; ; records = (await reader.next()).filter(fits)) {
    for (const record of records) {
      if (isJson) output.jsonText(JSON.stringify(record));
      else output.line(describe(record));
    }
    if (stopping.signal.aborted) break;
    await pause(systemClock, LOOK_AGAIN_MS, stopping.signal);
  }
  clearInterval(alive);
  stopListening();
}

function filterOf({ options }: CommandContext): Fits {
  const named = options.text("run");
  const level = options.text("level") ?? "info";
  const least = LEVELS.indexOf(level);
  if (least === -1) {
    throw usageError(`unknown level ${level}`, `Take one of ${LOG_LEVELS.join(", ")}.`);
  }
  const beginning = named === undefined || named.startsWith("run_") ? named : `run_${named}`;
  return ({ level: has, run_id: runId }) =>
    LEVELS.indexOf(has) >= least &&
    (beginning === undefined || (typeof runId === "string" && runId.startsWith(beginning)));
}

function describe({ time, level, event, ...fields }: LoggedRecord): string {
  const rest = Object.entries(fields).map(([name, value]) => `${name}=${shown(value)}`);
  return [time, level.padEnd(5), event, ...rest].join(" ");
}

function shown(value: unknown): string {
  return typeof value === "string" && /^[\w.:/-]+$/.test(value) ? value : JSON.stringify(value);
}
