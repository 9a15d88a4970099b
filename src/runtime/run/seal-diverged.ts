/**
 * Seals a run whose journal does not replay; nothing of it is acted on.
 *
 * The seal and its ledger entry record the head of the journal, so later changes are noticed. The journal gets no final
 * entry, because its machine decided none; the audit therefore reports the run (`run.rewritten`), and the operator looks
 * at it.
 */

import { genesisHash } from "../../kernel/journal/chain.ts";
import type { Entry } from "../../kernel/journal/entry.ts";
import { digestOf, snapshotOfEntries } from "../../kernel/journal/views/run-snapshot.ts";
import { USER_LABELS } from "../../kernel/vocabulary/labels.ts";
import { timestampOf } from "../ports/clock.ts";
import type { StoredRun, Write } from "../ports/store.ts";
import type { RunPorts } from "../run-ports.ts";
import { findAcceptance } from "./acceptance.ts";
import { replyWrites } from "./reply-delivery.ts";

/** `entries`: those that could be read. */
export async function sealDiverged(
  { store, clock, presentEnding }: Pick<RunPorts, "store" | "clock" | "presentEnding">,
  { runId, epoch, contractHash, accepted }: StoredRun,
  entries: readonly Entry[],
): Promise<void> {
  const ts = timestampOf(clock.nowMs());
  const outcome = "INTERRUPTED";
  const snapshot = snapshotOfEntries(runId, contractHash, entries);
  const ended = {
    toolCalls: snapshot.budget.performed,
    durationMs: entries.at(-1)?.elapsedMs ?? 0,
    headHash: snapshot.head,
    stateDigest: digestOf(snapshot),
    labels: entries.at(-1)?.labels ?? USER_LABELS,
  };
  const { seq, hash: head } = (await store.headOf(runId)) ?? { seq: 0, hash: genesisHash(contractHash) };
  const reason = "machine.diverged";
  const writes: readonly Write[] = [
    { type: "release-spend", runId, epoch },
    { type: "seal-run", runId, outcome, reason, answerRef: null, endedAt: ts, ended },
    ...replyWrites(findAcceptance(accepted) ?? {}, { runId, outcome, reason, answer: null }, ts, presentEnding),
    {
      type: "append-ledger",
      draft: { kind: "run.sealed", ts, actor: "system", data: { runId, outcome, seq, head } },
    },
  ];
  await store.commit(writes, "barrier");
}
