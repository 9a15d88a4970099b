/**
 * Capabilities of sessions: who asked, what an operator decided, and who has to hear of it (S-2.4, design: Capabilities).
 *
 * K1. A decision is durable, with its entry in the ledger, before it is acknowledged; and every run of the session that
 *     is under way knows it by then, so that its next call is decided by it.
 * K2. Decisions come one after the other: each is made on what the one before left.
 * K3. Only what is a capability by grammar can be granted; a text that is none is not repeated.
 */
import type { LedgerDraft } from "../../kernel/journal/ledger.ts";
import { type Capability, parseCapability } from "../../kernel/vocabulary/capability.ts";
import { hashBytes } from "../../kernel/vocabulary/hash.ts";
import type { SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { timestampOf } from "../ports/clock.ts";
import { newId } from "../ports/randomness.ts";
import {
  type CapabilityDecisionKind,
  type Page,
  type SessionCapability,
  type StoredCapability,
  type StoredRun,
  StoreError,
  type Write,
} from "../ports/store.ts";
import type { RunPorts } from "../run-ports.ts";
import { Authority } from "./authority.ts";
import {
  type CapabilitiesAnswer,
  capabilitiesOf,
  pendingCapabilities,
  readCapabilities,
  unknownSession,
} from "./stored-capabilities.ts";

export interface CapabilityDecision {
  readonly sessionId: SessionId;
  /** As somebody wrote it. */
  readonly capability: string;
  /** `revoke` also turns down what is pending; `deny` does nothing else. */
  readonly act: "grant" | "deny" | "revoke";
  /** Of a grant; null: until it is revoked. */
  readonly expiresInS: number | null;
  readonly principal: string;
  /** What makes this decision this one, chosen by who sent it; null where nobody chose. */
  readonly key: string | null;
}

export const MAX_EXPIRY_S = 315_360_000;

type CapabilityPorts = Pick<RunPorts, "store" | "clock" | "random" | "livePolicy" | "onDefect">;

export class Capabilities {
  readonly #ports: CapabilityPorts;
  /** Of the runs that are being driven, by the session whose capabilities count. */
  readonly #authorities = new Map<SessionId, Set<Authority>>();
  #decisions = 0;
  #lastDecision: Promise<unknown> = Promise.resolve();

  constructor(ports: CapabilityPorts) {
    this.#ports = ports;
  }

  /** What a run may do, kept up to date until it is dropped. */
  async hold(run: StoredRun): Promise<Authority> {
    const authority = new Authority(this.#ports, await this.#sessionOf(run));
    const { sessionId } = authority;
    // Before its session is read: whatever is decided from now on reaches it.
    this.#authorities.set(sessionId, (this.#authorities.get(sessionId) ?? new Set()).add(authority));
    authority.learn(await this.#read(sessionId));
    return authority;
  }

  drop(authority: Authority): void {
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

  decide(decision: CapabilityDecision): Promise<CapabilitiesAnswer> {
    const decided = this.#lastDecision.then(() => this.#decide(decision));
    // Whoever asked hears of a failure; the next decision is another matter.
    this.#lastDecision = decided.catch(() => {});
    return decided;
  }

  async #decide(decision: CapabilityDecision): Promise<CapabilitiesAnswer> {
    const { store } = this.#ports;
    const { sessionId } = decision;
    const capability = parseCapability(decision.capability);
    const problem = capability === null ? NO_CAPABILITY : expiryProblem(decision);
    if (capability === null || problem !== null) return refuse("invalid.request", problem ?? NO_CAPABILITY);
    if (!(await store.hasSession(sessionId))) return unknownSession();
    const kind = kindOf(decision, await this.#stateOf(sessionId, capability));
    if (kind !== null) {
      try {
        await store.commit([this.#writeOf(kind, decision, capability)], "barrier");
      } catch (error) {
        if (error instanceof StoreError && error.code === "store.conflict") return refuse("conflict", error.message);
        throw error;
      }
      await this.#tell(sessionId);
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
    // A key may be a secret; its hash is as good a name.
    const nonce = key === null ? newId("decision", random) : hashBytes(key);
    const data = { sessionId, capability, nonce };
    if (kind !== "capability.granted") {
      return { type: "decide-capability", draft: { kind, ts, actor, data } as LedgerDraft<typeof kind> } as Write;
    }
    const expiresAt = expiresInS === null ? null : timestampOf(nowMs + expiresInS * 1000);
    return { type: "decide-capability", draft: { kind, ts, actor, data: { ...data, expiresAt } } };
  }

  async #tell(sessionId: SessionId): Promise<void> {
    this.#decisions += 1;
    const known = await this.#read(sessionId);
    for (const authority of this.#authorities.get(sessionId) ?? []) authority.learn(known);
  }

  /** As it stands, and no decision came while it was read. */
  async #read(sessionId: SessionId): Promise<readonly StoredCapability[]> {
    for (;;) {
      const before = this.#decisions;
      const known = await readCapabilities(this.#ports, sessionId);
      if (before === this.#decisions) return known;
    }
  }

  /** A delegated run has a session that nobody ever sees: what counts is the one it all began in. */
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

/** What has to be written; null when it is so already. A grant is always written: it may last longer than the one before. */
function kindOf({ act }: CapabilityDecision, state: StoredCapability["state"] | null): CapabilityDecisionKind | null {
  if (act === "grant") return "capability.granted";
  if (state === "pending") return "capability.denied";
  return act === "revoke" && (state === "granted" || state === "forged") ? "capability.revoked" : null;
}

const NO_CAPABILITY =
  "a capability is net, or net:<domain> with one domain in lower case; no address, localhost or wildcard can be granted";

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
