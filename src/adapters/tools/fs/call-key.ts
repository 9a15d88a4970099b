/** What tells one call from every other, and is the same for each repeat of it. */
import { hashCanonical } from "../../../kernel/vocabulary/hash.ts";
import type { Hash } from "../../../kernel/vocabulary/identifiers.ts";
import type { CallContext } from "../../../runtime/ports/toolbox.ts";

export function callKey({ idempotencyKey, runId, requestId }: CallContext): Hash {
  return idempotencyKey ?? hashCanonical([runId, requestId]);
}

export function temporaryNameOf(context: CallContext): string {
  return `.surety-${callKey(context).slice(0, 32)}.tmp`;
}
