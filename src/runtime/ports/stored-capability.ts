/** Capabilities of sessions, as every store holds them. */
import type { Capability } from "../../kernel/vocabulary/capability.ts";
import type { RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { Page } from "./page.ts";

/** `forged`: in the table but not in the ledger; it grants nothing. */
export type CapabilityState = "pending" | "granted" | "denied" | "revoked" | "forged";

/** One capability of a session, as the ledger has it. */
export interface StoredCapability {
  readonly capability: Capability;
  readonly state: CapabilityState;
  /** Who requested or decided it. */
  readonly by: string;
  readonly at: string;
  /** Of a grant; null: until revoked. */
  readonly expiresAt: string | null;
  /** The requesting run, while pending. */
  readonly runId: RunId | null;
}

export interface SessionCapability extends StoredCapability {
  readonly sessionId: SessionId;
}

export type CapabilityDecisionKind = "capability.granted" | "capability.denied" | "capability.revoked";

export interface CapabilityReads {
  /** Of one session, by name. */
  capabilitiesOf(sessionId: SessionId): Promise<readonly StoredCapability[]>;
  /** Pending requests of all sessions by the table, oldest first. */
  pendingCapabilities(page: Page): Promise<readonly SessionCapability[]>;
  /** Grants of all sessions by the table, the newest first; some may have expired. */
  grantedCapabilities(page: Page): Promise<readonly SessionCapability[]>;
  /** All capabilities of all sessions, to compare with the ledger. */
  allCapabilities(page: Page): Promise<readonly SessionCapability[]>;
}
