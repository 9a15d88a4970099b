/**
 * What to do when calls of a run were denied, said by whoever knows by which rule, and in which session.
 *
 * D1. Only what helps is offered: under the latch `--approve` does not count, and where a person said no there is no hint.
 */
import type { OperationClient } from "../../assistant/operations.ts";
import type { RunUpdate } from "../../assistant/runs/run-updates.ts";
import type { RunRecord } from "../../kernel/journal/views/run-record.ts";

export interface Denial {
  readonly tool: string;
  readonly policyId: string;
  /** What became of the question; null where nobody was to be asked. */
  readonly answer: string | null;
}

export function denialIn(news: RunUpdate): Denial | null {
  if (news.kind !== "event" || news.event.event_type !== "tool.call") return null;
  const { tool, decision, policy_id: policyId, approval } = news.event.payload;
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

/** A contract lists what policy grants, unless its request asked for less. */
function listHints(denials: readonly Denial[]): readonly string[] {
  const unlisted = denials.filter(({ policyId }) => policyId === "policy.contract").map(({ tool }) => tool);
  return [...new Set(unlisted)].map((tool) => `why ${tool} is not for this run: surety policy explain ${tool} '{…}'`);
}

const LATCH_HINT =
  "the latch is set (policy.latch), as this run has seen private and untrusted data: --approve does not count. " +
  "Allow the very plan when you are asked, at a terminal or with --wait beside a gateway; or begin a session without such data.";

function approvalHints(denials: readonly Denial[]): readonly string[] {
  const unanswered = denials.filter(({ answer }) => answer === "unreachable" || answer === "expired");
  const isLatch = ({ policyId }: Denial): boolean => policyId === "policy.latch";
  const tools = new Set(unanswered.filter((denial) => !isLatch(denial)).map(({ tool }) => tool));
  const allowed = [...tools].map((tool) => `nobody answered for ${tool}; to allow it for one run: --approve ${tool}`);
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
      `this session asks for ${capability}; to grant it: surety caps grant ${capability} --session ${session}`,
  );
  const denied = `to let this session reach a host: surety caps grant net:<domain> --session ${session}`;
  const hints = asked.length > 0 ? asked : wasDenied ? [denied] : [];
  return hints.length === 0 ? [] : [...hints, `then go on with it: surety run "…" --session ${session}`];
}
