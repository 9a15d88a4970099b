/** A question that waits for a person, as the call it is about (design §7, Approvals). */
import { argsOf } from "../../kernel/journal/views/body-content.ts";
import type { ApprovalCard } from "../../runtime/ports/approver.ts";
import type { Store } from "../../runtime/ports/store.ts";
import { readBodies, readWholeJournal } from "../../runtime/run/read-run.ts";

const ACTIONS = {
  approve: [
    { label: "Allow", decision: "allow" },
    { label: "Deny", decision: "deny" },
  ],
  resolve: [
    { label: "It was done", decision: "done" },
    { label: "Try again", decision: "retry" },
    { label: "It failed", decision: "fail" },
  ],
} as const;

export async function questionMessage(store: Store, card: ApprovalCard) {
  const { id, runId, sessionId, callId, tool, planHash, shown, kind } = card;
  const asks = kind === "approve" ? "⚠️ The assistant wants to run:" : "⚠️ The assistant was interrupted. Was this done?";
  const approval = { id, plan_hash: planHash, prompt: `${asks}\n${shown}`, actions: [...ACTIONS[kind]] };
  const payload = { sessionId, runId, callId, tool, args: await argsFor(store, card), approval };
  return { id: `msg_${id}`, type: "tool.call" as const, payload };
}

/** As the model wrote them; empty for a question that no call asked, as about a mail. */
async function argsFor(store: Store, { runId, sessionId, callId }: ApprovalCard): Promise<Record<string, unknown>> {
  const { entries } = await readWholeJournal(store, runId);
  const proposed = entries
    .flatMap(({ result }) => (result?.type === "model.answered" ? result.calls : []))
    .findLast((call) => call.callId === callId);
  if (proposed === undefined) return {};
  const bodies = await readBodies(store, sessionId, [proposed.argsRef], runId);
  return argsOf(proposed.argsRef, (ref) => bodies.get(ref)?.text ?? null);
}
