/** The `Idempotency-Key` header: what makes a request the same request when it comes again. */
import { invalidRequest } from "./http-error.ts";
import type { Head } from "./read-head.ts";

const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/;

export function readIdempotencyKey(head: Head): string | null {
  const key = head["idempotency-key"];
  if (key === undefined) return null;
  if (!IDEMPOTENCY_KEY.test(key)) throw invalidRequest("Idempotency-Key must be 1 to 255 printable ASCII characters");
  return key;
}
