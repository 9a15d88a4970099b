/**
 * What a run may do right now beside its contract: live policy, and its session's capabilities.
 *
 * Live policy only narrows (contract ∩ live), so a grant during a run gives that run nothing; a revocation or an expiry
 * counts from the moment it happens. A request in a model's NOTES becomes a pending request of the session, nothing more
 * (S-2.4). A capability that the ledger does not confirm (`forged`) grants nothing.
 */
import type { StatementOf } from "../../kernel/journal/chain.ts";
import type { LivePolicy } from "../../kernel/journal/event.ts";
import type { CheckpointState } from "../../kernel/protocol/checkpoint-state.ts";
import { type Capability, parseCapability } from "../../kernel/vocabulary/capability.ts";
import type { RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { Write } from "../ports/store.ts";
import type { StoredCapability } from "../ports/stored-capability.ts";
import type { RunPorts } from "../run-ports.ts";

export interface Granted {
  readonly capabilities: readonly Capability[];
  /** When the next of them expires. */
  readonly untilMs: number;
}

export function grantedAt(known: readonly StoredCapability[], nowMs: number): Granted {
  const granted = known.filter((each) => each.state === "granted" && nowMs < expiryOf(each));
  return {
    capabilities: granted.map(({ capability }) => capability),
    untilMs: Math.min(Number.POSITIVE_INFINITY, ...granted.map(expiryOf)),
  };
}

function expiryOf({ expiresAt }: StoredCapability): number {
  return expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
}

/** A capability request in NOTES. */
const REQUEST = /^(?:request|grant)_permission:(.+)$/;
const AWAITING_OPERATOR: readonly string[] = ["applied", "requires_operator"];

export class Authority {
  /** The session whose capabilities count: the run's own, or for a delegated run that of its first ancestor. */
  readonly sessionId: SessionId;
  readonly #ports: Pick<RunPorts, "clock" | "livePolicy">;
  #known: readonly StoredCapability[] = [];
  #live: LivePolicy | null = null;
  #untilMs = Number.POSITIVE_INFINITY;
  #reported: LivePolicy | null = null;

  constructor(ports: Pick<RunPorts, "clock" | "livePolicy">, sessionId: SessionId) {
    this.#ports = ports;
    this.sessionId = sessionId;
  }

  /** Replaces what is known of the session. */
  update(known: readonly StoredCapability[]): void {
    this.#known = known;
    this.#live = null;
  }

  /** The live policy the machine has not heard of yet; null while nothing has changed. */
  get unreported(): LivePolicy | null {
    const live = this.#current();
    return live === this.#reported ? null : live;
  }

  /** Returns it, and counts it as reported. */
  takeUnreported(): LivePolicy | null {
    const { unreported } = this;
    this.#reported = unreported ?? this.#reported;
    return unreported;
  }

  /** The session's capabilities, as part of its checkpoint state. */
  held(): Pick<CheckpointState, "capabilitiesGranted" | "capabilitiesPending"> {
    return {
      capabilitiesGranted: this.#granted().capabilities,
      capabilitiesPending: this.#known.flatMap(({ capability, state }) => (state === "pending" ? [capability] : [])),
    };
  }

  /** The requests in a model's answer, for the transaction of its entry. */
  requestsIn({ result, ts }: StatementOf<"INFER">, runId: RunId): readonly Write[] {
    if (result?.type !== "model.answered" || result.notes === null) return [];
    const { sessionId } = this;
    const asked = result.notes.actions.flatMap(({ action, status }) => {
      const capability = AWAITING_OPERATOR.includes(status) ? parseCapability(REQUEST.exec(action)?.[1] ?? "") : null;
      return capability === null || this.#isPending(capability) ? [] : [capability];
    });
    if (asked.length > 0) this.#addPending(asked, ts, runId);
    return asked.map((capability) => ({
      type: "request-capability",
      draft: { kind: "capability.requested", ts, actor: "model", data: { sessionId, capability, runId } },
    }));
  }

  #isPending(capability: Capability): boolean {
    return this.#known.some((each) => each.capability === capability && each.state === "pending");
  }

  /** Remembers the requests until the store is read again. */
  #addPending(asked: readonly Capability[], at: string, runId: RunId): void {
    const rest = this.#known.filter(({ capability }) => !asked.includes(capability));
    const requests = asked.map((capability) => {
      return { capability, state: "pending", by: "model", at, expiresAt: null, runId } as const;
    });
    this.#known = [...rest, ...requests];
  }

  /** The same object until its content changes, so that callers can compare by identity. */
  #current(): LivePolicy {
    const policy = this.#ports.livePolicy();
    const isCurrent = this.#live?.policy === policy && !this.#hasExpired();
    if (this.#live !== null && isCurrent) return this.#live;
    const { capabilities, untilMs } = this.#granted();
    this.#untilMs = untilMs;
    this.#live = { policy, capabilities: [...capabilities] };
    return this.#live;
  }

  #hasExpired(): boolean {
    return Number.isFinite(this.#untilMs) && this.#ports.clock.nowMs() >= this.#untilMs;
  }

  #granted(): Granted {
    return grantedAt(this.#known, this.#ports.clock.nowMs());
  }
}
