/** From a draft to the writes that accept it: everything a run needs to start is durable in one transaction. */
import type { ExecutionContract } from "../../kernel/contract/contract.ts";
import type { LedgerDraft } from "../../kernel/journal/ledger.ts";
import { hashCanonical } from "../../kernel/vocabulary/hash.ts";
import type { BodyRef, Hash } from "../../kernel/vocabulary/identifiers.ts";
import { canonicalWire } from "../../kernel/vocabulary/wire-case.ts";
import type { Idempotency, NewRun, StoredBody, Write } from "../ports/store.ts";
import type { NewSession } from "../ports/stored-session.ts";
import type { Acceptance } from "./acceptance.ts";

export interface BegunSession {
  readonly session: Omit<NewSession, "createdAt">;
  /** From now on the session's key leads to it. */
  readonly isRouted: boolean;
}

/** A run that is ready to be accepted. */
export interface RunDraft {
  readonly run: Omit<NewRun, "contract" | "contractHash" | "accepted" | "createdAt">;
  readonly contract: ExecutionContract;
  readonly acceptance: Acceptance;
  readonly bodies: readonly StoredBody[];
  /** Uploads that are part of it; absent: none. */
  readonly takes?: readonly { readonly ref: string; readonly bodyRef: BodyRef }[];
  /** The session is new and is inserted with this run. */
  readonly begins: BegunSession | null;
  readonly idempotency: Idempotency | null;
  readonly inbound: { readonly channel: string; readonly messageId: string } | null;
  /** Take effect with its acceptance or not at all; absent: none. */
  readonly also?: readonly Write[];
}

export function newRun({ run, contract, acceptance }: RunDraft, createdAt: string): NewRun {
  return {
    ...run,
    contractHash: contract.contractHash,
    contract: canonicalWire(contract),
    accepted: JSON.stringify(acceptance),
    createdAt,
  };
}

/** Over the columns of a run that never change and are not its contract. */
export function rowHashOf(run: NewRun): Hash {
  const { agentId, sessionId, source, lane, parentRunId, model, thinkingMode, accepted, createdAt } = run;
  return hashCanonical([agentId, sessionId, source, lane, parentRunId, model, thinkingMode, accepted, createdAt]);
}

export function acceptanceWrites(
  { acceptance, bodies, takes = [], begins, idempotency, inbound, also = [] }: RunDraft,
  run: NewRun,
): readonly Write[] {
  const { runId, sessionId, contractHash, createdAt } = run;
  const created: LedgerDraft<"run.created"> = {
    kind: "run.created",
    ts: createdAt,
    actor: acceptance.event.principal,
    data: { runId, contractHash, rowHash: rowHashOf(run) },
  };
  return [
    ...(begins === null ? [] : [{ type: "insert-session", session: { ...begins.session, createdAt } } as const]),
    ...(begins?.isRouted ? [{ type: "route-session", sessionId, at: createdAt } as const] : []),
    { type: "put-bodies", sessionId, bodies },
    ...takes.map((take) => ({ type: "take-media", sessionId, ...take }) as const),
    { type: "insert-run", run, idempotency, inbound },
    { type: "append-ledger", draft: created },
    ...also,
  ];
}
