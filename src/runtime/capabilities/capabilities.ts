/**
 * Capabilities of sessions: requests, the operator's decisions, and the runs that must learn of them (S-2.4).
 *
 * A decision is durable, with its ledger entry, before it is acknowledged, and every running run of the session has it by
 * then: its next call is decided under it. Decisions are made one at a time, each on the state the last one left. Only what
 * the grammar accepts can be granted; other text is not echoed.
 */
import type { LedgerDraft } from "../../kernel/journal/ledger.ts";
import { type Capability, parseCapability } from "../../kernel/vocabulary/capability.ts";
import { hashBytes } from "../../kernel/vocabulary/hash.ts";
import type { SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { timestampOf } from "../ports/clock.ts";
import { newId } from "../ports/randomness.ts";
import { type Page, type StoredRun, StoreError, type Write } from "../ports/store.ts";
import type { CapabilityDecisionKind, SessionCapability, StoredCapability } from "../ports/stored-capability.ts";
import type { RunPorts } from "../run-ports.ts";
import { Authority } from "./authority.ts";
import {
  type CapabilitiesAnswer,
  capabilitiesOf,
  grantedCapabilities,
  pendingCapabilities,
  readCapabilities,
  unknownSession,
} from "./stored-capabilities.ts";

export interface CapabilityDecision {
  readonly sessionId: SessionId;
  /** Unparsed. */
  readonly capability: string;
  /** `revoke` also denies a pending request; `deny` does only that. */
  readonly act: "grant" | "deny" | "revoke";
  /** For a grant; null: until revoked. */
  readonly expiresInS: number | null;
  readonly principal: string;
  /** The sender's idempotency key; null: none. */
  readonly key: string | null;
}

export const MAX_EXPIRY_S = 315_360_000;

type CapabilityPorts = Pick<RunPorts, "store" | "clock" | "random" | "livePolicy" | "onDefect">;

export class Capabilities {
  readonly #ports: CapabilityPorts;
  /** Authorities of running runs, by the session whose capabilities count. */
  readonly #authorities = new Map<SessionId, Set<Authority>>();
  #decisions = 0;
  #lastDecision: Promise<unknown> = Promise.resolve();

  constructor(ports: CapabilityPorts) {
    this.#ports = ports;
  }

  /** A run's authority, kept up to date until `release`. */
  async authorityFor(run: StoredRun): Promise<Authority> {
    const authority = new Authority(this.#ports, await this.#sessionOf(run));
    const { sessionId } = authority;
    // Registered before the session is read, so that no decision in between is missed.
    this.#authorities.set(sessionId, (this.#authorities.get(sessionId) ?? new Set()).add(authority));
    authority.update(await this.#read(sessionId));
    return authority;
  }

  release(authority: Authority): void {
    const { sessionId } = authority;
    const others = this.#authorities.get(sessionId);
    others?.delete(authority);
    if (others?.size === 0) this.#authorities.delete(sessionId);
  }

  of(sessionId: SessionId): Promise<CapabilitiesAnswer> {
    return capabilitiesOf(this.#ports, sessionId, (id) => this.#read(id));
  }

  pending(page: Page): Promise<readonly SessionCapability[]> {
    return pendingCapabilities(this.#ports.store, page);
  }

  granted(page: Page): Promise<readonly SessionCapability[]> {
    return grantedCapabilities(this.#ports, page);
  }

  decide(decision: CapabilityDecision): Promise<CapabilitiesAnswer> {
    const decided = this.#lastDecision.then(() => this.#decide(decision));
    // The caller gets the failure; it must not fail the next decision.
    this.#lastDecision = decided.catch(() => {});
    return decided;
  }

  async #decide(decision: CapabilityDecision): Promise<CapabilitiesAnswer> {
    const { store } = this.#ports;
    const { sessionId } = decision;
    const capability = parseCapability(decision.capability);
    const problem = capability === null ? INVALID_CAPABILITY : expiryProblem(decision);
    if (capability === null || problem !== null) return refuse("invalid.request", problem ?? INVALID_CAPABILITY);
    if (!(await store.hasSession(sessionId))) return unknownSession();
    const kind = kindOf(decision, await this.#stateOf(sessionId, capability));
    if (kind !== null) {
      try {
        await store.commit([this.#writeOf(kind, decision, capability)], "barrier");
      } catch (error) {
        if (error instanceof StoreError && error.code === "store.conflict") return refuse("conflict", error.message);
        throw error;
      }
      await this.#updateAuthorities(sessionId);
    }
    return this.of(sessionId);
  }

  async #stateOf(sessionId: SessionId, capability: Capability): Promise<StoredCapability["state"] | null> {
    const known = await this.#ports.store.capabilitiesOf(sessionId);
    return known.find((each) => each.capability === capability)?.state ?? null;
  }

  #writeOf(kind: CapabilityDecisionKind, decision: CapabilityDecision, capability: Capability): Write {
    const { clock, random } = this.#ports;
    const { sessionId, principal: actor, expiresInS, key } = decision;
    const nowMs = clock.nowMs();
    const ts = timestampOf(nowMs);
    // Hashed, because a key may be a secret.
    const nonce = key === null ? newId("decision", random) : hashBytes(key);
    const data = { sessionId, capability, nonce };
    if (kind !== "capability.granted") {
      return { type: "decide-capability", draft: { kind, ts, actor, data } as LedgerDraft<typeof kind> } as Write;
    }
    const expiresAt = expiresInS === null ? null : timestampOf(nowMs + expiresInS * 1000);
    return { type: "decide-capability", draft: { kind, ts, actor, data: { ...data, expiresAt } } };
  }

  async #updateAuthorities(sessionId: SessionId): Promise<void> {
    this.#decisions += 1;
    const known = await this.#read(sessionId);
    for (const authority of this.#authorities.get(sessionId) ?? []) authority.update(known);
  }

  /** Reads again if a decision came meanwhile. */
  async #read(sessionId: SessionId): Promise<readonly StoredCapability[]> {
    for (;;) {
      const before = this.#decisions;
      const known = await readCapabilities(this.#ports, sessionId);
      if (before === this.#decisions) return known;
    }
  }

  /** A delegated run's own session is internal: its first ancestor's counts. */
  async #sessionOf(run: StoredRun): Promise<SessionId> {
    let first = run;
    while (first.parentRunId !== null) {
      const parent = await this.#ports.store.findRun(first.parentRunId);
      if (parent === null) throw new StoreError("store.corrupt", `the run that delegated ${first.runId} is missing`);
      first = parent;
    }
    return first.sessionId;
  }
}

/** The ledger entry to write; null when nothing changes. A grant is always written: its expiry may differ. */
function kindOf({ act }: CapabilityDecision, state: StoredCapability["state"] | null): CapabilityDecisionKind | null {
  if (act === "grant") return "capability.granted";
  if (state === "pending") return "capability.denied";
  return act === "revoke" && (state === "granted" || state === "forged") ? "capability.revoked" : null;
}

const INVALID_CAPABILITY =
  "a capability is net, or net:<domain> with one lower-case domain; addresses, localhost and wildcards cannot be granted";

function expiryProblem({ expiresInS }: CapabilityDecision): string | null {
  if (expiresInS === null || (Number.isSafeInteger(expiresInS) && expiresInS >= 1 && expiresInS <= MAX_EXPIRY_S)) {
    return null;
  }
  return `expires_in_s must be a whole number from 1 to ${MAX_EXPIRY_S}`;
}

function refuse(
  code: Extract<CapabilitiesAnswer, { readonly ok: false }>["code"],
  message: string,
): CapabilitiesAnswer {
  return { ok: false, code, message };
}
