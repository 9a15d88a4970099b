/**
 * The tool policy of a running gateway, read again when the config changes, so that the kill switch needs no restart.
 *
 * P1. A change can only narrow running runs: both their contract's policy and this one must allow a call.
 * P2. A config that is missing, invalid or unreadable changes nothing: losing the file must not lift the kill switch. What is
 *     wrong is reported once.
 * P3. No change is missed, not even one between the start and the first look: that look always reads.
 */
import { stat } from "node:fs/promises";
import type { ToolPolicy } from "../kernel/policy/tool-policy.ts";
import { canonicalJson } from "../kernel/vocabulary/canonical-json.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import { systemCodeOf } from "./boot-error.ts";
import type { Config } from "./config/config.ts";
import { DEFAULT_CONFIG } from "./config/default-config.ts";
import { findConfig } from "./config/load-config.ts";
import { toToolPolicy } from "./config/to-tool-policy.ts";

const LOOK_AGAIN_MS = 1_000;

export interface WatchedPolicy {
  current(): ToolPolicy;
  close(): void;
}

export function watchPolicy(
  file: string,
  config: Config,
  clock: Pick<Clock, "wake">,
  remark: (line: string) => void,
  /** The file has changed, and can be read. */
  onChange: () => void = () => {},
): WatchedPolicy {
  let policy = toToolPolicy(config);
  /** A home without a config is as it should be, until it has one. */
  let isExpected = config !== DEFAULT_CONFIG;
  let seen: string | null = null;
  let trouble: string | null = null;

  const look = async (): Promise<void> => {
    const mark = await markOf(file);
    if (mark === seen) return;
    const isFirst = seen === null;
    seen = mark;
    try {
      const found = await findConfig(file);
      if (found === null && !isExpected) return;
      if (found === null) throw new Error(`${file} is gone`);
      isExpected = true;
      apply(toToolPolicy(found));
      if (!isFirst) onChange();
    } catch (error) {
      complain(error instanceof Error ? error.message : String(error));
    }
  };
  const apply = (next: ToolPolicy): void => {
    const isRecovered = trouble !== null;
    trouble = null;
    if (canonicalJson(next) !== canonicalJson(policy)) {
      policy = next;
      remark("The tool policy in the config has changed; it applies from now on.");
    } else if (isRecovered) remark("The config can be read again; its policy is the one that applies.");
  };
  const complain = (why: string): void => {
    if (why === trouble) return;
    trouble = why;
    remark(`The config has changed but is invalid (${why}); the policy stays as it was.`);
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
    current: () => policy,
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
