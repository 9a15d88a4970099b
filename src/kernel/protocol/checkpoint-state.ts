/**
 * The long-lived state of a session (S-1.1) and the only ways it changes: by a model's NOTES, and by an operator.
 *
 * C1. Pending never holds what is granted.
 * C2. No text of a model grants anything: `applyNotes` never touches `capabilitiesGranted`. A `grant_permission` in NOTES
 *     is a request (S-2.4). Grants have a function of their own, which takes a parsed capability and no patch.
 * C3. Lists are sets in order: adding what is there changes nothing, so a patch applied twice is a patch applied once.
 * C4. Adding comes before closing: a loop opened and closed by one patch ends closed.
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
 * requested           condensing, which is done elsewhere
 * applied             the capability now awaits an operator
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
  readonly action: string;
  readonly status: ActionStatus;
}

export interface AppliedNotes {
  readonly state: CheckpointState;
  readonly actions: readonly ActionReport[];
}

/** An operator has to read them: a model must not bury one request under thousands. */
export const MAX_PENDING_CAPABILITIES = 64;

const REQUEST = "request_permission:";
const GRANT = "grant_permission:";

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
    const [next, status] = runAction(applied, action);
    applied = next;
    actions.push({ action, status });
  }
  return { state: applied, actions };
}

function runAction(state: CheckpointState, action: string): readonly [CheckpointState, ActionStatus] {
  if (action === "condense_now" || action === "condense_smart") return [state, "requested"];
  if (action.startsWith(REQUEST)) return askFor(state, action.slice(REQUEST.length), "applied", "already_pending");
  if (action.startsWith(GRANT)) {
    return askFor(state, action.slice(GRANT.length), "requires_operator", "requires_operator");
  }
  return [state, "ignored"];
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
