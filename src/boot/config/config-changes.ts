/**
 * What differs between two configs, and what of it needs a restart. Readable without the validator.
 *
 * D1. A list is one value, and so is what is only on one side.
 * D2. Everything applies to new runs at once but what RESTART names: addresses that are bound, the directory that is open,
 *     and where metrics go. These keep their value from the start until the next one.
 */
import { isDeepStrictEqual } from "node:util";
import type { Config } from "./config.ts";
import { type ConfigPath, printPath, valueAt } from "./config-path.ts";

export interface Difference {
  readonly path: ConfigPath;
  readonly before: unknown;
  readonly after: unknown;
}

const RESTART: readonly ConfigPath[] = [
  ["gateway", "host"],
  ["gateway", "port"],
  ["gateway", "tls"],
  ["gateway", "proxy"],
  ["tools", "workspace"],
  ["telemetry"],
];

export function differences(before: unknown, after: unknown, path: ConfigPath = []): readonly Difference[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (!isObject(before) || !isObject(after)) return [{ path, before, after }];
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key) => differences(own(before, key), own(after, key), [...path, key]));
}

export function needsRestart(path: ConfigPath): boolean {
  return RESTART.some((each) => isWithin(path, each) || isWithin(each, path));
}

/** `next`, with what needs a restart as it is in `running`. */
export function applicable(next: Config, running: Config): Config {
  return RESTART.reduce((config, path) => {
    const value = valueAt(running, path);
    return isDeepStrictEqual(valueAt(config, path), value) ? config : (withValue(config, path, value) as Config);
  }, next);
}

/** A value of undefined leaves the key out. */
function withValue(root: unknown, [step, ...rest]: ConfigPath, value: unknown): unknown {
  if (step === undefined) return value;
  const fields = isObject(root) ? root : {};
  const inner = withValue(own(fields, step), rest, value);
  const others = Object.entries(fields).filter(([key]) => key !== step);
  return Object.fromEntries(inner === undefined ? others : [...others, [step, inner]]);
}

export function pathsOf(changed: readonly Pick<Difference, "path">[]): string[] {
  return changed.map(({ path }) => printPath(path));
}

export type Fields = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function own(fields: Fields, key: string): unknown {
  return Object.hasOwn(fields, key) ? fields[key] : undefined;
}

function isWithin(path: ConfigPath, outer: ConfigPath): boolean {
  return outer.every((step, index) => path[index] === step);
}
