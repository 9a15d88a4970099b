/**
 * The thread in which the shadow loop watches: loaded only when it is enabled. Its memory is bounded apart from the
 * gateway's, and a failure of it is a remark, never the gateway's failure.
 */
import { open, realpath, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { Worker } from "node:worker_threads";
import type { Watchers } from "../assistant/shadow/shadow.ts";
import type { Finding, WatchOrders } from "../assistant/shadow/trouble.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import { threadEnvironment } from "../runtime/thread-environment.ts";
import type { Config } from "./config/config.ts";
import { expandTilde, type Home } from "./home.ts";

export interface ShadowWorkerData {
  readonly orders: WatchOrders;
}
export type ShadowReport = { readonly finding: Finding } | { readonly problem: string } | { readonly known: number };

interface ThreadParts {
  readonly home: Home;
  readonly config: Config;
  readonly clock: Pick<Clock, "wake">;
  readonly lookAgain: readonly string[];
  readonly remark: (line: string) => void;
  readonly onFinding: (finding: Finding) => unknown;
}

/** The most that the thread may hold, in MB. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 160, maxYoungGenerationSizeMb: 8 };
const RESTART_MS = 60_000;

export async function startShadowThread(parts: ThreadParts): Promise<Watchers> {
  const { clock, remark, onFinding, home } = parts;
  const orders = await watchOrders(parts);
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  let worker: Worker | null = null;
  let cancelRestart = (): void => {};
  let isStopping = false;
  const start = (): Promise<void> =>
    new Promise((resolve) => {
      const started = new Worker(new URL(`./shadow-worker.${extension}`, import.meta.url), {
        workerData: { orders } satisfies ShadowWorkerData,
        ...{ name: "shadow", env: threadEnvironment(), resourceLimits: RESOURCE_LIMITS },
      });
      worker = started;
      started.on("message", (report: ShadowReport) => {
        if ("finding" in report) onFinding(report.finding);
        else if ("problem" in report) remark(`shadow: ${report.problem}`);
        else {
          resolve();
          remark(wordsOf(orders, report.known));
        }
      });
      started.on("error", (error) => remark(`shadow: watching failed (${String(error)}); again in a minute`));
      started.on("exit", () => {
        worker = null;
        resolve();
        if (!isStopping) cancelRestart = clock.wake(RESTART_MS, restart);
      });
      started.unref();
    });
  const restart = (): void => {
    start().catch((error: unknown) => remark(`shadow: ${String(error)}`));
  };
  await start();
  return {
    stop: async () => {
      isStopping = true;
      cancelRestart();
      await worker?.terminate();
      await rm(home.shellReports, { force: true });
    },
  };
}

/** Paths as they are, links resolved: what the operator names is watched, and only that. */
async function watchOrders({ home, config, lookAgain, remark }: ThreadParts): Promise<WatchOrders> {
  const { filesystem, shell, git } = config.shadow.watchers;
  const found = async (named: string, kind: string): Promise<string | null> => {
    const path = resolve(home.directory, expandTilde(named));
    return await realpath(path).catch(() => {
      remark(`shadow: ${kind} ${path} does not exist, so it is not watched`);
      return null;
    });
  };
  const homeRoot = await realpath(home.directory);
  const workspace = await realpath(home.workspace).catch(() => home.workspace);
  const named = await Promise.all(filesystem.paths.map((path) => found(path, "the path")));
  const existing = [...new Set(named.filter((path) => path !== null))];
  const roots = existing.filter((path) => !isWithin(path, homeRoot) || isWithin(path, workspace));
  for (const path of existing) {
    if (!roots.includes(path)) remark(`shadow: ${path} lies in the home of Surety, so it is not watched`);
  }
  const historyFile = shell.historyFile === "" ? null : await found(shell.historyFile, "the history file");
  return {
    ...{ roots, lookAgain, historyFile },
    excluded: [homeRoot],
    ignore: filesystem.ignore,
    events: filesystem.events,
    git: git.enabled ? git.events : [],
    hookFile: shell.watchErrors ? await emptyHookFile(home) : null,
  };
}

function wordsOf({ roots, historyFile, hookFile }: WatchOrders, known: number): string {
  const shell = [
    ...(historyFile === null ? [] : [historyFile]),
    ...(hookFile === null ? [] : ["what the shell hook reports"]),
  ];
  const watched = [...roots, ...shell];
  return watched.length === 0
    ? "shadow: nothing is watched"
    : `shadow: watching ${watched.join(", ")} (${known} files and directories)`;
}

/** The shell hook writes only while this file is there. */
async function emptyHookFile({ shellReports }: Home): Promise<string> {
  const file = await open(shellReports, "w", 0o600);
  await file.close();
  return await realpath(shellReports);
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`);
}
