/**
 * What a run may do beside its contract, now: live policy and the capabilities its session has at this moment.
 *
 * Y1. Whatever is heard here narrows: effective is contract ∩ live, so a grant during a run gives that run nothing.
 * Y2. A revocation and an expiry count from the moment they happened: nothing is decided or begun under what was before.
 * Y3. What a model asks for in its NOTES becomes a pending request of the session, and nothing else (S-2.4).
 * Y4. A capability that the ledger does not know is none (`forged`).
 */
import type { StatementOf } from "../../kernel/journal/chain.ts";
import type { LivePolicy } from "../../kernel/journal/event.ts";
import { type CheckpointState, EMPTY_CHECKPOINT } from "../../kernel/protocol/checkpoint-state.ts";
import { type Capability, parseCapability } from "../../kernel/vocabulary/capability.ts";
import type { RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { StoredCapability, Write } from "../ports/store.ts";
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

/** What NOTES asked for and now awaits an operator. */
const ASKED = /^(?:request|grant)_permission:(.+)$/;
const AWAITS: readonly string[] = ["applied", "requires_operator"];

export class Authority {
  /** Whose capabilities count: the run's own session, or for a delegated run that of the run it all began with. */
  readonly sessionId: SessionId;
  readonly #ports: Pick<RunPorts, "clock" | "livePolicy">;
  #known: readonly StoredCapability[] = [];
  #live: LivePolicy | null = null;
  #untilMs = Number.POSITIVE_INFINITY;
  #told: LivePolicy | null = null;

  constructor(ports: Pick<RunPorts, "clock" | "livePolicy">, sessionId: SessionId) {
    this.#ports = ports;
    this.sessionId = sessionId;
  }

  /** What the session has, as of now. */
  learn(known: readonly StoredCapability[]): void {
    this.#known = known;
    this.#live = null;
  }

  /** What nobody has told the machine yet; null while nothing has changed. */
  get news(): LivePolicy | null {
    const live = this.#current();
    return live === this.#told ? null : live;
  }

  /** The same, once. */
  takeNews(): LivePolicy | null {
    const { news } = this;
    this.#told = news ?? this.#told;
    return news;
  }

  /** The part of the session's checkpoint state that capabilities are. */
  checkpoint(): CheckpointState {
    return {
      ...EMPTY_CHECKPOINT,
      capabilitiesGranted: this.#granted().capabilities,
      capabilitiesPending: this.#known.flatMap(({ capability, state }) => (state === "pending" ? [capability] : [])),
    };
  }

  /** The requests that an answer of the model holds, for the transaction of its entry. */
  requestsIn({ result, ts }: StatementOf<"INFER">, runId: RunId): readonly Write[] {
    if (result?.type !== "model.answered" || result.notes === null) return [];
    const { sessionId } = this;
    const asked = result.notes.actions.flatMap(({ action, status }) => {
      const capability = AWAITS.includes(status) ? parseCapability(ASKED.exec(action)?.[1] ?? "") : null;
      return capability === null || this.#isPending(capability) ? [] : [capability];
    });
    if (asked.length > 0) this.#note(asked, ts, runId);
    return asked.map((capability) => ({
      type: "request-capability",
      draft: { kind: "capability.requested", ts, actor: "model", data: { sessionId, capability, runId } },
    }));
  }

  #isPending(capability: Capability): boolean {
    return this.#known.some((each) => each.capability === capability && each.state === "pending");
  }

  /** Until the store is read again. */
  #note(asked: readonly Capability[], at: string, runId: RunId): void {
    const rest = this.#known.filter(({ capability }) => !asked.includes(capability));
    const requests = asked.map((capability) => {
      return { capability, state: "pending", by: "model", at, expiresAt: null, runId } as const;
    });
    this.#known = [...rest, ...requests];
  }

  /** The same object for as long as it says the same. */
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
