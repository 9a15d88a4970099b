/** What is shown of a stored run: its record and its bundle, read from what is durable and from nothing else. */
import { makeBundle } from "../kernel/journal/bundle.ts";
import type { Sign } from "../kernel/journal/checkpoint.ts";
import { type RunRecord, runRecord } from "../kernel/journal/views/run-record.ts";
import type { RunId } from "../kernel/vocabulary/identifiers.ts";
import { terminalStatus } from "../kernel/vocabulary/outcome.ts";
import { parseJson } from "../kernel/vocabulary/parse-json.ts";
import type { Store, StoredRun } from "../runtime/ports/store.ts";
import type { Toolbox } from "../runtime/ports/toolbox.ts";
import { readBodiesOf, readWholeJournal } from "../runtime/run-journal.ts";
import type { Refusal } from "./assistant.ts";

export interface RunViewParts {
  readonly store: Store;
  readonly summarize: Toolbox["summarize"];
  readonly signing: { readonly publicKey: string; readonly sign: Sign };
  /** Where a run's files are, as its record says. */
  readonly artifactPath: (agentId: string, runId: RunId) => string;
}

export interface RunViews {
  record(run: StoredRun): Promise<RunRecord>;
  bundle(run: StoredRun): Promise<{ readonly ok: true; readonly text: string } | Refusal>;
}

export function createRunViews({ store, summarize, signing, artifactPath }: RunViewParts): RunViews {
  return {
    record: async (run) => {
      const { entries } = await readWholeJournal(store, run.runId);
      const bodies = await readBodiesOf(store, entries);
      const [provider = "", ...model] = run.model.split(":");
      const { runId, contractHash, agentId, sessionId, source, thinkingMode, status } = run;
      const record = runRecord(
        entries,
        {
          runId,
          contractHash,
          agentId,
          sessionId,
          source,
          status: status === "waiting_approval" || status === "queued" ? status : "running",
          artifactPath: artifactPath(agentId, runId),
          provider,
          model: model.join(":"),
          thinkingMode,
          summarize,
        },
        (ref) => bodies.get(ref)?.text ?? null,
      );
      // Sealed without a last entry of its own: its journal did not replay.
      if (run.outcome === null || record.outcome !== null) return record;
      return { ...record, status: terminalStatus(run.outcome), outcome: run.outcome, reason: run.reason };
    },
    bundle: async (run) => {
      const { entries } = await readWholeJournal(store, run.runId);
      const contract = parseJson(run.contract);
      const bodies = await readBodiesOf(store, entries);
      const made = makeBundle({ contract: contract.ok ? contract.value : null, entries, bodies, ...signing });
      return made.ok ? made : { ok: false, code: "conflict", message: made.problem };
    },
  };
}

export function noSuchRun(runId: RunId): Refusal {
  return { ok: false, code: "not_found", message: `there is no run ${runId}` };
}
