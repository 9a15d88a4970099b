/**
 * Drafts runs for the runtime, and shows them as views of their journals.
 *
 * O1. A repeated idempotency key finds the run it made and never makes another; with another request it is refused.
 * O2. Views read only what is durable.
 */
import type { Idempotency } from "../../runtime/ports/store.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { Assistant, Submission } from "./assistant.ts";
import { type DraftingSettings, draftRun } from "./draft-run.ts";
import { idempotencyOf } from "./idempotency.ts";
import type { RunRequest } from "./run-request.ts";
import { createRunViews, noSuchRun, type RunViewParts } from "./run-views.ts";
import { watchRun } from "./watch-run.ts";

export interface AssistantParts extends RunViewParts {
  readonly runtime: Runtime;
  readonly drafting: DraftingSettings;
}

export function openAssistant(parts: AssistantParts): Assistant {
  const { store, runtime, drafting } = parts;
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
    // Two requests with one key at the same time: the other one won.
    const twin = idempotency === null ? null : await findRepeated(idempotency);
    return twin ?? { ok: false, code, message };
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
      // Usually a run is watched as soon as it is submitted: then there is no need to read it.
      if (runtime.isUnpublished(runId)) return watchRun(store, runtime, runId, afterSeq, signal);
      const run = await store.findRun(runId);
      if (run === null) return null;
      // Sealed without a last entry: nothing will follow.
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
  };
}
