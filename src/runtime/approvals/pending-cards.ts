/** What waits for a person, as it is stored: for whoever asks, and for whoever only looks. */
import type { ApprovalCard } from "../ports/approver.ts";
import type { Page, Store } from "../ports/store.ts";
import { readBodies } from "../run/read-run.ts";

export async function pendingCards(store: Store, page: Page): Promise<readonly ApprovalCard[]> {
  const approvals = await store.pendingApprovals(page);
  return Promise.all(
    approvals.map(async (approval) => {
      const { sessionId, planRef } = approval;
      const plan = (await readBodies(store, sessionId, [planRef], null)).get(planRef);
      return { ...approval, shown: plan?.text ?? "[erased]" };
    }),
  );
}
