/** Valid writes and values for stores; each call returns different ones. */
import { type ChainFrame, genesisHash, writeEntry } from "../../src/kernel/journal/chain.ts";
import { toLine } from "../../src/kernel/journal/journal-lines.ts";
import type { Capability } from "../../src/kernel/vocabulary/capability.ts";
import { hashBytes } from "../../src/kernel/vocabulary/hash.ts";
import {
  type ApprovalId,
  asApprovalId,
  asBodyRef,
  asCallId,
  asHash,
  asRunId,
  asSessionId,
  type BodyRef,
  type Hash,
  type RunId,
  type SessionId,
} from "../../src/kernel/vocabulary/identifiers.ts";
import { USER_LABELS } from "../../src/kernel/vocabulary/labels.ts";
import { decisionDraft } from "../../src/runtime/approvals/approval-decisions.ts";
import { timestampOf } from "../../src/runtime/ports/clock.ts";
import type { NewRun, RunEnding, StoredApproval, Write } from "../../src/runtime/ports/store.ts";
import type { SpendScope } from "../../src/runtime/ports/stored-spend.ts";

const CREATED_AT = "2026-11-15T00:00:00.000Z";
export const ENDED_AT = "2026-11-15T00:00:09.000Z";
export const ENDING: RunEnding = {
  labels: { integrity: "untrusted", confidentiality: "private" },
  toolCalls: 3,
  durationMs: 1234,
  headHash: hashOf("head"),
  stateDigest: hashOf("state"),
};
const CONTRACT_HASH = hashBytes("contract");
const CONTRACT = '{"adapter_version":"native-tools/1","model_profile_id":"native-tools"}';

let made = 0;
export function fresh(prefix: string): string {
  made += 1;
  return `${prefix}_${made}`;
}

export function hashOf(text: string): Hash {
  return asHash(hashBytes(text));
}

/** One that a run began, unless its key says otherwise: the ledger does not record it. */
export function newSession(sessionId: SessionId, key = `agent:main:http:default:run:${sessionId}`): Write {
  const session = { sessionId, agentId: "main", key, channel: "http", senderId: "operator", createdAt: CREATED_AT };
  return { type: "insert-session", session };
}

export function newRun(
  runId: RunId,
  sessionId: SessionId,
  also: { readonly key?: string; readonly message?: string } & Partial<NewRun> = {},
): Extract<Write, { type: "insert-run" }> {
  const { key, message, ...terms } = also;
  const run: NewRun = {
    runId,
    agentId: "main",
    sessionId,
    source: "cli",
    lane: sessionId,
    parentRunId: null,
    model: "builtin:demo",
    thinkingMode: "never",
    contractHash: CONTRACT_HASH,
    contract: CONTRACT,
    accepted: '{"accepted":1}',
    createdAt: CREATED_AT,
    ...terms,
  };
  const inbound = message === undefined ? null : { channel: "telegram", messageId: message };
  const idempotency = key === undefined ? null : { keyHash: hashOf(key), requestHash: hashOf(`request ${key}`) };
  return { type: "insert-run", run, idempotency, inbound };
}

/** A run of a session of its own. */
export function runOfItsOwn(also: Parameters<typeof newRun>[2] = {}): {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly writes: readonly Write[];
} {
  const runId = asRunId(fresh("run"));
  const sessionId = asSessionId(fresh("ses"));
  return { runId, sessionId, writes: [newSession(sessionId), newRun(runId, sessionId, also)] };
}

export function sealed(runId: RunId, outcome: "COMPLETED_CHAT_ONLY" | "FAILED_TIMEOUT" | "INTERRUPTED"): Write {
  return { type: "seal-run", runId, outcome, reason: null, answerRef: null, endedAt: ENDED_AT, ended: ENDING };
}

type Append = Extract<Write, { type: "append-entries" }>;

/** A journal as its one writer sees it: each append stands on the one before. */
export class SampleJournal {
  readonly runId: RunId;
  readonly lines: string[] = [];
  readonly #frame: ChainFrame;
  #head: Hash = genesisHash(CONTRACT_HASH);

  constructor(runId: RunId) {
    this.runId = runId;
    const model = { adapterVersion: "native-tools/1", modelProfileId: "native-tools", modelFingerprint: "" };
    this.#frame = { runId, contractHash: CONTRACT_HASH, ...model };
  }

