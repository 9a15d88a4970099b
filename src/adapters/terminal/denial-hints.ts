/**
 * What the user can do about denied calls of a run, by the rule that denied them and the run's session.
 *
 * D1. Only what helps is offered: `--approve` does not override the latch, and a person's no gets no hint.
 */
import type { OperationClient } from "../../assistant/operations.ts";
import type { RunUpdate } from "../../assistant/runs/run-updates.ts";
import type { RunRecord } from "../../kernel/journal/views/run-record.ts";

export interface Denial {
  readonly tool: string;
  readonly policyId: string;
  /** The answer to the question; null when none was asked. */
  readonly answer: string | null;
}

export function denialIn(update: RunUpdate): Denial | null {
  if (update.kind !== "event" || update.event.event_type !== "tool.call") return null;
  const { tool, decision, policy_id: policyId, approval } = update.event.payload;
  return decision === "deny" ? { tool, policyId, answer: approval?.decision ?? null } : null;
}

export async function denialHints(
  operations: OperationClient,
  record: RunRecord,
  denials: readonly Denial[],
): Promise<readonly string[]> {
  const needsHost = denials.some(({ policyId }) => policyId === "policy.capability");
  return [...listHints(denials), ...approvalHints(denials), ...(await capabilityHints(operations, record, needsHost))];
}

function listHints(denials: readonly Denial[]): readonly string[] {
  const unlisted = denials.filter(({ policyId }) => policyId === "policy.contract").map(({ tool }) => tool);
  return [...new Set(unlisted)].map((tool) => `Why this run may not call ${tool}: surety policy explain ${tool} '{…}'`);
}

const LATCH_HINT =
  "This run has seen private and untrusted data, so --approve does not count (policy.latch). " +
  "Allow the plan when you are asked, at a terminal or with --wait beside a gateway; or start a session without such data.";

function approvalHints(denials: readonly Denial[]): readonly string[] {
  const unanswered = denials.filter(({ answer }) => answer === "unreachable" || answer === "expired");
  const isLatch = ({ policyId }: Denial): boolean => policyId === "policy.latch";
  const tools = new Set(unanswered.filter((denial) => !isLatch(denial)).map(({ tool }) => tool));
  const allowed = [...tools].map(
    (tool) => `No one was there to approve ${tool}. Approve it for one run: --approve ${tool}`,
  );
  return unanswered.some(isLatch) ? [...allowed, LATCH_HINT] : allowed;
}

async function capabilityHints(
  operations: OperationClient,
  { session_id: session }: RunRecord,
  wasDenied: boolean,
): Promise<readonly string[]> {
  const listed = await operations.call("capabilities.list", { session_id: session });
  const pending = listed.ok && "details" in listed.value ? listed.value.pending : [];
  const asked = pending.map(
    (capability) =>
      `This session asks for ${capability}. Allow it: surety caps grant ${capability} --session ${session}`,
  );
  const denied = `The host is blocked. Allow it: surety caps grant net:<domain> --session ${session}`;
  const hints = asked.length > 0 ? asked : wasDenied ? [denied] : [];
  return hints.length === 0 ? [] : [...hints, `Then continue: surety run "…" --session ${session}`];
}
