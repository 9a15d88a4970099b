/**
 * What is going to happen in the simulated world, and when.
 *
 * G1. Things due at the same time happen in the order in which they were put down.
 * G2. The result of a call waits until its call is the one the run takes results of next.
 * G3. Effects change the world and tell the run nothing; they happen while time passes.
 */
import type { Answer } from "../../src/kernel/journal/entry.ts";
import type { RunState } from "../../src/kernel/machine/state.ts";
import type { CallId } from "../../src/kernel/vocabulary/identifiers.ts";

interface Due {
  readonly dueMs: number;
  /** The turn it belongs to: call ids are unique within one, and a result for another one is nobody's. */
  readonly turn: number;
  readonly callId: CallId | null;
}

export interface Appointment extends Due {
  /** `reply`: of a model, a planner, a person. */
  readonly kind: "reply" | "result" | "child";
  /** Lets it happen and says what the run is told. */
  readonly answer: () => Answer;
}

export interface PendingEffect extends Due {
  readonly kind: "effect";
  readonly happen: () => void;
}

export type AgendaItem = Appointment | PendingEffect;

export interface Agenda {
  readonly put: (item: AgendaItem) => void;
  readonly next: (state: RunState) => Appointment | null;
  readonly take: (item: AgendaItem) => void;
  readonly letEffectsHappen: (untilMs: number) => void;
  /** Replaces every item by what the function makes of it; null drops it. */
  readonly revise: (change: (item: AgendaItem) => AgendaItem | null) => void;
}

export function emptyAgenda(): Agenda {
  let items: AgendaItem[] = [];
  const take = (taken: AgendaItem): void => {
    items = items.filter((item) => item !== taken);
  };
  return {
    put: (item) => {
      items.push(item);
    },
    next: (state) => earliest(items.filter((item) => item.kind !== "effect").filter((item) => isReady(item, state))),
    take,
    letEffectsHappen: (untilMs) => {
      const isDue = (item: AgendaItem): item is PendingEffect => item.kind === "effect" && item.dueMs <= untilMs;
      for (let due = earliest(items.filter(isDue)); due !== null; due = earliest(items.filter(isDue))) {
        take(due);
        due.happen();
      }
    },
    revise: (change) => {
      items = items.flatMap((item) => change(item) ?? []);
    },
  };
}

function earliest<Item extends AgendaItem>(items: readonly Item[]): Item | null {
  return items.reduce<Item | null>((first, item) => (first === null || item.dueMs < first.dueMs ? item : first), null);
}

function isReady({ kind, turn, callId }: Appointment, { step, phase, restored }: RunState): boolean {
  if (turn !== step) return false;
  if (kind === "reply") return true;
  // A run that waits to go on reads its child's end afterwards.
  return !restored?.isOpen && phase.at === "OBSERVE" && phase.inFlight[0]?.callId === callId;
}
