/**
 * The honeypot exception (P-3.3): may this planned send go out without a question? The tool's plan describes the message,
 * the store counts the sends of the last hour.
 *
 * The slot is taken durably before policy decides, so two runs never use the same one; a send that is then not made has
 * still used it. Only a call that this exception alone lets through takes a slot, one per call however often it is planned.
 */
import type { PlannedCall } from "../../kernel/journal/event.ts";
import { decideNow } from "../../kernel/machine/decide-now.ts";
import { type RunState, stepId } from "../../kernel/machine/state.ts";
import { isHoneypotSend } from "../../kernel/policy/honeypot.ts";
import { hashCanonical } from "../../kernel/vocabulary/hash.ts";
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import { StoreError } from "../ports/store.ts";
import type { SendFacts } from "../ports/toolbox.ts";
import type { RunPorts } from "../run-ports.ts";

const HOUR_MS = 3_600_000;

export async function takeHoneypotSlot(
  { store, clock }: Pick<RunPorts, "store" | "clock">,
  runId: RunId,
  state: RunState,
  call: PlannedCall,
  send: SendFacts,
): Promise<boolean> {
  const { templateId } = send;
  const { policy } = state.contract;
  if (templateId === null || !isHoneypotSend(policy, { ...send, templateId, sentLastHour: 0 })) return false;
  if (decideNow(state, { ...call, honeypot: true }).policyId !== "policy.honeypot") return false;
  const atMs = clock.nowMs();
  const id = hashCanonical(["honeypot", runId, stepId(state), call.callId]);
  const { perHour: limit } = policy.honeypot;
  try {
    await store.commit([{ type: "take-send-slot", id, atMs, sinceMs: atMs - HOUR_MS, limit }], "barrier");
    return true;
  } catch (error) {
    if (error instanceof StoreError && error.code === "store.conflict") return false;
    throw error;
  }
}
