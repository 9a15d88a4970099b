/**
 * The assistant behind its door: drafts runs for the runtime, and shows them as views of their journals.
 *
 * O1. A repeated idempotency key finds the run it made; it never makes another, and with another request it is refused.
 * O2. What is shown of a run is read from what is durable.
 * O3. An operator's act stands in the ledger before it takes effect.
 */
import { hashCanonical } from "../kernel/vocabulary/hash.ts";
import { timestampOf } from "../runtime/ports/clock.ts";
import type { Marks } from "../runtime/ports/marks.ts";
import type { Idempotency } from "../runtime/ports/store.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Assistant, RunRequest, Submission } from "./assistant.ts";
import { type DraftingSettings, draftRun } from "./draft-run.ts";
import { idempotencyOf } from "./idempotency.ts";
import { createRunViews, noSuchRun, type RunViewParts } from "./run-views.ts";
import { watchRun } from "./watch-run.ts";

export interface AssistantParts extends RunViewParts {
  readonly runtime: Runtime;
  readonly drafting: DraftingSettings;
  readonly marks: Marks;
}

export function openAssistant(parts: AssistantParts): Assistant {
  const { store, runtime, drafting, marks } = parts;

  const views = createRunViews(parts);

  const findRepeated = async ({ keyHash, requestHash }: Idempotency): Promise<Submission | null> => {
    const earlier = await store.findRunByKey(keyHash);
    if (earlier === null) return null;
    if (earlier.requestHash !== requestHash) {
      return { ok: false, code: "conflict", message: "this idempotency key was used for another request" };
    }
    const { runId, sessionId, status } = earlier.run;
    return { ok: true, runId, sessionId, status, isRepeat: true };
  };

  const submit = async (request: RunRequest): Promise<Submission> => {
    const idempotency = idempotencyOf(request);
    const earlier = idempotency === null ? null : await findRepeated(idempotency);
    if (earlier !== null) return earlier;
    const drafted = await draftRun(drafting, request);
    if (!drafted.ok) return drafted;
    const accepted = await runtime.submit(drafted.draft);
    if (accepted.ok) return { ...accepted, status: "queued", isRepeat: false };
    const { code, message } = accepted;
    // Two requests with one key at the same time: the other one was first.
    const twin = idempotency === null ? null : await findRepeated(idempotency);
    return twin ?? { ok: false, code, message };
  };

  const removeMark: Assistant["removeMark"] = async (path, actor) => {
    if (!(await marks.list()).includes(path)) return { ok: false, code: "not_found", message: "there is no such mark" };
    const ts = timestampOf(drafting.clock.nowMs());
    const draft = { kind: "mark.removed", ts, actor, data: { pathHash: hashCanonical(path) } } as const;
    await store.commit([{ type: "append-ledger", draft }], "barrier");
    await marks.remove(path);
    return { ok: true };
  };

  return {
    submit,
    run: async (runId) => {
      const run = await store.findRun(runId);
      return run === null ? null : views.record(run);
    },
    runs: async (filter) => {
      const { runs, total } = await store.listRuns(filter);
      return { runs: await views.rows(runs), total };
    },
    watch: async (runId, afterSeq, signal) => {
      // Usually whoever submits a run watches it at once.
      if (runtime.isUnpublished(runId)) return watchRun(store, runtime, runId, afterSeq, signal);
      const run = await store.findRun(runId);
      if (run === null) return null;
      // Sealed without a last entry: there is nothing to wait for.
      const until = run.outcome === null ? signal : AbortSignal.abort();
      return watchRun(store, runtime, runId, afterSeq, until);
    },
    cancel: async (runId, principal) => {
      const status = await runtime.cancel(runId, principal);
      return status === null ? noSuchRun(runId) : { ok: true, status };
    },
    bundle: async (runId) => {
      const run = await store.findRun(runId);
      if (run === null) return noSuchRun(runId);
      return views.bundle(run);
    },
    approvals: (page) => runtime.approvals.pending(page),
    decide: async ({ id, decision, planHash, principal }) => {
      const decided = await runtime.approvals.decide({ id, decision, planHash, principal });
      return decided.ok ? { ok: true } : decided;
    },
    capabilities: (sessionId) => runtime.capabilities.of(sessionId),
    pendingCapabilities: (page) => runtime.capabilities.pending(page),
    decideCapability: (decision) => runtime.capabilities.decide(decision),
    marks: () => marks.list(),
    removeMark,
  };
}
