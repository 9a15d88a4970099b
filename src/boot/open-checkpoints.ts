/** Opens the file of signed checkpoints, compares the database with the last one, and says what was lost. */
import { openCheckpointFile } from "../adapters/checkpoint-file/open-checkpoint-file.ts";
import { CheckpointKeeper } from "../assistant/verification/keep-checkpoints.ts";
import { type Clock, timestampOf } from "../runtime/ports/clock.ts";
import type { Store } from "../runtime/ports/store.ts";
import type { Home } from "./home.ts";
import type { SigningKey } from "./signing-key.ts";

export interface OpeningHome {
  readonly home: Home;
  readonly store: Store;
  readonly key: SigningKey;
  readonly clock: Clock;
  /** The database's write-ahead log was gone before the database was opened. */
  readonly isLogLost: boolean;
  readonly remark: ((line: string) => void) | undefined;
}

const WHAT_NOW =
  "Runs and decisions may be missing: see surety verify --home. Restore a backup if you have a newer one; to accept the loss, run surety backup FILE and surety restore FILE";

export async function openCheckpoints(opening: OpeningHome): Promise<CheckpointKeeper> {
  const { home, store, key, clock, isLogLost, remark } = opening;
  const onFailure = (error: unknown): void =>
    remark?.(`warning checkpoint.unwritten: no checkpoint can be kept in ${home.checkpointFile} (${String(error)})`);
  const sink = await openCheckpointFile(home.checkpointFile);
  if (isLogLost) {
    remark?.(`warning store.log-lost: ${home.database}-wal is gone, and with it what was saved last. ${WHAT_NOW}`);
    await sink.append({ kind: "wal.lost", ts: timestampOf(clock.nowMs()) });
  }
  const { last } = sink;
  if (last !== null) {
    const { ledgerSeq, head } = last.checkpoint;
    const [entry] = ledgerSeq === 0 ? [] : await store.readLedger(ledgerSeq - 1, 1);
    if (ledgerSeq > 0 && entry?.hash !== head) {
      sink.keep(last);
      remark?.(`warning store.rolled-back: the database is older than the checkpoint of ${last.ts}. ${WHAT_NOW}`);
    }
  }
  return new CheckpointKeeper({ store, key, clock, sink, onFailure });
}
