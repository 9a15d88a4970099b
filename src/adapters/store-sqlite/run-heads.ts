/**
 * The writer's cache of run heads and session positions, so that an append needs no read.
 *
 * H1. The cache holds what the open transaction would read. After a refused commit it is cleared, since some of it may
 *     come from that commit.
 * H2. The cache is bounded, however many runs are parked.
 */
import { genesisHash } from "../../kernel/journal/chain.ts";
import type { Hash, RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { type RunStatus, StoreError } from "../../runtime/ports/store.ts";
import { type Prepare, toHex } from "./connection.ts";
import { journalHead } from "./journal.ts";
import { sessionPosition, statusOf } from "./runs.ts";

export interface RunHead {
  readonly run: number;
  readonly status: RunStatus;
  readonly epoch: number;
  readonly seq: number;
  readonly hash: Hash;
}

const MAX_CACHED = 10_000;

const FIND = `
  SELECT s.run, s.status, s.epoch, r.contract_hash FROM runs r JOIN run_states s ON s.run = r.position WHERE r.id = ?`;

export class RunHeads {
  readonly #prepare: Prepare;
  readonly #heads = new Map<RunId, RunHead>();
  readonly #sessions = new Map<SessionId, number>();

  constructor(prepare: Prepare) {
    this.#prepare = prepare;
  }

  get(runId: RunId): RunHead {
    const known = this.#heads.get(runId);
    if (known !== undefined) return known;
    const head = this.#read(runId);
    this.set(runId, head);
    return head;
  }

  set(runId: RunId, head: RunHead): void {
    cache(this.#heads, runId, head);
  }

  drop(runId: RunId): void {
    this.#heads.delete(runId);
  }

  session(sessionId: SessionId): number {
    const known = this.#sessions.get(sessionId);
    if (known !== undefined) return known;
    const position = sessionPosition(this.#prepare, sessionId);
    if (position === null) throw new StoreError("store.conflict", "There is no such session.");
    cache(this.#sessions, sessionId, position);
    return position;
  }

  clear(): void {
    this.#heads.clear();
    this.#sessions.clear();
  }

  #read(runId: RunId): RunHead {
    const row = this.#prepare(FIND).get(runId);
    if (row === undefined) throw new StoreError("store.conflict", "There is no such run.");
    const run = Number(row["run"]);
    const found = { run, status: statusOf(Number(row["status"])), epoch: Number(row["epoch"]) };
    const head = journalHead(this.#prepare, run);
    if (head !== null) return { ...found, ...head };
    return { ...found, seq: 0, hash: genesisHash(toHex(row["contract_hash"] as Uint8Array)) };
  }
}

/** A full cache is emptied; active runs are read once more. */
function cache<K, V>(known: Map<K, V>, key: K, value: V): void {
  if (known.size >= MAX_CACHED && !known.has(key)) known.clear();
  known.set(key, value);
}
