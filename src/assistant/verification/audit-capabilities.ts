/**
 * Do the capabilities in the database say what the ledger says? The table is only where they are looked up.
 *
 * C1. Each row is what was last said in the ledger, and whatever was ever said there has its row: a grant that was made
 *     up is found, and so is a request or a revocation that was taken away.
 */
import type { LedgerEntry } from "../../kernel/journal/ledger.ts";
import type { Capability } from "../../kernel/vocabulary/capability.ts";
import type { SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { SessionCapability } from "../../runtime/ports/store.ts";

export interface CapabilityFinding {
  readonly code: "capability.forged" | "capability.missing";
  readonly sessionId: SessionId;
  readonly capability: Capability;
  /** What was last said about it; null where nothing ever was. */
  readonly ledgerSeq: number | null;
}

/** `known` was read after `ledger`: a row may be newer than what the ledger said, and is never older. */
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
