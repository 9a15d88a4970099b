/** What the session of a run asks for and was not granted yet, unless a call of the run says it already. */
import type { OperationClient } from "../../assistant/operations.ts";
import type { RunRecord } from "../../kernel/journal/views/run-record.ts";

/** `said`: what the conversation at this terminal was told before; null where one run is shown, which ends with how to go on. */
export async function capabilityHints(
  operations: OperationClient,
  { session_id: session, trace }: Pick<RunRecord, "session_id" | "trace">,
  said: Set<string> | null,
): Promise<readonly string[]> {
  const listed = await operations.call("capabilities.list", { session_id: session });
  const pending = listed.ok && "details" in listed.value ? listed.value.pending : [];
  const grantOf = (capability: string): string => `surety caps grant ${capability} --session ${session}`;
  const isSaid = (command: string): boolean =>
    trace.tool_execution_results.some(({ error }) => error.endsWith(command) || error.includes(`${command};`));
  const asked = pending
    .filter((capability) => !isSaid(grantOf(capability)) && said?.has(grantOf(capability)) !== true)
    .map((capability) => `This session asks for ${capability}. Allow it: ${grantOf(capability)}`);
  for (const capability of pending) said?.add(grantOf(capability));
  return said !== null || pending.length === 0
    ? asked
    : [...asked, `Then continue: surety run "…" --session ${session}`];
}
