/**
 * Signs the state of the home soon after the ledger has grown, and keeps it outside the database.
 *
 * K1. Off the way of a run: no commit waits for it, and a busy home signs a few times a second at most.
 * K2. A failure to write stops no run; the operator reads it once.
 */
import { type Sign, signCheckpoint } from "../../kernel/journal/checkpoint.ts";
import type { CheckpointRecord } from "../../kernel/journal/checkpoint-records.ts";
import { type Clock, timestampOf } from "../../runtime/ports/clock.ts";
import type { Store, Write } from "../../runtime/ports/store.ts";

export interface CheckpointSink {
  append(record: CheckpointRecord): Promise<void>;
  /** Never replaced by a newer one. */
  keep(record: CheckpointRecord): void;
}

export interface CheckpointParts {
  readonly store: Pick<Store, "homeId" | "homeState">;
  readonly key: { readonly publicKey: string; readonly sign: Sign };
  readonly clock: Clock;
  readonly sink: CheckpointSink;
  readonly onFailure: (error: unknown) => void;
}

const SPACING_MS = 250;
/** A home with thousands of open runs takes long to read: it signs less often. */
const SHARE_OF_TIME = 20;

export async function signHome({ store, key, clock }: Omit<CheckpointParts, "sink" | "onFailure">) {
  const state = await store.homeState();
  const ts = timestampOf(clock.nowMs());
  const { homeId } = store;
  return {
    kind: "checkpoint",
    ts,
    homeId,
    publicKey: key.publicKey,
    checkpoint: signCheckpoint(state, key.sign),
  } as const;
}

export class CheckpointKeeper {
  readonly #parts: CheckpointParts;
  #signing: Promise<void> | null = null;
  #isDue = false;
  #hasFailed = false;
  #disarm: () => void = () => {};
  #isWaiting = false;

  constructor(parts: CheckpointParts) {
    this.#parts = parts;
  }

  /** The same store; what its ledger records is signed soon. */
  over(store: Store): Store {
    return {
      ...store,
      commit: (writes, urgency) => {
        const committed = store.commit(writes, urgency);
        if (writes.some(reachesLedger)) {
          committed.then(
            () => this.#signSoon(),
            () => {},
          );
        }
        return committed;
      },
    };
  }

  /** Signs a last time. */
  async close(): Promise<void> {
    this.#disarm();
    this.#isWaiting = true;
    await this.#signing;
    await this.#sign();
  }

  #signSoon(): void {
    this.#isDue = true;
    if (this.#isWaiting || this.#signing !== null) return;
    this.#isDue = false;
    const { clock } = this.#parts;
    const startedMs = clock.monotonicMs();
    this.#signing = this.#sign().then(() => {
      this.#signing = null;
      if (this.#isWaiting) return;
      this.#isWaiting = true;
      const tookMs = clock.monotonicMs() - startedMs;
      this.#disarm = clock.wake(Math.max(SPACING_MS, SHARE_OF_TIME * tookMs), () => {
        this.#isWaiting = false;
        if (this.#isDue) this.#signSoon();
      });
    });
  }

  async #sign(): Promise<void> {
    try {
      await this.#parts.sink.append(await signHome(this.#parts));
    } catch (error) {
      if (!this.#hasFailed) this.#parts.onFailure(error);
      this.#hasFailed = true;
    }
  }
}

const REACHING: readonly Write["type"][] = [
  ...(["append-ledger", "decide-approval", "decide-capability", "decide-pairing", "request-capability"] as const),
  ...(["route-session", "change-session", "write-checkpoint"] as const),
  ...(["request-pairing", "insert-inbox", "insert-outbox", "move-outbox", "erase-content"] as const),
  ...(["put-token", "remove-token", "insert-browser", "remove-browser", "put-secret", "remove-secret"] as const),
];

function reachesLedger({ type }: Write): boolean {
  return REACHING.includes(type);
}
