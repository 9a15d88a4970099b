/**
 * The timeline of a run: its entries as the items that views show. Live and replayed views number them alike. Every
 * proposed call ends exactly once, before its turn is over; a dispatched call is then abandoned and any other is
 * skipped: a call that may have had an effect is never reported as skipped. Call ids are unique within a turn only, so
 * calls are matched within their turn.
 */
import { type DecidedCall, type Entry, type EntryOf, eventsOf } from "../entry.ts";
import type { EventOf } from "../event.ts";
import {
  abandonedOutcome,
  type CallOutcome,
  isTriedAgain,
  observedOutcome,
  refusedOutcome,
  skippedOutcome,
} from "./call-outcome.ts";

type ItemContent =
  | { readonly kind: "created"; readonly entry: EntryOf<"run.created"> }
  | { readonly kind: "started"; readonly entry: EntryOf<"run.created"> }
  | { readonly kind: "asked"; readonly entry: EntryOf<"INFER"> }
  | {
      readonly kind: "called";
      readonly entry: EntryOf<"VALIDATE_CALLS">;
      readonly call: DecidedCall;
      readonly approval: EventOf<"approval.decided"> | null;
    }
  | {
      readonly kind: "call-ended";
      readonly entry: EntryOf<"VALIDATE_CALLS"> | EntryOf<"OBSERVE"> | EntryOf<"COMMIT">;
      readonly call: DecidedCall;
      readonly outcome: CallOutcome;
      readonly question: CallQuestion;
    }
  | { readonly kind: "ended"; readonly entry: EntryOf<"TERMINATE"> };

/** What was decided about a call before it ran. */
export interface CallQuestion {
  /** Hosts it would reach; empty if it was never planned. */
  readonly hosts: readonly string[];
  /** The answers of people, in order. */
  readonly answers: readonly EventOf<"approval.decided">[];
}

interface Place {
  readonly seq: number;
  /** Empty, like the session, for a run that ended before it was accepted. */
  readonly agentId: string;
  readonly sessionId: string;
}
export type TimelineItem = ItemContent & Place;

export function runTimeline(entries: readonly Entry[]): readonly TimelineItem[] {
  const items: TimelineItem[] = [];
  let cursor = TIMELINE_START;
  for (const entry of entries) {
    const { now, next } = readEntry(cursor, entry);
    items.push(...now);
    cursor = next;
  }
  return items;
}

/** The position of a reader that continues when more entries arrive. */
export interface TimelineCursor extends Omit<Place, "seq"> {
  readonly items: number;
  readonly open: readonly OpenCall[];
}

export const TIMELINE_START: TimelineCursor = { items: 0, open: [], agentId: "", sessionId: "" };

export function readEntry(
  cursor: TimelineCursor,
  entry: Entry,
): { readonly now: readonly TimelineItem[]; readonly next: TimelineCursor } {
  const { agentId, sessionId } = (entry.seq === 1 ? acceptedOf([entry]) : null) ?? cursor;
  const { now, stillOpen } = happeningsAt(entry, cursor.open);
  return {
    now: now.map((happening, index) => ({ ...happening, seq: cursor.items + index + 1, agentId, sessionId })),
    next: { items: cursor.items + now.length, open: stillOpen, agentId, sessionId },
  };
}

/** The event that accepted the run; null if it ended before. */
export function acceptedOf(entries: readonly Entry[]): EventOf<"run.accepted"> | null {
  const [first] = entries;
  return (first && eventsOf(first).find((event) => event.type === "run.accepted")) ?? null;
}

interface OpenCall {
  readonly call: DecidedCall;
  readonly question: CallQuestion;
  readonly isDispatched: boolean;
}
interface Step {
  readonly now: readonly ItemContent[];
  readonly stillOpen: readonly OpenCall[];
}

function happeningsAt(entry: Entry, open: readonly OpenCall[]): Step {
  switch (entry.kind) {
    case "run.created":
      return { now: creation(entry), stillOpen: open };
    case "INFER":
      return { now: [{ kind: "asked", entry }], stillOpen: open };
    case "VALIDATE_CALLS":
      return validation(entry);
    case "EXECUTE":
      return {
        now: [],
        stillOpen: open.map((each) => (answers(entry, each) ? { ...each, isDispatched: true } : each)),
      };
    case "OBSERVE":
      return observation(entry, open);
    case "COMMIT":
      return { now: open.map((each) => leftover(entry, each)), stillOpen: [] };
    case "TERMINATE":
      return { now: [{ kind: "ended", entry }], stillOpen: open };
  }
}

/** A run cancelled while it was queued or checked has never started (design §4). */
function creation(entry: EntryOf<"run.created">): readonly ItemContent[] {
  const wasCancelled = entry.decided.heard.some((event) => event.type === "cancel.requested");
  const created: ItemContent = { kind: "created", entry };
  return wasCancelled ? [created] : [created, { kind: "started", entry }];
}

function validation(entry: EntryOf<"VALIDATE_CALLS">): Step {
  const { calls } = entry.decided;
  const events = eventsOf(entry);
  const approvals = events.filter((event) => event.type === "approval.decided");
  const planned = events.findLast((event) => event.type === "calls.planned")?.calls ?? [];
  const questionOf = ({ callId }: DecidedCall): CallQuestion => ({
    hosts: planned.find((call) => call.callId === callId)?.egress ?? [],
    answers: approvals.filter((answer) => answer.callId === callId),
  });
  const called = calls.map((call): ItemContent => {
    // An allowed approval may have expired since.
    return { kind: "called", entry, call, approval: questionOf(call).answers.at(-1) ?? null };
  });
  const refused = calls
    .filter(({ decision }) => decision === "deny")
    .map(
      (call): ItemContent => ({
        ...{ kind: "call-ended", entry, call, outcome: refusedOutcome(call) },
        question: questionOf(call),
      }),
    );
  const allowed = calls.filter(({ decision }) => decision === "allow");
  return {
    now: [...called, ...refused],
    stillOpen: allowed.map((call) => ({ call, question: questionOf(call), isDispatched: false })),
  };
}

function observation(entry: EntryOf<"OBSERVE">, open: readonly OpenCall[]): Step {
  if (isTriedAgain(entry)) return { now: [], stillOpen: open };
  const outcome = observedOutcome(entry.result, entry.decided.error);
  return {
    now: open
      .filter((each) => answers(entry, each))
      .map(({ call, question }) => ({ kind: "call-ended", entry, call, outcome, question })),
    stillOpen: open.filter((each) => !answers(entry, each)),
  };
}

function leftover(entry: EntryOf<"COMMIT">, { call, question, isDispatched }: OpenCall): ItemContent {
  const skipped = entry.decided.skipped.find(({ callId }) => callId === call.callId);
  const outcome = isDispatched ? abandonedOutcome() : skippedOutcome(skipped?.policyId ?? null);
  return { kind: "call-ended", entry, call, outcome, question };
}

function answers({ decided }: EntryOf<"EXECUTE"> | EntryOf<"OBSERVE">, { call }: OpenCall): boolean {
  return decided.callId === call.callId || decided.sharedBy.includes(call.callId);
}
