/**
 * Do the capabilities in the database match the ledger? The table is only an index.
 *
 * C1. Each row must be what the ledger last said, and everything the ledger said must have its row: this finds invented
 *     grants, and requests or revocations that were removed.
 */
import type { LedgerEntry } from "../../kernel/journal/ledger.ts";
import type { Capability } from "../../kernel/vocabulary/capability.ts";
import type { SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { SessionCapability } from "../../runtime/ports/store.ts";

export interface CapabilityFinding {
  readonly code: "capability.forged" | "capability.missing";
  readonly sessionId: SessionId;
  readonly capability: Capability;
  /** The last ledger entry about it; null when there is none. */
  readonly ledgerSeq: number | null;
}

/** `known` must be read after `ledger`: then a row may be newer than its entry, never older. */
export function auditCapabilities(
  ledger: readonly LedgerEntry[],
  known: readonly SessionCapability[],
): readonly CapabilityFinding[] {
  const said = new Map<string, CapabilityFinding>();
  for (const entry of ledger) {
    if (!isAboutCapabilities(entry)) continue;
    const { sessionId, capability } = entry.data;
    const code = "capability.missing";
    said.set(keyOf(entry.data), { code, sessionId, capability, ledgerSeq: entry.seq });
  }
  const forged = known.flatMap(({ sessionId, capability, state }): readonly CapabilityFinding[] => {
    const ledgerSeq = said.get(keyOf({ sessionId, capability }))?.ledgerSeq ?? null;
    return state === "forged" ? [{ code: "capability.forged", sessionId, capability, ledgerSeq }] : [];
  });
  for (const each of known) said.delete(keyOf(each));
  return [...forged, ...said.values()];
}

type CapabilityEntry = Extract<LedgerEntry, { readonly kind: `capability.${string}` }>;

function isAboutCapabilities(entry: LedgerEntry): entry is CapabilityEntry {
  return entry.kind.startsWith("capability.");
}

function keyOf({ sessionId, capability }: Pick<SessionCapability, "sessionId" | "capability">): string {
  return `${capability} ${sessionId}`;
}
