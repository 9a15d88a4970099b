/**
 * Erasure: erasing removes body and salt; every chain still verifies and shows the refs as erased.
 *
 * E1. No entry changes: a ref without its salt reveals nothing.
 * E2. The tombstone lists the erased refs. Erasing missing bodies adds no tombstone, so erasing twice is harmless.
 */
import type { BodyRef } from "../vocabulary/identifiers.ts";
import type { Body } from "./body.ts";
import type { LedgerDraft } from "./ledger.ts";

export interface Erasure {
  readonly bodies: ReadonlyMap<BodyRef, Body>;
  readonly tombstone: LedgerDraft<"body.erased"> | null;
}

export function eraseBodies(
  bodies: ReadonlyMap<BodyRef, Body>,
  forget: ReadonlySet<BodyRef>,
  { ts, actor }: { readonly ts: string; readonly actor: string },
): Erasure {
  const refs = [...bodies.keys()].filter((ref) => forget.has(ref));
  if (refs.length === 0) return { bodies, tombstone: null };
  const kept = new Map([...bodies].filter(([ref]) => !forget.has(ref)));
  return { bodies: kept, tombstone: { kind: "body.erased", ts, actor, data: { refs } } };
}
