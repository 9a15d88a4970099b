/**
 * INFER: ask the model, within what the contract leaves.
 *
 * 1. One request at a time, tagged with its attempt; an answer to another attempt is ignored.
 * 2. When the context is full it is compacted first; still full, the model is asked to wrap up without tools.
 * 3. Cut off, it counts as made and paid for in full, unless it was still waiting for its time to be sent.
 * 4. Only an answer that the protocol adapter accepted is used: under strict_mode `recovered` counts as rejected (M-7.5).
 */
import { nameModel } from "../journal/chain.ts";
import type { InferMode } from "../journal/entry.ts";
import type { EventOf, RunEvent, Usage } from "../journal/event.ts";
import { costOf } from "../vocabulary/model-price.ts";
import { inferenceAllowance, isContextFull } from "./allowance.ts";
import { constraintHash } from "./constraint.ts";
import { interruptionOf } from "./deadline.ts";
import { missingProof } from "./effect-proof.ts";
import { inferCommand } from "./outstanding.ts";
import type { Phase, RunState } from "./state.ts";
import {
  charge,
  emit,
  extendPrompt,
  fail,
  type Moved,
  type MoveTo,
  moveTo,
  record,
  type Turn,
  update,
  wait,
} from "./turn.ts";

type Inferring = Extract<Phase, { at: "INFER" }>;

export function enterInfer(turn: Turn, { mode, maxOutputTokens, delayMs }: MoveTo<"INFER">): Moved {
  const { state } = turn;
  const begun = update(turn, { step: state.step + 1, stepStartedMs: state.elapsedMs });
  return maxOutputTokens === null ? compactFirst(begun, mode) : askModel(begun, mode, maxOutputTokens, delayMs);
}

export function handleInInfer(turn: Turn, phase: Inferring, event: RunEvent): Moved | null {
  const interruption = interruptionOf(turn.state, event);
  if (interruption !== null) {
    const isSent = !phase.compacting && turn.state.elapsedMs >= phase.notBeforeMs;
    const charged = isSent ? charge(turn, cutOffUsage(turn.state, phase)) : turn;
    return fail(emit(recordInfer(charged, phase, event), { type: "stop-work" }), interruption);
  }
  if (phase.compacting) return event.type === "context.compacted" ? continueCompacted(turn, phase, event) : null;
  if (event.type === "model.answered" && event.attempt === phase.attempt) return readAnswer(turn, phase, event);
  if (event.type === "model.failed" && event.attempt === phase.attempt) return readFailure(turn, phase, event);
  return null;
}

function compactFirst(turn: Turn, mode: InferMode): Moved {
  return begin(turn, { at: "INFER", mode, attempt: turn.state.attempt, maxOutputTokens: 0, compacting: true }, 0);
}

function askModel(turn: Turn, mode: InferMode, maxOutputTokens: number, delayMs: number): Moved {
  const { budget } = turn.state;
  const attempt = turn.state.attempt + 1;
  const counted = update(turn, { attempt, budget: { ...budget, inferences: budget.inferences + 1 } });
  return begin(counted, { at: "INFER", mode, attempt, maxOutputTokens, compacting: false }, delayMs);
}

function begin(turn: Turn, inferring: Omit<Inferring, "constraintHash" | "notBeforeMs">, delayMs: number): Moved {
  const { state } = turn;
  const notBeforeMs = state.elapsedMs + delayMs;
  const phase = { ...inferring, notBeforeMs, constraintHash: constraintHash(state, inferring.mode) };
  const begun = update(turn, { phase });
  return wait(emit(begun, inferCommand(begun.state, phase)));
}

function continueCompacted(turn: Turn, phase: Inferring, event: EventOf<"context.compacted">): Moved {
  const charged = charge(turn, event.usage);
  const compacted = event.succeeded ? update(charged, { prompt: { head: event.head, tokens: event.tokens } }) : charged;
  const mustWrapUp = isContextFull(compacted.state);
  if (mustWrapUp && missingProof(compacted.state) !== null) {
    return fail(recordInfer(compacted, phase, event), "context.exhausted");
  }
  const allowance = inferenceAllowance(compacted.state);
  if (!allowance.ok) return fail(recordInfer(compacted, phase, event), allowance.reason);
  const mode = mustWrapUp && phase.mode !== "critique" ? "synthesis" : phase.mode;
  return askModel(compacted, mode, allowance.maxOutputTokens, 0);
}

function readAnswer(turn: Turn, phase: Inferring, event: EventOf<"model.answered">): Moved {
  const charged = charge(turn, event.usage);
  const { state } = charged;
  const named = update(charged, {
    transportFailures: 0,
    chain: nameModel(state.chain, event.fingerprint),
  });
  const recorded = recordInfer(named, phase, event);
  const { status } = event.adapter;
  const isAccepted = status === "native" || (status === "recovered" && !state.contract.strictMode);
  if (!isAccepted || event.messageRef === null) {
    return moveTo(recorded, { to: "COMMIT", ending: { kind: "malformed" } });
  }
  return moveTo(extendPrompt(recorded, event.messageRef, event.tokens), {
    to: "VALIDATE_CALLS",
    mode: phase.mode,
    proposed: event.calls,
    textRef: event.textRef,
  });
}

function readFailure(turn: Turn, phase: Inferring, event: EventOf<"model.failed">): Moved {
  const charged = charge(turn, event.usage);
  const { budget, transportFailures } = charged.state;
  const failed = update(charged, {
    transportFailures: transportFailures + 1,
    // The inference did not complete; its cost is charged all the same.
    budget: { ...budget, inferences: budget.inferences - 1 },
  });
  const { code, retryable, retryAfterMs } = event;
  // A budget scope beyond the run (day, agent) refused it: nothing was sent, and a retry would not help.
  if (code === "budget.spend" || code === "budget.tokens") return fail(recordInfer(failed, phase, event), code);
  const ending = { kind: "unreachable", mode: phase.mode, retryable, retryAfterMs } as const;
  return moveTo(recordInfer(failed, phase, event), { to: "COMMIT", ending });
}

function recordInfer(turn: Turn, phase: Inferring, event: RunEvent): Turn {
  const { attempt, mode, maxOutputTokens, constraintHash } = phase;
  const decided = { promptHead: turn.state.prompt.head, attempt, mode, maxOutputTokens, constraintHash };
  return record(turn, "INFER", decided, { result: event, actor: event.type === "model.answered" ? "model" : "system" });
}

/** The possible cost of an inference that was cut off; unknown without a price. */
export function cutOffUsage({ prompt, accepted }: RunState, { maxOutputTokens }: Inferring): Usage {
  const used = { inputTokens: prompt.tokens, outputTokens: maxOutputTokens };
  return { ...used, costMicrousd: costOf(accepted?.price ?? null, used) };
}
