/**
 * The long-lived state of a session (S-1.1) and the only ways it changes: by a model's NOTES, and by an operator. No
 * text of a model grants anything: a `grant_permission` in NOTES is a request (S-2.4). Lists are ordered sets, so
 * applying a patch twice equals applying it once. Reports go into journals, so they hold no text of a model.
 */
import { type Capability, parseCapability } from "../vocabulary/capability.ts";
import type { NotesPatch } from "./notes.ts";

export interface CheckpointState {
  readonly goals: readonly string[];
  readonly openLoops: readonly string[];
  readonly decisions: readonly string[];
  readonly constraints: readonly string[];
  readonly episodeSummary: string;
  readonly memoryTags: readonly string[];
  readonly memoryRefs: readonly string[];
  readonly capabilitiesGranted: readonly Capability[];
  readonly capabilitiesPending: readonly Capability[];
}

export const EMPTY_CHECKPOINT: CheckpointState = {
  goals: [],
  openLoops: [],
  decisions: [],
  constraints: [],
  episodeSummary: "",
  memoryTags: [],
  memoryRefs: [],
  capabilitiesGranted: [],
  capabilitiesPending: [],
};

/**
 * requested           a summary, which is made when the run has ended
 * applied             done: the capability now awaits an operator, or earlier turns leave the next prompt
 * requires_operator   a grant out of a model: it, too, now awaits an operator
 * already_pending     it was asked for before
 * already_granted     nothing to ask for
 * rejected            not a capability that can be granted, or too many await an operator already
 * ignored             not an action we know
 */
export type ActionStatus =
  | "requested"
  | "applied"
  | "requires_operator"
  | "already_pending"
  | "already_granted"
  | "rejected"
  | "ignored";

export interface ActionReport {
  /** A known action as NOTES name it, a rejected one without its argument, or `unknown`. */
  readonly action: string;
  readonly status: ActionStatus;
}

export interface AppliedNotes {
  readonly state: CheckpointState;
  readonly actions: readonly ActionReport[];
}

/** An operator has to read them: a model must not bury one request under thousands. */
export const MAX_PENDING_CAPABILITIES = 64;

/** Actions that request a capability, and their status for a new and for a pending request. */
const ASKING = [
  { verb: "request_permission", added: "applied", present: "already_pending" },
  { verb: "grant_permission", added: "requires_operator", present: "requires_operator" },
] as const;

export function applyNotes(state: CheckpointState, patch: NotesPatch): AppliedNotes {
  const closed = new Set(patch.closeOpenLoops);
  let applied: CheckpointState = {
    ...state,
    goals: patch.setGoals === null ? state.goals : union([], patch.setGoals),
    openLoops: union(state.openLoops, patch.addOpenLoops).filter((loop) => !closed.has(loop)),
    decisions: union(state.decisions, patch.addDecisions),
    constraints: union(state.constraints, patch.addConstraints),
    episodeSummary: patch.setEpisodeSummary ?? state.episodeSummary,
    memoryTags: union(state.memoryTags, patch.addMemoryTags),
  };
  const actions: ActionReport[] = [];
  for (const action of patch.actions) {
    const [next, report] = runAction(applied, action);
    applied = next;
    actions.push(report);
  }
  return { state: applied, actions };
}

function runAction(state: CheckpointState, action: string): readonly [CheckpointState, ActionReport] {
  if (action === "condense_now") return [state, { action, status: "applied" }];
  if (action === "condense_smart") return [state, { action, status: "requested" }];
  const asking = ASKING.find(({ verb }) => action.startsWith(`${verb}:`));
  if (asking === undefined) return [state, { action: "unknown", status: "ignored" }];
  const { verb, added, present } = asking;
  const [next, status] = askFor(state, action.slice(verb.length + 1), added, present);
  return [next, { action: status === "rejected" ? verb : action, status }];
}

function askFor(
  state: CheckpointState,
  text: string,
  added: ActionStatus,
  present: ActionStatus,
): readonly [CheckpointState, ActionStatus] {
  const capability = parseCapability(text);
  if (capability === null) return [state, "rejected"];
  if (state.capabilitiesGranted.includes(capability)) return [state, "already_granted"];
  if (state.capabilitiesPending.includes(capability)) return [state, present];
  if (state.capabilitiesPending.length >= MAX_PENDING_CAPABILITIES) return [state, "rejected"];
  return [{ ...state, capabilitiesPending: [...state.capabilitiesPending, capability] }, added];
}

/** An operator's act: call it for an authenticated operator only. */
export function grantCapability(state: CheckpointState, capability: Capability): CheckpointState {
  return {
    ...state,
    capabilitiesGranted: union(state.capabilitiesGranted, [capability]),
    capabilitiesPending: state.capabilitiesPending.filter((pending) => pending !== capability),
  };
}

/** An operator's act: takes a grant back, or turns a request down. */
export function revokeCapability(state: CheckpointState, capability: Capability): CheckpointState {
  return {
    ...state,
    capabilitiesGranted: state.capabilitiesGranted.filter((granted) => granted !== capability),
    capabilitiesPending: state.capabilitiesPending.filter((pending) => pending !== capability),
  };
}

function union<Item extends string>(present: readonly Item[], added: readonly Item[]): readonly Item[] {
  return [...new Set([...present, ...added])];
}
