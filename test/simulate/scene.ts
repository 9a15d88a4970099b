/**
 * A simulation under way: the clocks, the run's state in memory, and what lies outside of it.
 *
 * C1. A crash takes `state` and the agenda; everything else here is durable somewhere, or belongs to the world.
 * C2. `nowMs` is the world's clock. `elapsedMs` is the run's: it stands still while the run is parked, and a crash sets
 *     it back to the last entry.
 */
import { bodyRef } from "../../src/kernel/journal/body.ts";
import type { Answer, Entry } from "../../src/kernel/journal/entry.ts";
import type { EventOf, LivePolicy, RunEvent } from "../../src/kernel/journal/event.ts";
import type { RunState } from "../../src/kernel/machine/state.ts";
import type { StepResult } from "../../src/kernel/machine/step.ts";
import type { BodyRef, CallId, Hash } from "../../src/kernel/vocabulary/identifiers.ts";
import { type Agenda, emptyAgenda } from "./agenda.ts";
import type { Happening } from "./simulated-run.ts";
import type { Bodies } from "./simulated-tools.ts";
import type { Crash, World } from "./world.ts";

export type StepFunction = (state: RunState, event: RunEvent) => StepResult;

export type DecidedApproval = Omit<EventOf<"approval.decided">, "ts" | "elapsedMs">;

export interface Scene {
  readonly world: World;
  readonly step: StepFunction;
  readonly agenda: Agenda;
  readonly happenings: Happening[];
  readonly entries: Entry[];
  readonly bodyTexts: Map<BodyRef, string>;
  readonly bodies: Bodies;
  readonly approvals: Map<string, DecidedApproval>;
  /** Intents whose last dispatch has changed the world. */
  readonly performed: Set<string>;
  /** Keys that a keyed tool has already worked off. */
  readonly keysSeen: Set<Hash>;
  /** What this life of the process has set about, by `commandKey`; a crash empties it, as it does the agenda. */
  readonly underWay: Set<string>;
  /** How often the batch of a turn has been planned in this life of the process. */
  readonly generations: Map<number, number>;
  crashes: readonly Crash[];
  /** Died after its entries became durable, before it did anything about them. */
  isDead: boolean;
  live: LivePolicy | null;
  isCancelled: boolean;
  restoreId: string | null;
  state: RunState;
  nowMs: number;
  elapsedMs: number;
  heard: number;
  /** The timer this life of the process fired last. */
  firedTimer: string | null;
}

export function openScene(world: World, step: StepFunction, state: RunState): Scene {
  const bodyTexts = new Map<BodyRef, string>();
  return {
    world,
    step,
    agenda: emptyAgenda(),
    happenings: [],
    entries: [],
    bodyTexts,
    bodies: {
      keep: (text) => {
        const ref = bodyRef(world.salt, text);
        bodyTexts.set(ref, text);
        return ref;
      },
      read: (ref) => bodyTexts.get(ref) ?? "",
    },
    approvals: new Map(),
    performed: new Set(),
    keysSeen: new Set(),
    underWay: new Set(),
    generations: new Map(),
    crashes: world.crashes,
    isDead: false,
    live: null,
    isCancelled: false,
    restoreId: null,
    state,
    nowMs: 0,
    elapsedMs: 0,
    heard: 0,
    firedTimer: null,
  };
}

/** An intent as the outside knows it: call ids are unique within a turn only. */
export function intentKey(turn: number, callId: CallId, planHash: Hash): string {
  return `${turn} ${callId} ${planHash}`;
}

export function timed(scene: Scene, event: Answer): RunEvent {
  return { ...event, ts: timestamp(scene.elapsedMs), elapsedMs: scene.elapsedMs } as RunEvent;
}

/** Time as people read it follows the run's own clock here, so that crashing changes no byte of a journal. */
function timestamp(elapsedMs: number): string {
  const seconds = Math.floor(elapsedMs / 1000);
  const [hour, minute, second] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60].map(pad);
  return `2026-01-01T${hour}:${minute}:${second}.${`${elapsedMs % 1000}`.padStart(3, "0")}Z`;
}

function pad(value: number): string {
  return `${value}`.padStart(2, "0");
}
