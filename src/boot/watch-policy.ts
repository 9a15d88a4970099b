/**
 * The tool policy of a running gateway, read again when the config changes, so that the kill switch needs no restart.
 *
 * P1. A change can only narrow running runs: both their contract's policy and this one must allow a call.
 * P2. An invalid config changes nothing, and is reported.
 */
import { unwatchFile, watchFile } from "node:fs";
import type { ToolPolicy } from "../kernel/policy/tool-policy.ts";
import { canonicalJson } from "../kernel/vocabulary/canonical-json.ts";
import type { Config } from "./config/config.ts";
import { loadConfig } from "./config/load-config.ts";
import { toToolPolicy } from "./config/to-tool-policy.ts";

const LOOK_AGAIN_MS = 1_000;

export interface WatchedPolicy {
  current(): ToolPolicy;
  close(): void;
}

export function watchPolicy(file: string, config: Config, remark: (line: string) => void): WatchedPolicy {
  let policy = toToolPolicy(config);
  const look = async (): Promise<void> => {
    try {
      const next = toToolPolicy(await loadConfig(file));
      if (canonicalJson(next) === canonicalJson(policy)) return;
      policy = next;
      remark("The tool policy in the config has changed; it applies from now on.");
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      remark(`The config has changed but is invalid (${why}); the policy stays as it was.`);
    }
  };
  // One at a time, so that the last read is the last state.
  let looking = Promise.resolve();
  const onChange = (): void => {
    looking = looking.then(look);
  };
  watchFile(file, { interval: LOOK_AGAIN_MS, persistent: false }, onChange);
  return { current: () => policy, close: () => unwatchFile(file, onChange) };
}
