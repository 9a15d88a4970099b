/**
 * The tool policy of a gateway that is running: what its config says now, so that the kill switch needs no restart.
 *
 * P1. Runs under way can only lose by a change: what holds for them is their contract's policy and this one.
 * P2. A config that cannot be used changes nothing, and is said.
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
      remark("What tools may do has changed in the config, and holds from now on.");
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      remark(`The config has changed and cannot be used (${why}); the policy stays as it was.`);
    }
  };
  // One after the other: what is read last is what was written last.
  let looking = Promise.resolve();
  const onChange = (): void => {
    looking = looking.then(look);
  };
  watchFile(file, { interval: LOOK_AGAIN_MS, persistent: false }, onChange);
  return { current: () => policy, close: () => unwatchFile(file, onChange) };
}
