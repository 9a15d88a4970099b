/**
 * What the writer remembers of runs and sessions, so that an append needs no read.
 *
 * H1. What is remembered is what the open transaction would read. After a commit was refused all of it is forgotten,
 *     since some of it may stem from that commit.
 * H2. Memory is bounded, however many runs wait for somebody.
 */
import { genesisHash } from "../../kernel/journal/chain.ts";
import type { Hash, RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { StoreError } from "../../runtime/ports/store.ts";
import type { Prepare } from "./connection.ts";
import { toHex } from "./hex-bytes.ts";
import { journalHead } from "./journal-rows.ts";

export interface RunHead {
  readonly run: number;
  readonly status: number;
  readonly epoch: number;
  readonly seq: number;
  readonly hash: Hash;
}

const MAX_REMEMBERED = 10_000;

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
    remember(this.#heads, runId, head);
  }

  drop(runId: RunId): void {
    this.#heads.delete(runId);
  }

  session(sessionId: SessionId): number {
    const known = this.#sessions.get(sessionId);
    if (known !== undefined) return known;
    const row = this.#prepare("SELECT position FROM sessions WHERE id = ?").get(sessionId);
    if (row === undefined) throw new StoreError("store.conflict", "There is no such session.");
    const position = Number(row["position"]);
    remember(this.#sessions, sessionId, position);
    return position;
  }

  forgetAll(): void {
    this.#heads.clear();
    this.#sessions.clear();
  }

  #read(runId: RunId): RunHead {
    const row = this.#prepare(FIND).get(runId);
    if (row === undefined) throw new StoreError("store.conflict", "There is no such run.");
    const run = Number(row["run"]);
    const found = { run, status: Number(row["status"]), epoch: Number(row["epoch"]) };
    const head = journalHead(this.#prepare, run);
    if (head !== null) return { ...found, ...head };
    return { ...found, seq: 0, hash: genesisHash(toHex(row["contract_hash"] as Uint8Array)) };
  }
}

/** What was remembered first goes first: a run that is still at work will be looked up once more. */
function remember<K, V>(known: Map<K, V>, key: K, value: V): void {
  if (known.size >= MAX_REMEMBERED && !known.has(key)) {
    for (const oldest of known.keys()) {
      known.delete(oldest);
      break;
    }
  }
  known.set(key, value);
}
