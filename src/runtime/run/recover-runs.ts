/** Recovery at start: every run that was accepted and has not ended is claimed and put back into its lane. */
import type { Store, StoredRun } from "../ports/store.ts";
import type { RunQueue } from "./run-queue.ts";

const PAGE = 500;

/** Returns how many runs were resumed. */
export async function recoverRuns(store: Pick<Store, "openRuns" | "commit">, queue: RunQueue): Promise<number> {
  const open: (Pick<StoredRun, "lane" | "runId"> & { readonly hasOnlyToEnd: boolean })[] = [];
  for (let after = 0; ; ) {
    const runs = await store.openRuns(after, PAGE);
    const claims = runs.map(({ runId, epoch }) => ({ type: "claim-run", runId, epoch: epoch + 1 }) as const);
    if (claims.length > 0) await store.commit(claims, "barrier");
    for (const { lane, runId, status, cancelledBy } of runs) {
      open.push({ lane, runId, hasOnlyToEnd: status === "queued" && cancelledBy !== null });
    }
    after = runs.at(-1)?.position ?? after;
    if (runs.length < PAGE) break;
  }
  // After all claims: a child that a resumed run starts must not be claimed under its driver.
  for (const run of open) {
    queue.enqueue(run);
    if (run.hasOnlyToEnd) queue.startNow(run);
  }
  return open.length;
}
