/**
 * The assistant behind its door: drafts runs for the runtime, and shows them as views of their journals.
 *
 * O1. A repeated idempotency key finds the run it made; it never makes another.
 * O2. What is shown of a run is read from what is durable.
 */
import { makeBundle } from "../kernel/journal/bundle.ts";
import type { Sign } from "../kernel/journal/checkpoint.ts";
import type { Entry } from "../kernel/journal/entry.ts";
import { type RunRecord, runRecord } from "../kernel/journal/views/run-record.ts";
import type { RunId } from "../kernel/vocabulary/identifiers.ts";
import { parseJson } from "../kernel/vocabulary/parse-json.ts";
import type { Store, StoredRun } from "../runtime/ports/store.ts";
import { readBodiesOf, readWholeJournal } from "../runtime/run-journal.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Assistant, Refusal, RunRequest, Submission } from "./assistant.ts";
import { type DraftingSettings, draftRun } from "./draft-run.ts";
import { watchRun } from "./watch-run.ts";

export interface AssistantParts {
  readonly store: Store;
  readonly runtime: Runtime;
  readonly drafting: DraftingSettings;
  readonly signing: { readonly publicKey: string; readonly sign: Sign };
  /** Where a run's files are, as its record says. */
  readonly artifactPath: (agentId: string, runId: RunId) => string;
}

export function openAssistant(parts: AssistantParts): Assistant {
  const { store, runtime, drafting, signing } = parts;

  const recordOf = async (run: StoredRun, entries: readonly Entry[]): Promise<RunRecord> => {
    const bodies = await readBodiesOf(store, entries);
    const [provider = "", ...rest] = run.model.split(":");
    const particulars = {
      runId: run.runId,
      contractHash: run.contractHash,
      agentId: run.agentId,
      sessionId: run.sessionId,
      source: run.source,
      status: run.status === "waiting_approval" || run.status === "queued" ? run.status : ("running" as const),
      artifactPath: parts.artifactPath(run.agentId, run.runId),
      provider,
      model: rest.join(":"),
      thinkingMode: run.thinkingMode,
      summarize: drafting.toolbox.summarize,
    };
    const record = runRecord(entries, particulars, (ref) => bodies.get(ref)?.text ?? null);
    // Sealed without a last entry of its own: its journal did not replay.
    if (run.outcome !== null && record.outcome === null) {
      return { ...record, status: "cancelled", outcome: run.outcome, reason: run.reason };
    }
    return record;
  };

  const record = async (run: StoredRun): Promise<RunRecord> => {
    const { entries } = await readWholeJournal(store, run.runId);
    return recordOf(run, entries);
  };

  const submit = async (request: RunRequest): Promise<Submission> => {
    const earlier = request.idempotencyKey === null ? null : await store.findRunByKey(request.idempotencyKey);
    if (earlier !== null) return repeated(earlier);
    const drafted = await draftRun(drafting, request);
    if (!drafted.ok) return drafted;
    const accepted = await runtime.submit(drafted.draft);
    if (accepted.ok) return { ...accepted, status: "queued", isRepeat: false };
    const { code, message } = accepted;
    // Two requests with one key at the same time: the other one was first.
    const twin = request.idempotencyKey === null ? null : await store.findRunByKey(request.idempotencyKey);
    return twin === null ? { ok: false, code, message } : repeated(twin);
  };

  return {
    submit,
    run: async (runId) => {
      const run = await store.findRun(runId);
      return run === null ? null : record(run);
    },
    runs: async (filter) => {
      const { runs, total } = await store.listRuns(filter);
      return { runs: await Promise.all(runs.map(record)), total };
    },
    watch: async (runId, afterSeq, signal) => {
      const run = await store.findRun(runId);
      return run === null ? null : watchRun(store, runtime, runId, afterSeq, signal);
    },
    cancel: async (runId, principal) => {
      const status = await runtime.cancel(runId, principal);
      return status === null ? noSuchRun(runId) : { ok: true, status };
    },
    bundle: async (runId) => {
      const run = await store.findRun(runId);
      if (run === null) return noSuchRun(runId);
      const { entries } = await readWholeJournal(store, runId);
      const contract = parseJson(run.contract);
      const bodies = await readBodiesOf(store, entries);
      const made = makeBundle({ contract: contract.ok ? contract.value : null, entries, bodies, ...signing });
      return made.ok ? made : { ok: false, code: "conflict", message: made.problem };
    },
    approvals: (page) => runtime.approvals.pending(page),
    decide: async ({ id, decision, planHash, principal }) => {
      const decided = await runtime.approvals.decide({ id, decision, planHash, principal });
      return decided.ok ? { ok: true } : decided;
    },
  };
}

function repeated({ runId, sessionId, status }: StoredRun): Submission {
  return { ok: true, runId, sessionId, status, isRepeat: true };
}

function noSuchRun(runId: RunId): Refusal {
  return { ok: false, code: "not_found", message: `there is no run ${runId}` };
}
