/**
 * What there is to say about a simulated run afterwards: its journal, and everything that happened around it in order.
 * The invariants read this and nothing else.
 */
import type { Entry } from "../../src/kernel/journal/entry.ts";
import type { EventOf, LivePolicy, RunEvent } from "../../src/kernel/journal/event.ts";
import type { Command } from "../../src/kernel/machine/command.ts";
import type { RunState } from "../../src/kernel/machine/state.ts";
import type { ApprovalId, BodyRef, CallId, Hash } from "../../src/kernel/vocabulary/identifiers.ts";
import type { IdempotencyClass } from "../../src/kernel/vocabulary/risk.ts";
import type { World } from "./world.ts";

/** One execution in the world: which intent, and whether it could be told apart from a repeat. */
export interface PerformedEffect {
  readonly turn: number;
  readonly callId: CallId;
  readonly planHash: Hash;
  readonly tool: string;
  readonly idempotency: IdempotencyClass;
  readonly idempotencyKey: Hash | null;
}

export type Happening =
  /** The machine was told something. */
  | {
      readonly kind: "heard";
      readonly event: RunEvent;
      readonly before: RunState;
      readonly after: RunState;
      readonly entries: readonly Entry[];
      readonly commands: readonly Command[];
      readonly defect: string | null;
    }
  /** Something nobody waits for was delivered. */
  | { readonly kind: "noise"; readonly event: RunEvent; readonly isIgnored: boolean }
  /** The driver set about a command; `live` is what policy said outside at that moment. */
  | {
      readonly kind: "dispatched";
      readonly command: Command;
      readonly turn: number;
      readonly elapsedMs: number;
      readonly live: LivePolicy | null;
      readonly isRepeat: boolean;
    }
  | { readonly kind: "performed"; readonly effect: PerformedEffect }
  /** A person decided, before the machine was told. */
  | {
      readonly kind: "approved";
      readonly turn: number;
      readonly callId: CallId;
      readonly planHash: Hash;
      readonly approvalId: ApprovalId;
      readonly decision: EventOf<"approval.decided">["decision"];
    }
  | {
      readonly kind: "resolved";
      readonly turn: number;
      readonly callId: CallId;
      readonly decision: EventOf<"effect.resolved">["decision"];
    }
  | { readonly kind: "crashed"; readonly lost: RunState; readonly resumed: RunState; readonly trace: CrashTrace };

/** What a crash left behind, as far as it can be noticed later. `hidden`: nothing at all. */
export type CrashTrace = "hidden" | "shifted" | "in-doubt" | "restored";

export interface SimulatedRun {
  readonly world: World;
  readonly entries: readonly Entry[];
  readonly happenings: readonly Happening[];
  readonly bodies: ReadonlyMap<BodyRef, string>;
  readonly state: RunState;
  /** Why the simulation was given up before the run ended; null when it ended. */
  readonly givenUp: string | null;
}

export type HeardHappening = Extract<Happening, { kind: "heard" }>;
export type DispatchedHappening = Extract<Happening, { kind: "dispatched" }>;
