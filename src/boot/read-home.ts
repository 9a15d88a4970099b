/** A home opened to look at: no lock, no thread, nothing written; the same whether a gateway runs on it or not. */
import { openSqliteReader } from "../adapters/store-sqlite/open-sqlite-reader.ts";
import { createToolbox } from "../adapters/tools/create-toolbox.ts";
import { fsTools } from "../adapters/tools/fs/fs-tools.ts";
import { openWorkspace } from "../adapters/tools/fs/workspace.ts";
import { createRunViews, type RunViews } from "../assistant/run-views.ts";
import { asRunId } from "../kernel/vocabulary/identifiers.ts";
import type { Store, StoredRun } from "../runtime/ports/store.ts";
import type { Toolbox } from "../runtime/ports/toolbox.ts";
import { BootError } from "./boot-error.ts";
import type { CommandContext } from "./command.ts";
import type { Config } from "./config/config.ts";
import { defectReporter } from "./report-defect.ts";
import { loadSettings } from "./settings.ts";
import { loadSigningKey, type SigningKey } from "./signing-key.ts";
import { systemClock } from "./system-clock.ts";
import { systemRandomness } from "./system-randomness.ts";

export interface ReadableHome {
  readonly store: Store;
  readonly config: Config;
  readonly signing: SigningKey;
  readonly views: RunViews;
}

export async function withHome<Result>(
  context: CommandContext,
  read: (home: ReadableHome) => Promise<Result>,
): Promise<Result> {
  const { home } = context;
  const { config } = await loadSettings(context);
  const store = await openSqliteReader(home.directory);
  try {
    const signing = await loadSigningKey(home, systemRandomness);
    const { summarize } = await openToolbox(context, config);
    const artifactPath = (agentId: string, runId: string): string => `${home.agentsDirectory}/${agentId}/runs/${runId}`;
    const views = createRunViews({ store, summarize, signing, artifactPath });
    return await read({ store, config, signing, views });
  } finally {
    await store.close();
  }
}

export async function openToolbox({ home, streams }: CommandContext, config: Config): Promise<Toolbox> {
  const workspace = await openWorkspace(config.tools.workspace ?? home.workspace);
  const report = defectReporter(streams);
  return createToolbox(fsTools(workspace), { clock: systemClock, onDefect: (error) => report("tool", error) });
}

export async function findRun({ store }: ReadableHome, id: string): Promise<StoredRun> {
  const run = await store.findRun(asRunId(id));
  if (run !== null) return run;
  throw new BootError("not_found", `there is no run ${id}`, "See surety runs ls.");
}
