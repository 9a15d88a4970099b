/** Capabilities as the API and `--json` show them: the same fields, whichever door they are read through. */
import type { SessionId } from "../kernel/vocabulary/identifiers.ts";
import type { SessionCapabilities } from "../runtime/capabilities/stored-capabilities.ts";
import type { SessionCapability, StoredCapability } from "../runtime/ports/store.ts";

export function wireCapabilities(sessionId: SessionId, { granted, pending }: SessionCapabilities) {
  return {
    session_id: sessionId,
    granted: granted.map(({ capability }) => capability),
    pending: pending.map(({ capability }) => capability),
    details: [...granted, ...pending].map(wireDetail),
  };
}

/** What awaits an operator, over all sessions. */
export function wirePending(pending: readonly SessionCapability[]) {
  return { pending: pending.map((each) => ({ session_id: each.sessionId, ...wireDetail(each) })) };
}

function wireDetail({ capability, state, by, at, expiresAt, runId }: StoredCapability) {
  return { capability, state, by, at, expires_at: expiresAt, run_id: runId };
}
