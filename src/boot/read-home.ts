/** A home opened for reading: takes no lock, starts no thread, writes nothing; works beside a running gateway. */
import { openSqliteReader } from "../adapters/store-sqlite/open-sqlite-reader.ts";
import { createToolbox } from "../adapters/tools/create-toolbox.ts";
import { createRunViews, type RunViews } from "../assistant/runs/run-views.ts";
import { asRunId } from "../kernel/vocabulary/identifiers.ts";
import type { Store, StoredRun } from "../runtime/ports/store.ts";
import type { Toolbox } from "../runtime/ports/toolbox.ts";
import { BootError } from "./boot-error.ts";
import { describeBuiltInTools } from "./built-in-tools.ts";
import type { CommandContext } from "./command.ts";
import type { Config } from "./config/config.ts";
import { keyNameOf } from "./config/resolve-api-key.ts";
import { assertDatabasePresent } from "./home.ts";
import { defectReporter } from "./report-failure.ts";
import { readSettings } from "./settings.ts";
import { findSigningKey, keyMissing, type SigningKey } from "./signing-key.ts";
import { systemClock } from "./system-clock.ts";

export interface ReadableHome {
  readonly store: Store;
  readonly config: Config;
  /** Null when the key is missing, as in a copy made without it. */
  readonly signing: SigningKey | null;
  readonly views: RunViews;
}

export async function withHome<Result>(
  context: CommandContext,
  read: (home: ReadableHome) => Promise<Result>,
): Promise<Result> {
  const { home } = context;
  const { config } = await readSettings(context);
  await assertDatabasePresent(home);
  const store = await openSqliteReader(home.directory);
  try {
    const signing = await findSigningKey(home);
    const { summarize } = describedTools(context, config);
    const signer = signing ?? {
      publicKey: null,
      sign: () => {
        throw keyMissing(home);
      },
    };
    const views = createRunViews({
      store,
      summarize,
      signing: signer,
      agentsDirectory: home.agentsDirectory,
      keyNameOf: (model) => keyNameOf(config, model),
    });
    return await read({ store, config, signing, views });
  } finally {
    await store.close();
  }
}

/** The tools' descriptions. They must not be run: the workspace is not open. */
export function describedTools(
  { home, streams }: CommandContext,
  config: Config,
): Pick<Toolbox, "tools" | "summarize"> {
  const report = defectReporter(streams);
  return createToolbox(describeBuiltInTools({ home, config, clock: systemClock }), {
    clock: systemClock,
    onDefect: (error) => report("tool", error),
  });
}

/** By its id, or the beginning of one that no other run has, with or without `run_`. */
export async function findRun({ store }: Pick<ReadableHome, "store">, named: string): Promise<StoredRun> {
  const exact = await store.findRun(asRunId(named));
  if (exact !== null) return exact;
  const beginning = named.startsWith("run_") ? named : `run_${named}`;
  const [found, other] = /^run_\w*$/.test(beginning) ? await store.findRunIds(beginning, 2) : [];
  if (other !== undefined) {
    throw new BootError(
      "not_found",
      `more than one run begins with ${named}`,
      "Write more of the id of the one you mean.",
    );
  }
  const run = found === undefined ? null : await store.findRun(found);
  if (run !== null) return run;
  throw new BootError("not_found", `there is no run ${named}`, "See surety runs ls.");
}
