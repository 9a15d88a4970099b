/**
 * What a stored capability is worth, and when one may be requested or decided (S-2.4).
 *
 * C1. A row counts only together with its ledger entry: the last entry about this session and capability, stating the
 *     same, unchanged since it was written. Editing the table alone grants nothing and undoes no revocation.
 * C2. A model's request never changes what is granted, and cannot bury one pending request under thousands.
 * C3. A decision is made once: its nonce is used up with it.
 */
import type { LedgerEntry, LedgerEntryOf } from "../../kernel/journal/ledger.ts";
import { findIntactEntry } from "../../kernel/journal/recorded-row.ts";
import { MAX_PENDING_CAPABILITIES } from "../../kernel/protocol/checkpoint-state.ts";
import type { Capability } from "../../kernel/vocabulary/capability.ts";
import type { SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { StoreError } from "../ports/store.ts";
import type { CapabilityDecisionKind, CapabilityState, StoredCapability } from "../ports/stored-capability.ts";
import type { WriteVerdict } from "../ports/write-verdict.ts";

export interface CapabilityRow {
  readonly sessionId: SessionId;
  readonly capability: Capability;
  readonly state: string;
  /** The newest ledger line about this session and capability; null when there is none. */
  readonly line: string | null;
  /** The row refers to that line. */
  readonly isLast: boolean;
}

type CapabilityKind = "capability.requested" | CapabilityDecisionKind;
type CapabilityEntry = { [K in CapabilityKind]: LedgerEntryOf<K> }[CapabilityKind];

export const STATE_OF_KIND: Readonly<Record<CapabilityKind, Exclude<CapabilityState, "forged">>> = {
  "capability.requested": "pending",
  "capability.granted": "granted",
  "capability.denied": "denied",
  "capability.revoked": "revoked",
};

export function readCapability({ sessionId, capability, state, line, isLast }: CapabilityRow): StoredCapability {
  const entry = line === null ? null : readEntry(line);
  const isBacked =
    entry !== null &&
    isLast &&
    STATE_OF_KIND[entry.kind] === state &&
    entry.data.sessionId === sessionId &&
    entry.data.capability === capability;
  if (!isBacked) return { capability, state: "forged", by: "", at: "", expiresAt: null, runId: null };
  return {
    capability,
    state: STATE_OF_KIND[entry.kind],
    by: entry.actor,
    at: entry.ts,
    expiresAt: entry.kind === "capability.granted" ? entry.data.expiresAt : null,
    runId: entry.kind === "capability.requested" ? entry.data.runId : null,
  };
}

/** `pending`: how many requests of the session await a decision. */
export function checkRequestCapability(before: StoredCapability | null, pending: number, ts: string): WriteVerdict {
  if (before?.state === "pending") return "skip";
  const isGranted =
    before?.state === "granted" && (before.expiresAt === null || Date.parse(ts) < Date.parse(before.expiresAt));
  return isGranted || pending >= MAX_PENDING_CAPABILITIES ? "skip" : "write";
}

export function checkDecideCapability(
  kind: CapabilityDecisionKind,
  before: StoredCapability | null,
  isNonceUsed: boolean,
): WriteVerdict {
  const state = before?.state;
  if (kind === "capability.denied" && state !== "pending") {
    return conflict("This capability was not requested, so it cannot be denied.");
  }
  if (kind === "capability.revoked" && state !== "granted" && state !== "forged") {
    return conflict("This capability is not granted, so it cannot be revoked.");
  }
  return isNonceUsed ? conflict("This decision was already made; a decision counts once.") : "write";
}

/** Null unless the line is an unaltered entry about a capability. */
function readEntry(line: string): CapabilityEntry | null {
  const entry = findIntactEntry(line);
  return entry !== null && isAboutCapability(entry) ? entry : null;
}

function isAboutCapability(entry: LedgerEntry): entry is CapabilityEntry {
  return Object.hasOwn(STATE_OF_KIND, entry.kind);
}

function conflict(message: string): StoreError {
  return new StoreError("store.conflict", message);
}
