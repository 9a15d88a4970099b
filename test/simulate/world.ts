/**
 * A simulated world, as data: everything around one run that the run cannot decide itself.
 *
 * W1. All of it follows from one seed (`generate-world.ts`), and what it answers from the seed and the question.
 * W2. Triggers (cancellation, live policy) hang on the length of the journal, which a crash does not change.
 */
import type { ExecutionContract } from "../../src/kernel/contract/contract.ts";
import type { Answer } from "../../src/kernel/journal/entry.ts";
import type { LivePolicy } from "../../src/kernel/journal/event.ts";
import type { RunId, SessionId } from "../../src/kernel/vocabulary/identifiers.ts";
import type { Labels } from "../../src/kernel/vocabulary/labels.ts";
import type { IdempotencyClass, RiskClass } from "../../src/kernel/vocabulary/risk.ts";

export const MODEL_MOODS = [
  "good",
  "lazy",
  "malformed",
  "looping",
  "alternating",
  "hostile",
  "slow",
  "flaky",
  "overspending",
  "verbose",
] as const;
export type ModelMood = (typeof MODEL_MOODS)[number];

export interface SimulatedModel {
  /** Good runs begin with `good`; any other mood takes over for the share of answers given here, in percent. */
  readonly mood: ModelMood;
  readonly share: number;
  /** Tool turns a good model takes before it answers. */
  readonly turns: number;
  /** Called more often than the others. */
  readonly favourite: string;
  readonly microusdPerToken: number;
}

export type ToolTemper = "ok" | "failing" | "flapping" | "hanging" | "oversized" | "malformed" | "inconsistent";

export interface SimulatedTool {
  readonly name: string;
  readonly risk: RiskClass;
  readonly idempotency: IdempotencyClass;
  readonly pollable: boolean;
  readonly hosts: readonly string[];
  readonly labels: Labels;
  readonly delegates: boolean;
  readonly temper: ToolTemper;
  /** The same arguments give the same result, whenever they are asked. */
  readonly steady: boolean;
  readonly timeoutMs: number;
}

/** Something that comes from outside once the journal has `atSeq` entries: after a while, or at the next entry. */
export interface Trigger {
  readonly atSeq: number;
  readonly afterMs: number;
}

/** Between two events. */
export interface Crash {
  /** How many events the run has heard by then; null for the next time an opaque effect is under way. */
  readonly afterEvent: number | null;
  readonly afterMs: number;
  /** The entries are durable, but nothing was done about them yet. */
  readonly beforeCommands: boolean;
  /** The home is brought back from a backup made at this moment: what happened after is unknown. */
  readonly isRestore?: true;
}

export interface World {
  readonly seed: number;
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly salt: Uint8Array;
  readonly contract: ExecutionContract;
  readonly accepted: Extract<Answer, { type: "run.accepted" }>;
  readonly backend: "responsive" | "down" | "hanging";
  readonly model: SimulatedModel;
  readonly tools: readonly SimulatedTool[];
  readonly operator: "allows" | "denies" | "wavers" | "silent" | "unreachable";
  readonly compaction: "good" | "useless" | "failing" | "hanging";
  readonly narrowings: readonly (Trigger & { readonly live: LivePolicy })[];
  readonly cancel: (Trigger & { readonly beforeAccepted: boolean }) | null;
  readonly crashes: readonly Crash[];
  /** What a call would do may change while somebody is asked about it. */
  readonly plansChange: boolean;
  /** Events nobody waits for are delivered in between. */
  readonly noisy: boolean;
}