  get head(): { readonly seq: number; readonly hash: Hash } {
    return { seq: this.lines.length, hash: this.#head };
  }

  /** As the driver appends: its entries can be had as lines, and once as they are kept. */
  append(count: number, epoch = 0): Append {
    const { append, kept } = this.#write(count, epoch);
    const untaken = [kept];
    return { ...append, takeEncoded: () => untaken.pop() ?? null };
  }

  /** As whoever has nothing but lines. */
  appendLines(count: number, epoch = 0): Append {
    return this.#write(count, epoch).append;
  }

  #write(count: number, epoch: number): { readonly append: Append; readonly kept: readonly string[] } {
    const after = this.head;
    const written = Array.from({ length: count }, () => {
      const stated = {
        seq: this.lines.length + 1,
        ts: CREATED_AT,
        elapsedMs: 0,
        stepId: fresh("step"),
        actor: "system",
      };
      const { entry, encoded } = writeEntry(this.#head, {
        ...{ ...stated, kind: "TERMINATE", labels: USER_LABELS, result: null, frame: this.#frame },
        decided: { outcome: "COMPLETED_CHAT_ONLY", reason: null, attempts: [] },
      });
      this.#head = entry.hash;
      const line = toLine(entry);
      this.lines.push(line);
      return { line, kept: encoded };
    });
    const lines = written.map(({ line }) => line);
    const append = { runId: this.runId, epoch, after, lines, head: this.#head, bodies: [] };
    return { append: { type: "append-entries", ...append }, kept: written.map(({ kept }) => kept) };
  }
}

export function newBody(text: string): { readonly ref: BodyRef; readonly salt: string; readonly text: string } {
  return { ref: asBodyRef(hashBytes(fresh("body"))), salt: "00112233445566778899aabbccddeeff", text };
}

export function newApproval(runId: RunId, sessionId: SessionId, also: Partial<StoredApproval> = {}): StoredApproval {
  const id: ApprovalId = asApprovalId(fresh("apr"));
  return {
    id,
    runId,
    sessionId,
    callId: asCallId("call_1"),
    step: 3,
    kind: "approve",
    tool: "fs.write_text",
    planRef: asBodyRef(hashBytes(`shown ${id}`)),
    planHash: hashOf(`plan ${id}`),
    backgroundRef: asBodyRef(hashBytes(`background ${id}`)),
    why: "policy",
    labels: USER_LABELS,
    createdAtMs: 1_763_000_000_000,
    expiresAtMs: 1_763_000_600_000,
    state: "pending",
    decidedBy: null,
    decidedAtMs: null,
    ...also,
  };
}

export function decides(
  approval: StoredApproval,
  decision: Parameters<typeof decisionDraft>[1],
  by = "anna",
): Extract<Write, { type: "decide-approval" }> {
  const draft = decisionDraft(approval, decision, by, timestampOf(5));
  return { type: "decide-approval", id: approval.id, draft };
}

/** A model asks for it. */
export function asksFor(
  sessionId: SessionId,
  capability: string,
  runId: RunId,
  ts = CREATED_AT,
): Extract<Write, { type: "request-capability" }> {
  const data = { sessionId, capability: capability as Capability, runId };
  return { type: "request-capability", draft: { kind: "capability.requested", ts, actor: "model", data } };
}

export function grants(
  sessionId: SessionId,
  capability: string,
  { nonce = fresh("nonce"), expiresAt = null }: { readonly nonce?: string; readonly expiresAt?: string | null } = {},
): Extract<Write, { type: "decide-capability" }> {
  const data = { sessionId, capability: capability as Capability, nonce, expiresAt };
  const draft = { kind: "capability.granted", ts: CREATED_AT, actor: "operator", data } as const;
  return { type: "decide-capability", draft };
}

export function takes(
  kind: "capability.denied" | "capability.revoked",
  sessionId: SessionId,
  capability: string,
  nonce = fresh("nonce"),
): Extract<Write, { type: "decide-capability" }> {
  const data = { sessionId, capability: capability as Capability, nonce };
  return { type: "decide-capability", draft: { kind, ts: CREATED_AT, actor: "operator", data } } as Extract<
    Write,
    { type: "decide-capability" }
  >;
}

export function budgetScope(
  scope: string,
  limitMicrousd: number | null,
  limitTokens: number | null = null,
): SpendScope {
  return { scope, period: "2026-11-15", limitMicrousd, limitTokens };
}

/** An entry for the ledger that names the run. */
export function created(runId: RunId): Write {
  return {
    type: "append-ledger",
    draft: { kind: "run.created", ts: CREATED_AT, actor: "cli", data: { runId, contractHash: CONTRACT_HASH } },
  };
}
