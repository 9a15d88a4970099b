/**
 * Tells whether two requests under one idempotency key are the same: same fields and principal, from any source.
 *
 * Key and request may be secret, so only hashes are stored; the request's is salted with the key, so that reading the
 * database does not allow guessing requests.
 */
import { hashBytes } from "../../kernel/vocabulary/hash.ts";
import type { Idempotency } from "../../runtime/ports/store.ts";
import type { RunRequest } from "./run-request.ts";

export function idempotencyOf({ idempotencyKey, source: _source, ...asked }: RunRequest): Idempotency | null {
  if (idempotencyKey === null) return null;
  return { keyHash: hashBytes(idempotencyKey), requestHash: hashBytes(sortedJson([idempotencyKey, asked])) };
}

/** Not canonical JSON, which takes valid Unicode only: the request is not checked yet. */
function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
