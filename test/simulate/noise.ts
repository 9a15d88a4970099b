/** Events that the run certainly does not wait for: late, early, doubled, or meant for somebody else. */
import type { Answer } from "../../src/kernel/journal/entry.ts";
import type { RunState } from "../../src/kernel/machine/state.ts";
import { hashCanonical } from "../../src/kernel/vocabulary/hash.ts";
import { asApprovalId, asCallId } from "../../src/kernel/vocabulary/identifiers.ts";
import { CLEAN_LABELS } from "../../src/kernel/vocabulary/labels.ts";
import { derive } from "./random.ts";
import type { World } from "./world.ts";

const NOWHERE = hashCanonical("nowhere");
const NOBODY = asCallId("call_of_nobody");
const usage = { inputTokens: 1, outputTokens: 1, costMicrousd: 1 };

export function noiseFor(world: World, { phase, accepted, attempt, step }: RunState, heard: number): Answer | null {
  const random = derive(world.seed, "noise", heard);
  if (!world.noisy || !random.chance(30)) return null;
  const isStopping = phase.at === "OBSERVE" && phase.stopping !== null;
  const noise: (Answer | null)[] = [
    accepted === null ? null : world.accepted,
    phase.at === "PRECHECK" ? null : { type: "backend.checked", responsive: false, detail: "late" },
    { type: "model.failed", attempt: attempt + 1, code: "late", retryable: true, retryAfterMs: 0, usage },
    phase.at === "INFER" ? null : { type: "context.compacted", step, succeeded: true, head: NOWHERE, tokens: 0, usage },
    phase.at === "VALIDATE_CALLS" ? null : { type: "calls.planned", step, round: 1, calls: [] },
    {
      type: "approval.decided",
      step,
      approvalId: asApprovalId("approval_stolen"),
      callId: phase.at === "VALIDATE_CALLS" ? (phase.proposed[0]?.callId ?? NOBODY) : NOBODY,
      planHash: NOWHERE,
      decision: "allow",
      by: "nobody",
    },
    {
      type: "tool.finished",
      step,
      callId: NOBODY,
      response: { ok: true, outputRef: null, outputBytes: 0, truncated: false, error: null, durationMs: 0 },
      labels: CLEAN_LABELS,
      tokens: 1,
    },
    { type: "effect.unknown", step, callId: NOBODY },
    { type: "effect.resolved", step, callId: NOBODY, decision: "done", by: "nobody", tokens: 1 },
    isStopping ? null : { type: "timer.fired", timer: "grace" },
    phase.at === "OBSERVE" ? null : { type: "timer.fired", timer: "tool" },
  ];
  return random.pick(noise);
}
