/** One request to a model, as it went: ids, hashes and counts, no content (P-4.1, P-4.2). */

import type { Hash, RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { ChannelClass } from "../../kernel/vocabulary/risk.ts";
import type { Clock } from "../ports/clock.ts";
import type { ConfiguredModel, ModelReply, ModelUsage } from "../ports/model-backend.ts";
import type { StoredRun } from "../ports/store.ts";
import type { Acceptance } from "../run/acceptance.ts";

export interface ModelCall extends CallFacts {
  readonly run: Pick<StoredRun, "runId" | "sessionId" | "agentId">;
  /** What the prompt consists of; as it was completed when the run began. */
  readonly manifest: Acceptance["manifest"];
  readonly manifestHash: Hash;
  readonly channelClass: ChannelClass;
  /** Of the user's message, as it was sent. Null when it was erased. */
  readonly messageHash: () => Hash | null;
}

export interface CallFacts {
  readonly model: Pick<ConfiguredModel, "provider" | "model">;
  readonly purpose: "answer" | "summary";
  readonly requestId: string;
  /** Of the run; a summary's is negative. */
  readonly attempt: number;
  readonly estimated: ModelUsage;
  readonly latencyMs: number;
  readonly outcome: "answered" | "failed" | "cancelled";
  /** Of the failure. */
  readonly code: string | null;
  /** As the provider reports it. */
  readonly usage: ModelUsage | null;
}

/** Starts the time; what it returns ends the call. */
export function beginCall(
  clock: Pick<Clock, "monotonicMs">,
  { runId, ...about }: Pick<CallFacts, "model" | "purpose" | "attempt" | "estimated"> & { readonly runId: RunId },
): (reply: ModelReply, isCancelled: boolean) => CallFacts {
  const startedMs = clock.monotonicMs();
  return (reply, isCancelled) => ({
    ...about,
    requestId: `${runId}:${about.attempt}`,
    latencyMs: clock.monotonicMs() - startedMs,
    ...outcomeOf(reply, isCancelled),
  });
}

function outcomeOf(reply: ModelReply, isCancelled: boolean): Pick<CallFacts, "outcome" | "code" | "usage"> {
  const { usage } = reply;
  if (isCancelled) return { outcome: "cancelled", code: null, usage };
  return reply.ok ? { outcome: "answered", code: null, usage } : { outcome: "failed", code: reply.code, usage };
}
