/**
 * Which memories a run's model was given, and which its answer cites (S-5.2). Given are those of the retrieved block and those
 * that a memory tool answered with; a citation of any other was made up.
 */
import { asMemoryId, type MemoryId } from "../../vocabulary/identifiers.ts";
import type { Statement } from "../chain.ts";
import { type Entry, eventsOf } from "../entry.ts";
import { contentOf, type Lookup } from "./body-content.ts";

const CITATION = /\[mem:(mem_[0-9a-f]{1,64})\]/g;

export const MEMORY_SEARCH = "memory.search";
export const MEMORY_REMEMBER = "memory.remember";

/** In their order, each once. */
export function memoriesGiven(entries: readonly Entry[], lookup: Lookup): readonly MemoryId[] {
  const given = entries.flatMap((entry) => [
    ...eventsOf(entry).flatMap((event) => (event.type === "run.accepted" ? event.retrieved.map(({ id }) => id) : [])),
    ...memoriesIn(entry, lookup),
  ]);
  return [...new Set(given)].map(asMemoryId);
}

/** Those that the result of this call names. */
export function memoriesIn({ kind, result }: Pick<Statement, "kind" | "result">, lookup: Lookup): readonly MemoryId[] {
  if (kind !== "OBSERVE" || result?.type !== "tool.finished" || !result.response.ok) return [];
  const { tool, outputRef } = result.response;
  if (tool !== MEMORY_SEARCH && tool !== MEMORY_REMEMBER) return [];
  const output = contentOf(outputRef, lookup) as { readonly id?: unknown; readonly results?: unknown } | string | null;
  if (typeof output !== "object" || output === null) return [];
  const found = Array.isArray(output.results) ? output.results : [output];
  return found.flatMap((each: { readonly id?: unknown } | null) =>
    typeof each?.id === "string" ? [asMemoryId(each.id)] : [],
  );
}

/** In their order, each once. */
export function memoriesCited(answer: string): readonly MemoryId[] {
  return [...new Set([...answer.matchAll(CITATION)].map(([, id = ""]) => asMemoryId(id)))];
}
