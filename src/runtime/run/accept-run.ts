/**
 * From a draft to a run that nobody has begun yet: what is written to accept it, and what is kept at hand until its turn.
 *
 * F1. Everything a run needs to begin is durable in one transaction.
 * F2. Until it has begun nothing but a cancellation can be written about it, so it need not be read back; where it has to
 *     wait, what is large is.
 */
import type { ExecutionContract } from "../../kernel/contract/contract.ts";
import type { LedgerDraft } from "../../kernel/journal/ledger.ts";
import { canonicalWire } from "../../kernel/vocabulary/wire-case.ts";
import type { Clock } from "../ports/clock.ts";
import type { Idempotency, NewRun, StoredBody, StoredRun, Write } from "../ports/store.ts";
import type { Acceptance } from "./acceptance.ts";

/** A run that is ready to be accepted. */
export interface RunDraft {
  readonly run: Omit<NewRun, "contract" | "contractHash" | "accepted" | "createdAt">;
  readonly contract: ExecutionContract;
  readonly acceptance: Acceptance;
  readonly bodies: readonly StoredBody[];
  /** The session is new and begins with this run. */
  readonly beginsSession: boolean;
  readonly idempotency: Idempotency | null;
  readonly inbound: { readonly channel: string; readonly messageId: string } | null;
}

export interface AcceptedRun {
  readonly run: NewRun;
  readonly contract: ExecutionContract;
  readonly acceptance: Acceptance;
  readonly bodies: readonly StoredBody[];
  /** Once it is known whether the run is durable, and whoever gave it has heard of that. */
  readonly isAccepted: Promise<boolean>;
}

const MOST_KEPT_CHARS = 16_384;

export function newRun({ run, contract, acceptance }: RunDraft, createdAt: string): NewRun {
  return {
    ...run,
    contractHash: contract.contractHash,
    contract: canonicalWire(contract),
    accepted: JSON.stringify(acceptance),
    createdAt,
  };
}

export function acceptanceWrites(
  { acceptance, bodies, beginsSession, idempotency, inbound }: RunDraft,
  run: NewRun,
): readonly Write[] {
  const { runId, sessionId, agentId, contractHash, createdAt } = run;
  const created: LedgerDraft<"run.created"> = {
    kind: "run.created",
    ts: createdAt,
    actor: acceptance.event.principal,
    data: { runId, contractHash },
  };
  return [
    ...(beginsSession ? [{ type: "insert-session", sessionId, agentId, createdAt } as const] : []),
    { type: "put-bodies", sessionId, bodies },
    { type: "insert-run", run, idempotency, inbound },
    { type: "append-ledger", draft: created },
  ];
}

export function acceptedRun(draft: RunDraft, run: NewRun, committed: Promise<unknown>, clock: Clock): AcceptedRun {
  const { contract, acceptance, bodies } = draft;
  // Whoever is told first may want to watch it from its first word on.
  const isAccepted = committed.then(
    () => new Promise<boolean>((resolve) => clock.afterThisTurn(() => resolve(true))),
    () => false,
  );
  return { run, contract, acceptance, bodies, isAccepted };
}

/** A queue may be long: what is large (images, whole files pasted into a message) is read back when its turn comes. */
export function waitingRun(fresh: AcceptedRun): AcceptedRun {
  const chars = fresh.bodies.reduce((sum, { text }) => sum + text.length, 0);
  return chars <= MOST_KEPT_CHARS ? fresh : { ...fresh, bodies: [] };
}

/** The run as the store has it, or will have it. */
export function queuedRun({ run }: AcceptedRun, cancelledBy: string | null): StoredRun {
  const unended = { outcome: null, reason: null, answerRef: null, endedAt: null, ended: null };
  return { ...run, status: "queued", epoch: 0, ...unended, cancelledBy };
}
