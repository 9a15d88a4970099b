/**
 * A turn: the handling of one event. Only `record` states a transition. A state names the next one as data (`Move`),
 * and `step.ts` walks the moves: no state file imports another.
 */
import { promptHead } from "../journal/body.ts";
import type { Transition } from "../journal/chain.ts";
import type { DecidedOf, EntryKind, InferMode, Result } from "../journal/entry.ts";
import type { ProposedCall, RunEvent, Usage } from "../journal/event.ts";
import type { FailureReason } from "../vocabulary/failures.ts";
import type { BodyRef } from "../vocabulary/identifiers.ts";
import type { Outcome } from "../vocabulary/outcome.ts";
import type { Command } from "./command.ts";
import { type CallInFlight, type FailedAttempt, type ReadyCall, type RunState, stepId } from "./state.ts";

export interface Turn {
  readonly state: RunState;
  readonly commands: readonly Command[];
  readonly transitions: readonly Transition[];
}

/** How a turn of the loop ended; COMMIT decides what follows. */
export type TurnEnding =
  | { readonly kind: "answered"; readonly textRef: BodyRef | null }
  | { readonly kind: "acted" }
  | { readonly kind: "malformed" }
  | {
      readonly kind: "unreachable";
      readonly mode: InferMode;
      readonly retryable: boolean;
      readonly retryAfterMs: number;
    }
  | { readonly kind: "failed"; readonly reason: FailureReason };

export type Move =
  | {
      readonly to: "INFER";
      readonly mode: InferMode;
      /** The answer's allowed length, already reserved; null when the context must be compacted first. */
      readonly maxOutputTokens: number | null;
      readonly delayMs: number;
    }
  | {
      readonly to: "VALIDATE_CALLS";
      readonly mode: InferMode;
      readonly proposed: readonly ProposedCall[];
      readonly textRef: BodyRef | null;
    }
  | { readonly to: "EXECUTE"; readonly calls: readonly ReadyCall[] }
  | { readonly to: "OBSERVE"; readonly inFlight: readonly CallInFlight[]; readonly waiting: readonly ReadyCall[] }
  | { readonly to: "COMMIT"; readonly ending: TurnEnding }
  | {
      readonly to: "TERMINATE";
      readonly outcome: Outcome;
      readonly reason: FailureReason | null;
      readonly answerRef: BodyRef | null;
      readonly attempts: readonly FailedAttempt[];
    };
export type MoveTo<State extends Move["to"]> = Extract<Move, { to: State }>;

/** The turn after a state function; `move` is null when the run now waits for an event. */
export interface Moved {
  readonly turn: Turn;
  readonly move: Move | null;
}

export function beginTurn(state: RunState, event: RunEvent): Turn {
  const heard = [...state.heard, event];
  return { state: { ...state, heard, ts: event.ts, elapsedMs: event.elapsedMs }, commands: [], transitions: [] };
}

export function update(turn: Turn, change: Partial<RunState>): Turn {
  return { ...turn, state: { ...turn.state, ...change } };
}

/** The machine knows a prompt by a hash over everything appended, and by its tokens. */
export function extendPrompt(turn: Turn, item: string, tokens: number): Turn {
  const { prompt } = turn.state;
  return update(turn, { prompt: { head: promptHead(prompt.head, [item]), tokens: prompt.tokens + tokens } });
}

/** What models were paid counts, whatever became of their answers. */
export function charge(turn: Turn, { inputTokens, outputTokens, costMicrousd }: Usage): Turn {
  const { budget } = turn.state;
  return update(turn, {
    budget: {
      ...budget,
      tokens: budget.tokens + inputTokens + outputTokens,
      spendMicrousd: budget.spendMicrousd + costMicrousd,
    },
  });
}

export function emit(turn: Turn, ...commands: readonly Command[]): Turn {
  return { ...turn, commands: [...turn.commands, ...commands] };
}

export const wait = (turn: Turn): Moved => ({ turn, move: null });
export const moveTo = (turn: Turn, move: Move): Moved => ({ turn, move });
export const fail = (turn: Turn, reason: FailureReason): Moved =>
  moveTo(turn, { to: "COMMIT", ending: { kind: "failed", reason } });

interface RecordOptions {
  readonly actor?: string;
  /** The event that ended the wait, or what the entry concludes; not quoted in `heard` again. */
  readonly result?: RunEvent | Exclude<Result, RunEvent>;
}

type WithoutHeard<K extends EntryKind> = Omit<DecidedOf<K>, "heard">;

export function record<K extends EntryKind>(
  turn: Turn,
  kind: K,
  decided: WithoutHeard<K>,
  options: RecordOptions = {},
): Turn {
  const { state } = turn;
  const { result = null, actor = "system" } = options;
  const heard = state.heard.filter((event) => event !== result);
  const seq = state.chain.seq + 1;
  const transition = {
    seq,
    kind,
    ts: state.ts,
    elapsedMs: state.elapsedMs,
    stepId: stepId(state),
    actor,
    labels: state.labels,
    decided: (QUOTES_EVENTS[kind] ? { ...decided, heard } : decided) as DecidedOf<K>,
    result: untimed(result),
    frame: state.chain.frame,
  };
  return {
    ...turn,
    state: { ...state, heard: [], chain: { ...state.chain, seq } },
    transitions: [...turn.transitions, transition as Transition],
  };
}

/** EXECUTE and TERMINATE follow another entry of the same turn, which has quoted all events. */
const QUOTES_EVENTS: Readonly<Record<EntryKind, boolean>> = {
  "run.created": true,
  INFER: true,
  VALIDATE_CALLS: true,
  EXECUTE: false,
  OBSERVE: true,
  COMMIT: true,
  TERMINATE: false,
};

function untimed(result: RunEvent | Result): Result {
  if (result === null || !("elapsedMs" in result)) return result;
  const { ts: _ts, elapsedMs: _elapsedMs, ...answer } = result;
  return answer as Result;
}
