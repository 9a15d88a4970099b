/** Cancelling a run, whatever it is doing: waiting in its lane, being opened, driven or parked. */
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import { terminalStatus } from "../../kernel/vocabulary/outcome.ts";
import type { RunStatus, Store } from "../ports/store.ts";
import type { AcceptedRuns } from "./accepted-runs.ts";
import type { RunQueue } from "./run-queue.ts";

/** The status of the run; null when there is no such run. A waiting run ends immediately and frees its place in the queue. */
export async function cancelRun(
  store: Pick<Store, "findRun" | "commit">,
  accepted: AcceptedRuns,
  queue: RunQueue,
  runId: RunId,
  by: string,
): Promise<RunStatus | null> {
  const run = await store.findRun(runId);
  if (run === null) return null;
  if (run.outcome !== null) return terminalStatus(run.outcome);
  // From here on the stored run says more than the copy in memory.
  accepted.forget(runId);
  await store.commit([{ type: "request-cancel", runId, by }], "barrier");
  return queue.cancel(run, by) ? "running" : run.status;
}
