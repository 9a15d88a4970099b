/**
 * Carries out the writes of a commit on the writing connection, inside a transaction that somebody else began.
 *
 * W1. A write that must be refused throws a StoreError; whoever began undoes the commit and calls `forget`.
 * W2. The ledger is linked here, where the order of commits is decided.
 */
import {
  appendLedger,
  type LedgerDraft,
  type LedgerEntry,
  type LedgerHead,
  type LedgerKind,
  toLedgerLine,
} from "../../kernel/journal/ledger.ts";
import { unreachable } from "../../kernel/vocabulary/defect.ts";
import { type CommitResult, StoreError } from "../../runtime/ports/store.ts";
import { consumeApproval, decideApproval, insertApproval } from "./approval-writes.ts";
import { decideCapability, requestCapability } from "./capability-writes.ts";
import type { Prepare } from "./connection.ts";
import { toBytes } from "./hex-bytes.ts";
import { isAppend, type PackedAppend, type PackedWrite } from "./packed-writes.ts";
import { ledgerHead } from "./point-reads.ts";
import { RunHeads } from "./run-heads.ts";
import { appendEntries, claimRun, insertRun, insertSession, requestCancel, sealRun, setStatus } from "./run-writes.ts";
import { takeSendSlot } from "./send-slot-writes.ts";
import { countSpend, releaseSpend, reserveSpend, settleSpend } from "./spend-writes.ts";
import type { WriteOf } from "./write-of.ts";

type Spend = CommitResult["spend"];

const PUT_BODY = "INSERT INTO bodies (ref, session, salt, text) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING";
const INSERT_OUTBOX = `
  INSERT INTO outbox (id, run, channel, body_ref, created_at, state) VALUES (?, ?, ?, ?, ?, 'waiting')
  ON CONFLICT DO NOTHING`;

export class WriteApplier {
  readonly #prepare: Prepare;
  readonly #homeId: string;
  readonly #heads: RunHeads;
  #ledger: LedgerHead | null = null;

  constructor(prepare: Prepare, homeId: string) {
    this.#prepare = prepare;
    this.#homeId = homeId;
    this.#heads = new RunHeads(prepare);
  }

  /** What became of the commit's reservation. */
  apply(writes: readonly PackedWrite[]): Spend {
    let spend: Spend = null;
    for (const write of writes) {
      if (isAppend(write)) appendEntries(this.#prepare, this.#heads, write);
      else if (write.type === "reserve-spend") spend = reserveSpend(this.#prepare, this.#heads, write);
      else this.#applyOne(write);
    }
    return spend;
  }

  /** After a refusal: nothing remembered may stem from what was undone. */
  forget(): void {
    this.#heads.forgetAll();
    this.#ledger = null;
  }

  #applyOne(write: Exclude<PackedWrite, PackedAppend | { readonly type: "reserve-spend" }>): void {
    const prepare = this.#prepare;
    const heads = this.#heads;
    // In the order of how often they come.
    if (write.type === "put-bodies") this.#putBodies(write);
    else if (write.type === "settle-spend") settleSpend(prepare, heads, write);
    else if (write.type === "append-ledger") this.#linkLedger(write.draft);
    else if (write.type === "set-status") setStatus(prepare, heads, write);
    else if (write.type === "release-spend") releaseSpend(prepare, heads, write);
    else if (write.type === "seal-run") sealRun(prepare, heads, write);
    else if (write.type === "insert-run") insertRun(prepare, heads, write);
    else if (write.type === "insert-session") insertSession(prepare, write);
    else if (write.type === "claim-run") claimRun(prepare, heads, write);
    else if (write.type === "request-cancel") requestCancel(prepare, heads, write);
    else if (write.type === "insert-approval") insertApproval(prepare, heads, write);
    else if (write.type === "decide-approval") decideApproval(prepare, write);
    else if (write.type === "consume-approval") consumeApproval(prepare, write);
    else if (write.type === "request-capability") requestCapability(prepare, heads, write, this.#linkLedger);
    else if (write.type === "decide-capability") decideCapability(prepare, heads, write, this.#linkLedger);
    else if (write.type === "take-send-slot") takeSendSlot(prepare, write);
    else if (write.type === "insert-outbox") this.#insertOutbox(write);
    else if (write.type === "settle-outbox") this.#settleOutbox(write);
    else if (write.type === "count-spend") countSpend(prepare, heads, write);
    else unreachable(write, "write");
  }

  #putBodies({ sessionId, bodies }: WriteOf<"put-bodies">): void {
    const session = this.#heads.session(sessionId);
    const put = this.#prepare(PUT_BODY);
    for (const { ref, salt, text } of bodies) put.run(toBytes(ref), session, toBytes(salt), text);
  }

  /** The seq of the new entry. */
  readonly #linkLedger = (draft: LedgerDraft<LedgerKind>): number => {
    const entry = appendLedger(this.#ledger ?? ledgerHead(this.#prepare, this.#homeId), draft) as LedgerEntry;
    this.#prepare("INSERT INTO ledger VALUES (?, ?)").run(entry.seq, toLedgerLine(entry));
    this.#ledger = { seq: entry.seq, hash: entry.hash };
    return entry.seq;
  };

  #insertOutbox({ id, runId, channel, bodyRef, createdAt }: WriteOf<"insert-outbox">): void {
    const { run } = this.#heads.get(runId);
    const { changes } = this.#prepare(INSERT_OUTBOX).run(id, run, channel, toBytes(bodyRef), createdAt);
    if (changes === 0) throw new StoreError("store.conflict", "A message with this id is in the outbox already.");
  }

  #settleOutbox({ id, state }: WriteOf<"settle-outbox">): void {
    const { changes } = this.#prepare("UPDATE outbox SET state = ? WHERE id = ?").run(state, id);
    if (changes === 0) throw new StoreError("store.conflict", "There is no such message in the outbox.");
  }
}
