/**
 * Writes about capabilities (S-2.4).
 *
 * C1. Every change is an entry of the ledger first; the row points at it.
 * C2. What a model asks for never changes what is granted, and never buries one request under thousands.
 * C3. A decision is made once: its nonce is used up with it.
 */
import type { LedgerDraft, LedgerKind } from "../../kernel/journal/ledger.ts";
import { MAX_PENDING_CAPABILITIES } from "../../kernel/protocol/checkpoint-state.ts";
import { type StoredCapability, StoreError } from "../../runtime/ports/store.ts";
import { findCapability, STATE_OF_KIND } from "./capability-rows.ts";
import type { Prepare } from "./connection.ts";
import type { RunHeads } from "./run-heads.ts";
import type { WriteOf } from "./write-of.ts";

/** Appends to the ledger and returns the seq. */
type LinkLedger = (draft: LedgerDraft<LedgerKind>) => number;

const COUNT_PENDING = "SELECT count(*) AS pending FROM capabilities WHERE session = ? AND state = 'pending'";
const USE_NONCE = "INSERT INTO capability_nonces (nonce) VALUES (?) ON CONFLICT DO NOTHING";
const PUT = `
  INSERT INTO capabilities (session, capability, state, ledger_seq) VALUES (?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET state = excluded.state, ledger_seq = excluded.ledger_seq`;

export function requestCapability(
  prepare: Prepare,
  heads: RunHeads,
  { draft }: WriteOf<"request-capability">,
  linkLedger: LinkLedger,
): void {
  const { sessionId, capability } = draft.data;
  const session = heads.session(sessionId);
  const before = findCapability(prepare, sessionId, capability);
  if (before !== null && isStillSaid(before, draft.ts)) return;
  const pending = Number(prepare(COUNT_PENDING).get(session)?.["pending"]);
  if (pending >= MAX_PENDING_CAPABILITIES) return;
  prepare(PUT).run(session, capability, "pending", linkLedger(draft));
}

export function decideCapability(
  prepare: Prepare,
  heads: RunHeads,
  { draft }: WriteOf<"decide-capability">,
  linkLedger: LinkLedger,
): void {
  const { sessionId, capability, nonce } = draft.data;
  const session = heads.session(sessionId);
  const state = findCapability(prepare, sessionId, capability)?.state;
  if (draft.kind === "capability.denied" && state !== "pending") throw conflict("Nobody waits for this capability.");
  if (draft.kind === "capability.revoked" && state !== "granted" && state !== "forged") {
    throw conflict("This capability is not granted.");
  }
  if (prepare(USE_NONCE).run(nonce).changes === 0) throw conflict("This decision was made before; it counts once.");
  prepare(PUT).run(session, capability, STATE_OF_KIND[draft.kind], linkLedger(draft));
}

/** It is pending, or granted and has not expired. */
function isStillSaid({ state, expiresAt }: StoredCapability, ts: string): boolean {
  if (state === "pending") return true;
  return state === "granted" && (expiresAt === null || Date.parse(ts) < Date.parse(expiresAt));
}

function conflict(message: string): StoreError {
  return new StoreError("store.conflict", message);
}
