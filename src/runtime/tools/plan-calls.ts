/**
 * `plan-calls`: plans each proposed call once, hashes the plan, and keeps it until the call runs.
 *
 * The hash covers the tool's own plan and who asks: labels, session and contract. A call that cannot be planned is a
 * problem reported to the model, never an exception. Planning a batch again replaces its first plans: what runs is what
 * was decided last. After a restart a call is planned under its registered name with the labels of its decision, so its
 * hash differs only if the world does.
 */
import { childRunId } from "../../kernel/contract/child-contract.ts";
import type { CarvedBudget, PlannedCall, ProposedCall } from "../../kernel/journal/event.ts";
import { type ReadyCall, type RunState, stepId } from "../../kernel/machine/state.ts";
import { provenEffects } from "../../kernel/policy/effect-match.ts";
import { type CallPlan, hashPlan } from "../../kernel/policy/plan.ts";
import { canonicalJson } from "../../kernel/vocabulary/canonical-json.ts";
import { hashCanonical } from "../../kernel/vocabulary/hash.ts";
import type { BodyRef, Hash, RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { Labels } from "../../kernel/vocabulary/labels.ts";
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";
import type { ToolError } from "../../kernel/vocabulary/tool-envelope.ts";
import type { StoredRun } from "../ports/store.ts";
import type { Arguments, AskingRun, Planned, Toolbox, Unplannable } from "../ports/toolbox.ts";
import { type ChildDraft, type Delegate, remainingBudget } from "../run/children.ts";

/** A planned call, kept until it runs. */
export interface PreparedCall {
  readonly call: PlannedCall;
  readonly planned: Planned | null;
  readonly child: ChildDraft | null;
}

export interface PlanningDependencies {
  readonly run: StoredRun;
  readonly toolbox: Toolbox;
  readonly delegate: Delegate;
  readonly readJson: (ref: BodyRef) => JsonValue | null;
  readonly keep: (text: string) => BodyRef;
}

export async function planCalls(
  context: PlanningDependencies,
  state: RunState,
  calls: readonly ProposedCall[],
): Promise<readonly PreparedCall[]> {
  const { labels } = state;
  const planned = await Promise.all(calls.map((call) => planWithTool(context, state, call)));
  const share = planned.filter((each) => each.ok && each.delegation !== null).length;
  return calls.map((call, index) => {
    const place = () => ({ index, runId: childId(context, state, index) });
    return prepare(context, state, call, planned[index] ?? ARGUMENTS_GONE, { labels, place, carved: null, share });
  });
}

export async function planAgain(
  context: PlanningDependencies,
  state: RunState,
  call: ReadyCall,
): Promise<PreparedCall> {
  const { validatedUnder: labels, child } = call;
  const place = () => placeOf(context, state, child?.runId ?? context.run.runId);
  const circumstances = { labels, place, carved: child?.budget ?? null, share: 1 };
  return prepare(context, state, call, await planWithTool(context, state, call), circumstances);
}

function childId({ run }: PlanningDependencies, state: RunState, index: number): RunId {
  return childRunId(run.runId, stepId(state), index);
}

/** A batch is a model's answer, and no longer than this. */
const MOST_CALLS = 1024;

function placeOf(context: PlanningDependencies, state: RunState, runId: RunId): Place {
  for (let index = 0; index < MOST_CALLS; index += 1) {
    if (childId(context, state, index) === runId) return { index, runId };
  }
  return { index: 0, runId };
}

interface Place {
  readonly index: number;
  readonly runId: RunId;
}

/** Who asks for the call, and which run it would start. */
interface Circumstances {
  readonly labels: Labels;
  readonly place: () => Place;
  readonly carved: CarvedBudget | null;
  readonly share: number;
}

async function planWithTool(
  context: PlanningDependencies,
  state: RunState,
  proposed: ProposedCall,
): Promise<Planned | Unplannable> {
  const args = context.readJson(proposed.argsRef);
  return args === null
    ? ARGUMENTS_GONE
    : await context.toolbox.plan(proposed.tool, args as Arguments, askingRun(context.run, state));
}

function prepare(
  context: PlanningDependencies,
  state: RunState,
  proposed: ProposedCall,
  planned: Planned | Unplannable,
  { labels, place, carved, share }: Circumstances,
): PreparedCall {
  if (!planned.ok) return unplannable(context, state, proposed, planned);
  const asTool = plannedCall(context, state, proposed, planned, labels);
  if (planned.delegation === null) return { call: asTool, planned, child: null };
  const { agent, message } = planned.delegation;
  const { index, runId } = place();
  const drafted = context.delegate({
    parent: context.run,
    contract: state.contract,
    left: remainingBudget(state),
    carved,
    ...{ childRunId: runId, index, share },
    agent,
    message,
    labels: state.labels,
  });
  if ("problem" in drafted) {
    const error: ToolError = { code: "invalid.request", message: drafted.problem, retryable: false, details: {} };
    return unplannable(context, state, proposed, { ok: false, tool: planned.tool, error });
  }
  return { call: { ...asTool, child: drafted.child }, planned, child: drafted };
}

export function askingRun(
  { runId, agentId, sessionId }: StoredRun,
  { contract: { channelClass } }: Pick<RunState, "contract">,
): AskingRun {
  return { runId, agentId, sessionId, channelClass };
}

const ARGUMENTS_GONE: Unplannable = {
  ok: false,
  tool: "",
  error: { code: "tool.input_invalid", message: "The arguments were erased.", retryable: false, details: {} },
};

function plannedCall(
  context: PlanningDependencies,
  state: RunState,
  proposed: ProposedCall,
  planned: Planned,
  labels: Labels,
): PlannedCall {
  const { callId } = proposed;
  const { runId } = context.run;
  const { tool, args, risk, idempotency, pollable, egress, asksAlways, timeoutMs } = planned;
  // An alias takes arguments of its own; planning again under the registered name needs the mapped ones.
  const argsRef = tool === proposed.tool ? proposed.argsRef : context.keep(canonicalJson(args));
  return {
    callId,
    tool,
    argsRef,
    planHash: planHashOf(context.run, state, argsRef, planned, labels),
    risk,
    idempotency,
    idempotencyKey: idempotency === "keyed" ? hashCanonical([runId, stepId(state), callId, argsRef]) : null,
    pollable,
    egress: [...egress],
    timeoutMs,
    effects: [...provenEffects(state.contract.requiredEffects, { tool, args })],
    honeypot: false,
    ...(asksAlways ? { asksAlways } : {}),
    child: null,
    problem: null,
  };
}

function planHashOf(
  run: StoredRun,
  { contract }: RunState,
  argsRef: BodyRef,
  { tool, plan }: Planned,
  labels: Labels,
): Hash {
  const whole: CallPlan = {
    tool,
    argsRef,
    ...plan,
    labels,
    sessionId: run.sessionId,
    contractHash: contract.contractHash,
  };
  return hashPlan(whole);
}

function unplannable(
  { run, keep }: PlanningDependencies,
  state: RunState,
  { callId, tool, argsRef }: ProposedCall,
  { error }: Unplannable,
): PreparedCall {
  const { code, retryable, message } = error;
  const call: PlannedCall = {
    callId,
    tool,
    argsRef,
    planHash: hashCanonical(["unplannable", run.runId, stepId(state), callId, code]),
    risk: "side_effect",
    idempotency: "opaque",
    idempotencyKey: null,
    pollable: false,
    egress: [],
    timeoutMs: 1,
    effects: [],
    honeypot: false,
    child: null,
    problem: { code, retryable, messageRef: keep(message) },
  };
  return { call, planned: null, child: null };
}
