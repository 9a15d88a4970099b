/** The signed checkpoint a home appends to its ledger when it stops: ledger head, and the head of each open run. */

import { genesisHash } from "../../kernel/journal/chain.ts";
import { type OpenRun, type Sign, signCheckpoint } from "../../kernel/journal/checkpoint.ts";
import { type Clock, timestampOf } from "../../runtime/ports/clock.ts";
import type { Store } from "../../runtime/ports/store.ts";

const OPEN_RUNS_PAGE = 1000;

export async function appendCheckpoint(store: Store, sign: Sign, clock: Pick<Clock, "nowMs">): Promise<void> {
  const { seq: ledgerSeq, hash: ledgerHead } = await store.ledgerHead();
  if (ledgerSeq === 0) return;
  const openRuns: OpenRun[] = [];
  for (const { runId, contractHash } of await store.openRuns(0, OPEN_RUNS_PAGE)) {
    const { seq, hash } = (await store.headOf(runId)) ?? { seq: 0, hash: genesisHash(contractHash) };
    openRuns.push({ runId, seq, head: hash });
  }
  const data = signCheckpoint({ ledgerSeq, ledgerHead, openRuns }, sign);
  const ts = timestampOf(clock.nowMs());
  await store.commit(
    [{ type: "append-ledger", draft: { kind: "checkpoint.signed", ts, actor: "system", data } }],
    "barrier",
  );
}
