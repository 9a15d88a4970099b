/** The signed checkpoint a home appends to its ledger when it stops: ledger head, and the head of each open run. */
import { type Sign, signCheckpoint } from "../../kernel/journal/checkpoint.ts";
import { type Clock, timestampOf } from "../../runtime/ports/clock.ts";
import type { Store } from "../../runtime/ports/store.ts";

export async function appendCheckpoint(store: Store, sign: Sign, clock: Pick<Clock, "nowMs">): Promise<void> {
  const state = await store.homeState();
  if (state.ledgerSeq === 0) return;
  const data = signCheckpoint(state, sign);
  const ts = timestampOf(clock.nowMs());
  await store.commit(
    [{ type: "append-ledger", draft: { kind: "checkpoint.signed", ts, actor: "system", data } }],
    "barrier",
  );
}
