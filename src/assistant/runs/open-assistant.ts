/**
 * Runs, as the table of operations asks for them: drafted for the runtime, and shown as views of their journals.
 *
 * `principal` comes from whatever authenticated the caller, never from the message. A refusal leaves nothing behind; an
 * accepted submission is durable and ends in an outcome, whatever happens to the process. A repeated idempotency key finds
 * the run it made and never makes another; with another request it is refused.
 */
import type { RunRecord } from "../../kernel/journal/views/run-record.ts";
import type { RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { type Refusal, refuse, type Sender } from "../../runtime/operations/operation.ts";
import type { Idempotency, Page, RunFilter, RunStatus, Write } from "../../runtime/ports/store.ts";
import type { BegunSession } from "../../runtime/run/accept-run.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { maySee, ownerOf } from "../sessions/session-owner.ts";
import { type DraftingSettings, draftRun } from "./draft-run.ts";
import { readManifest } from "./prompt-manifest.ts";
import { idempotencyOf, type RunRequest } from "./run-request.ts";
import type { RunUpdate } from "./run-updates.ts";
import { createRunViews, type RunRow, type RunViewParts } from "./run-views.ts";
import { watchRun } from "./watch-run.ts";

export type Submission =
  | {
      readonly ok: true;
      readonly runId: RunId;
      readonly sessionId: SessionId;
      readonly status: RunStatus;
      /** The idempotency key was used before: this is that run. */
      readonly isRepeat: boolean;
    }
  | Refusal;

export interface Assistant {
  /** `also`: writes that take effect with the run or not at all. */
  submit(request: RunRequest, also?: (runId: RunId) => readonly Write[]): Promise<Submission>;
  /** Null when there is no such run; with a sender, none of its own sessions. */
  run(runId: RunId, sender?: Sender | null): Promise<RunRecord | null>;
  /** Newest first; records without their traces. */
  runs(filter: RunFilter & Page): Promise<{ readonly runs: readonly RunRow[]; readonly total: number }>;
  /** From the event after `afterSeq` to the terminal one. Null when there is no such run. */
  watch(runId: RunId, afterSeq: number, signal: AbortSignal): Promise<AsyncIterable<RunUpdate> | null>;
  cancel(runId: RunId, principal: string): Promise<{ readonly ok: true; readonly status: RunStatus } | Refusal>;
  /** What its model is sent. */
  manifest(runId: RunId): ReturnType<typeof readManifest>;
  /** The signed bundle of an ended run, as text. */
  bundle(runId: RunId): Promise<{ readonly ok: true; readonly text: string } | Refusal>;
}

export interface AssistantParts extends RunViewParts {
  readonly runtime: Runtime;
  readonly drafting: DraftingSettings;
  /** The run is durable and can be watched. */
  readonly onAccepted?: (runId: RunId, begun: BegunSession["session"] | null) => void;
}

export function openAssistant(parts: AssistantParts): Assistant {
  const { store, runtime, drafting } = parts;
  const views = createRunViews(parts);

  const findRepeated = async ({ keyHash, requestHash }: Idempotency): Promise<Submission | null> => {
    const earlier = await store.findRunByKey(keyHash);
    if (earlier === null) return null;
    if (earlier.requestHash !== requestHash) {
      return refuse("conflict", "this idempotency key was used for another request");
    }
    const { runId, sessionId, status } = earlier.run;
    return { ok: true, runId, sessionId, status, isRepeat: true };
  };

  const submit: Assistant["submit"] = async (request, also) => {
    const idempotency = idempotencyOf(request);
    const earlier = idempotency === null ? null : await findRepeated(idempotency);
    if (earlier !== null) return earlier;
    const drafted = await draftRun(drafting, request);
    if (!drafted.ok) return drafted;
    const { draft } = drafted;
    const accepted = await runtime.submit(also === undefined ? draft : { ...draft, also: also(draft.run.runId) });
    if (accepted.ok) {
      parts.onAccepted?.(accepted.runId, draft.begins?.session ?? null);
      return { ...accepted, status: "queued", isRepeat: false };
    }
    await drafting.inbox.remove(drafted.placed);
    // Two requests with one key at the same time: the other one won.
    const twin = idempotency === null ? null : await findRepeated(idempotency);
    return twin ?? refuse(accepted.code, accepted.message);
  };

  return {
    submit,
    run: async (runId, sender = null) => {
      const run = await store.findRun(runId);
      const session = run === null || sender === null ? null : await store.findSession(run.sessionId);
      const isSeen = maySee(sender, session === null ? null : ownerOf(session));
      return run === null || !isSeen ? null : views.record(run);
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
      return status === null ? NO_SUCH_RUN : { ok: true, status };
    },
    manifest: async (runId) => {
      const run = await store.findRun(runId);
      return run === null ? NO_SUCH_RUN : readManifest(store, run);
    },
    bundle: async (runId) => {
      const run = await store.findRun(runId);
      return run === null ? NO_SUCH_RUN : views.bundle(run);
    },
  };
}

const NO_SUCH_RUN = refuse("not_found", "no such run");
