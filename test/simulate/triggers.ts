/** What comes from outside in the middle of a run: changes of live policy, and a cancellation. */
import type { Answer } from "../../src/kernel/journal/entry.ts";
import type { Scene } from "./scene.ts";
import type { Trigger } from "./world.ts";

export interface PendingTrigger {
  readonly trigger: Trigger;
  readonly pull: () => Answer;
  /** When the journal became long enough; null before. A crash disarms what was not pulled yet. */
  armed: { readonly atMs: number; readonly entries: number } | null;
  isPulled: boolean;
}

export function triggersOf(scene: Scene): readonly PendingTrigger[] {
  const { narrowings, cancel } = scene.world;
  const pending = narrowings.map((trigger): PendingTrigger => {
    const pull = (): Answer => {
      scene.live = trigger.live;
      return { type: "policy.narrowed", live: trigger.live };
    };
    return { trigger, pull, armed: null, isPulled: false };
  });
  return cancel === null
    ? pending
    : [...pending, { trigger: cancel, pull: () => requestCancel(scene), armed: null, isPulled: false }];
}

export function requestCancel(scene: Scene): Answer {
  scene.isCancelled = true;
  return { type: "cancel.requested", by: "operator" };
}

/** The first trigger that is on its way, and when it comes: after its delay, or with the next entry. */
export function nextTrigger(
  { entries, nowMs }: Scene,
  triggers: readonly PendingTrigger[],
): { readonly atMs: number; readonly answer: () => Answer } | null {
  const next = triggers.find(({ trigger, isPulled }) => !isPulled && trigger.atSeq <= entries.length);
  if (next === undefined) return null;
  next.armed ??= { atMs: nowMs, entries: entries.length };
  const isOverdue = entries.length > next.armed.entries;
  const atMs = isOverdue ? nowMs : Math.max(nowMs, next.armed.atMs + next.trigger.afterMs);
  const answer = (): Answer => {
    next.isPulled = true;
    return next.pull();
  };
  return { atMs, answer };
}

export function isArmed({ armed, isPulled }: PendingTrigger): boolean {
  return armed !== null && !isPulled;
}
