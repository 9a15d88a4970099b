/**
 * Whether two requests under one idempotency key are the same request.
 *
 * I1. A key may be a secret, and so may what is asked: only hashes are kept. The request's is salted with the key, so
 *     that nobody who reads the database can try out what was asked.
 * I2. Requests are the same when they ask the same of the same agent in the same name, by whichever door they came.
 */
import { hashBytes } from "../kernel/vocabulary/hash.ts";
import type { Idempotency } from "../runtime/ports/store.ts";
import type { RunRequest } from "./runs/run-request.ts";

export function idempotencyOf({ idempotencyKey, source: _source, ...asked }: RunRequest): Idempotency | null {
  if (idempotencyKey === null) return null;
  return { keyHash: hashBytes(idempotencyKey), requestHash: hashBytes(sortedJson([idempotencyKey, asked])) };
}

/** Not canonical JSON, which takes valid Unicode only: nothing has looked at the request yet. */
function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
