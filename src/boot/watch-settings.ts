/**
 * The config and `.env` of a running gateway, read again when they change: by hand, by `surety config`, by a client.
 *
 * P1. Settings that are missing, invalid or unreadable change nothing: losing the file must not lift the kill switch. What is
 *     wrong is reported once.
 * P2. No change is missed, not even one between the start and the first look: that look always reads.
 */
import { stat } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../runtime/ports/clock.ts";
import { systemCodeOf } from "./boot-error.ts";
import { differences, needsRestart, pathsOf } from "./config/config-changes.ts";
import { DEFAULT_CONFIG } from "./config/default-config.ts";
import { findConfig } from "./config/load-config.ts";
import type { Home } from "./home.ts";
import type { Settings } from "./settings.ts";

const LOOK_AGAIN_MS = 1_000;

export interface WatchedSettings {
  /** As the files say, unless that cannot be used. */
  readonly current: () => Settings;
  /** Why the files' are not the current ones; null: they are. */
  readonly problem: () => string | null;
  /** They were changed here: the files say so by now. */
  readonly changed: (settings: Settings) => void;
  close(): void;
}

interface Watching {
  readonly files: Pick<Home, "configFile" | "envFile">;
  readonly settings: Settings;
  readonly clock: Pick<Clock, "wake">;
  readonly remark: (line: string) => void;
  /** Puts them in force; throws when they cannot be used. */
  readonly adopt: (settings: Settings) => Promise<void>;
}

export function watchSettings({ files, settings, clock, remark, adopt }: Watching): WatchedSettings {
  const { configFile, envFile } = files;
  let current = settings;
  /** A home without a config is as it should be, until it has one. */
  let isExpected = settings.config !== DEFAULT_CONFIG;
  let seen: string | null = null;
  let trouble: string | null = null;
  let changesHere = 0;

  const look = async (): Promise<void> => {
    const mark = `${await markOf(configFile)} ${await markOf(envFile)}`;
    if (mark === seen) return;
    seen = mark;
    const changesBefore = changesHere;
    try {
      const next = await read();
      // It was written meanwhile: what was read is older than what applies.
      if (changesHere === changesBefore) await apply(next);
      else seen = null;
    } catch (error) {
      complain(error instanceof Error ? error.message : String(error));
    }
  };
  const read = async (): Promise<Settings> => {
    const found = await findConfig(configFile);
    if (found === null && isExpected) throw new Error(`${configFile} is gone`);
    isExpected ||= found !== null;
    const readVariable = (await current.readVariable.readAgain?.()) ?? current.readVariable;
    return { config: found ?? DEFAULT_CONFIG, readVariable };
  };
  const apply = async (next: Settings): Promise<void> => {
    const paths = differences(current.config, next.config).map(({ path }) => path);
    const isEnvChanged = !isDeepStrictEqual(current.readVariable.fileVariables, next.readVariable.fileVariables);
    const isRecovered = trouble !== null;
    if (paths.length > 0 || isEnvChanged) {
      await adopt(next);
      current = next;
    }
    trouble = null;
    if (isRecovered) remark("The settings can be used again.");
    const applied = pathsOf(paths.map((path) => ({ path })).filter(({ path }) => !needsRestart(path)));
    const later = pathsOf(paths.map((path) => ({ path })).filter(({ path }) => needsRestart(path)));
    if (applied.length > 0) remark(`The config has changed, and applies from now on: ${applied.join(", ")}`);
    if (later.length > 0) remark(`The config has changed, and applies after a restart: ${later.join(", ")}`);
    if (isEnvChanged) remark(`${envFile} has changed; its variables apply from now on.`);
  };
  const complain = (why: string): void => {
    if (why === trouble) return;
    trouble = why;
    remark(`The settings have changed but cannot be used (${why}); they stay as they were.`);
  };

  let isClosed = false;
  let cancel = (): void => {};
  const lookLater = (): void => {
    if (isClosed) return;
    cancel = clock.wake(LOOK_AGAIN_MS, () => {
      look().then(lookLater);
    });
  };
  lookLater();
  return {
    current: () => current,
    problem: () => trouble,
    changed: (next) => {
      changesHere += 1;
      current = next;
      isExpected = true;
    },
    close: () => {
      isClosed = true;
      cancel();
    },
  };
}

/** Differs after every change of the file, of what it links to, or of its mode. */
async function markOf(file: string): Promise<string> {
  try {
    const { dev, ino, size, mode, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
    return [dev, ino, size, mode, mtimeNs, ctimeNs].join(" ");
  } catch (error) {
    return systemCodeOf(error) ?? String(error);
  }
}
