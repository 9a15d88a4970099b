/**
 * A run told as a list of events: `play(contract, [accepted(), backendOk(), answered(…), …])`.
 * Event makers fill in everything a test does not care about; `at(ms, event)` sets the time.
 */
import type { ContractTerms, ExecutionContract, PolicyState } from "../../../src/kernel/contract/contract.ts";
import { DEFAULT_TERMS } from "../../../src/kernel/contract/default-terms.ts";
import { sealContract } from "../../../src/kernel/contract/seal-contract.ts";
import type { Entry, EntryKind, EntryOf } from "../../../src/kernel/journal/entry.ts";
import type {
  CarvedBudget,
  EventOf,
  LivePolicy,
  PlannedCall,
  RecordedResponse,
  RunEvent,
} from "../../../src/kernel/journal/event.ts";
import type { Command } from "../../../src/kernel/machine/command.ts";
import { type RunState, startRun } from "../../../src/kernel/machine/state.ts";
import { step } from "../../../src/kernel/machine/step.ts";
import { hashBytes } from "../../../src/kernel/vocabulary/hash.ts";
import {
  asApprovalId,
  asBodyRef,
  asCallId,
  asRunId,
  type BodyRef,
} from "../../../src/kernel/vocabulary/identifiers.ts";
import { USER_LABELS } from "../../../src/kernel/vocabulary/labels.ts";

export const RUN_ID = asRunId("run_1");
export const TOOLS = [
  "agent.delegate",
  "fs.list_dir",
  "fs.read_text",
  "fs.write_text",
  "http.get",
  "job.poll",
] as const;
export const TOOLS_DIGEST = hashBytes("tools");
export const POLICY_STATE: PolicyState = {
  retryTolerance: 1,
  stepLimitMultiplier: 1.25,
  autonomyBias: 0.5,
  verbosityBias: -0.25,
  critiqueEnabled: true,
};
export const ref = (text: string): BodyRef => asBodyRef(hashBytes(text));

/** Side effects are allowed outright here; tests of approvals say otherwise. */
export function contractOf(terms: Partial<ContractTerms> = {}): ExecutionContract {
  return sealContract({
    ...DEFAULT_TERMS,
    contractId: "contract_1",
    allowedTools: [...TOOLS],
    adapterVersion: "native-tools@1",
    modelProfileId: "native-tools",
    model: "builtin:demo",
    toolsDigest: TOOLS_DIGEST,
    cycleForbid: [],
    policy: { ...DEFAULT_TERMS.policy, risk: { read_only: "allow", draft_only: "allow", side_effect: "allow" } },
    ...terms,
  });
}

export interface Played {
  readonly state: RunState;
  readonly entries: readonly Entry[];
  /** Commands of every event, in order. */
  readonly commands: readonly (readonly Command[])[];
}

export function play(contract: ExecutionContract, events: readonly RunEvent[]): Played {
  return playOn({ state: startRun(RUN_ID, contract), entries: [], commands: [] }, events);
}

export function outcomeOf({ state }: Played): string {
  return state.phase.at === "TERMINATE"
    ? `${state.phase.outcome}${state.phase.reason ? ` ${state.phase.reason}` : ""}`
    : state.phase.at;
}

export const path = ({ entries }: Played): readonly string[] => entries.map((entry) => entry.state);
export const lastCommands = ({ commands }: Played): readonly Command[] => commands.at(-1) ?? [];

export function lastEntry<K extends EntryKind>({ entries }: Played, kind: K): EntryOf<K> {
  const found = entries.findLast((entry) => entry.kind === kind);
  if (found === undefined) throw new Error(`no ${kind} entry`);
  return found as EntryOf<K>;
}

export function at<E extends RunEvent>(elapsedMs: number, event: E): E {
  return { ...event, elapsedMs };
}

/** Stands for the step the run is in when the event is played. */
const CURRENT = -1;
const TIME = { ts: "2026-01-02T03:04:05.000Z", elapsedMs: 0 } as const;
const NO_USAGE = { inputTokens: 0, outputTokens: 0, costMicrousd: 0 } as const;

export function accepted(over: Partial<EventOf<"run.accepted">> = {}): EventOf<"run.accepted"> {
  return {
    type: "run.accepted",
    ...TIME,
    messageRef: ref("message"),
    agentId: "main",
    sessionId: "session_1",
    principal: "operator",
    labels: USER_LABELS,
    prompt: { head: hashBytes("prompt"), tokens: 100, manifest: hashBytes("manifest") },
    retrieved: [],
    tools: { digest: TOOLS_DIGEST, names: [...TOOLS] },
    profile: {
      id: "native-tools",
      adapterVersion: "native-tools@1",
      supportsTools: true,
      holdsRequired: true,
      grammarProfiles: [],
    },
    ...over,
  };
}

export const backendOk = (): EventOf<"backend.checked"> => ({
  type: "backend.checked",
  ...TIME,
  responsive: true,
  detail: "",
});

/** The events that bring a run to its first inference. */
export const begin = (over: Partial<EventOf<"run.accepted">> = {}): readonly RunEvent[] => [
  accepted(over),
  backendOk(),
];

export interface ScriptedCall {
  readonly id: string;
  readonly tool: string;
  readonly args?: string;
}

export function answered(
  attempt: number,
  {
    text = null,
    calls = [],
    ...over
  }: { text?: string | null; calls?: readonly ScriptedCall[] } & Partial<Omit<EventOf<"model.answered">, "calls">>,
): EventOf<"model.answered"> {
  return {
    type: "model.answered",
    ...TIME,
    attempt,
    rawHash: hashBytes(`raw ${attempt}`),
    adapter: { status: "native", failureCode: null, version: "native-tools@1" },
    messageRef: ref(`message ${text} ${calls.map((call) => call.tool).join()}`),
    textRef: text === null ? null : ref(text),
    calls: calls.map(({ id, tool, args = "" }) => ({ callId: asCallId(id), tool, argsRef: ref(args) })),
    notes: null,
    usage: { inputTokens: 10, outputTokens: 5, costMicrousd: 3 },
    tokens: 5,
    stopReason: "stop",
    fingerprint: "fp_1",
    stream: { chunks: 1, chars: 4, firstMs: 0, lastMs: 0 },
    ...over,
  };
}

export const rejected = (attempt: number, failureCode = "protocol.not-an-array"): EventOf<"model.answered"> =>
  answered(attempt, { adapter: { status: "rejected", failureCode, version: "native-tools@1" }, messageRef: null });

export const modelFailed = (attempt: number, over: Partial<EventOf<"model.failed">> = {}): EventOf<"model.failed"> => ({
  type: "model.failed",
  ...TIME,
  attempt,
  code: "http.500",
  retryable: true,
  retryAfterMs: 0,
  usage: NO_USAGE,
  ...over,
});

export function plan({ id, tool, args = "" }: ScriptedCall, over: Partial<PlannedCall> = {}): PlannedCall {
  const isReading = ["fs.read_text", "fs.list_dir", "http.get", "job.poll"].includes(tool);
  return {
    callId: asCallId(id),
    tool,
    argsRef: ref(args),
    planHash: hashBytes(`plan ${tool} ${args}`),
    risk: isReading ? "read_only" : "side_effect",
    idempotency: isReading ? "read_only" : "opaque",
    idempotencyKey: null,
    pollable: tool === "job.poll",
    egress: [],
    timeoutMs: 30_000,
    effects: [],
    honeypot: false,
    child: null,
    problem: null,
    ...over,
  };
}

export const planned = (calls: readonly PlannedCall[], round = CURRENT): EventOf<"calls.planned"> => ({
  type: "calls.planned",
  ...TIME,
  step: CURRENT,
  round,
  calls: [...calls],
});

export function finished(
  id: string,
  { output = "output", ...over }: Partial<EventOf<"tool.finished">> & { output?: string } = {},
): EventOf<"tool.finished"> {
  return {
    type: "tool.finished",
    ...TIME,
    step: CURRENT,
    callId: asCallId(id),
    response: okResponse(output),
    labels: USER_LABELS,
    tokens: 7,
    ...over,
  };
}

export const okResponse = (output: string): RecordedResponse => ({
  ok: true,
  outputRef: ref(output),
  outputBytes: output.length,
  truncated: false,
  error: null,
  durationMs: 1,
});

export const errorResponse = (
  code: "timeout" | "internal.error" = "internal.error",
  message = "broken",
): RecordedResponse => ({
  ok: false,
  outputRef: null,
  outputBytes: 0,
  truncated: false,
  error: { code, retryable: false, messageRef: ref(message) },
  durationMs: 1,
});

export const failed = (id: string, message = "broken"): EventOf<"tool.finished"> =>
  finished(id, { response: errorResponse("internal.error", message) });

export function approval(
  call: PlannedCall,
  decision: EventOf<"approval.decided">["decision"] = "allow",
  over: Partial<EventOf<"approval.decided">> = {},
): EventOf<"approval.decided"> {
  const { callId, planHash } = call;
  return {
    type: "approval.decided",
    ...TIME,
    step: CURRENT,
    approvalId: asApprovalId(`approval_${callId}`),
    callId,
    planHash,
    decision,
    by: "operator",
    ...over,
  };
}

export const timer = (name: EventOf<"timer.fired">["timer"], elapsedMs: number): EventOf<"timer.fired"> => ({
  type: "timer.fired",
  ...TIME,
  timer: name,
  elapsedMs,
});

export const cancel = (by = "operator"): EventOf<"cancel.requested"> => ({ type: "cancel.requested", ...TIME, by });
export const unknownEffect = (id: string): EventOf<"effect.unknown"> => ({
  type: "effect.unknown",
  ...TIME,
  step: CURRENT,
  callId: asCallId(id),
});

export const resolved = (id: string, decision: EventOf<"effect.resolved">["decision"]): EventOf<"effect.resolved"> => ({
  type: "effect.resolved",
  ...TIME,
  step: CURRENT,
  callId: asCallId(id),
  decision,
  by: "operator",
  tokens: 4,
});

export const compacted = (
  tokens: number,
  over: Partial<EventOf<"context.compacted">> = {},
): EventOf<"context.compacted"> => ({
  type: "context.compacted",
  ...TIME,
  step: CURRENT,
  succeeded: true,
  head: hashBytes("compacted"),
  tokens,
  usage: { inputTokens: 20, outputTokens: 10, costMicrousd: 1 },
  ...over,
});

/** One whole tool turn: the model proposes, the plan is allowed, the tool answers. */
export function toolTurn(
  attempt: number,
  call: ScriptedCall,
  { plan: over = {}, result = finished(call.id) }: { plan?: Partial<PlannedCall>; result?: RunEvent } = {},
): readonly RunEvent[] {
  return [answered(attempt, { calls: [call] }), planned([plan(call, over)]), result];
}

/** Many one-call turns in a row, each answered by its result. */
export function toolTurns(
  calls: readonly (ScriptedCall & { result?: RunEvent; over?: Partial<PlannedCall> })[],
): readonly RunEvent[] {
  return calls.flatMap(({ result, over, ...call }, index) =>
    toolTurn(index + 1, call, { result: result ?? finished(call.id), ...(over ? { plan: over } : {}) }),
  );
}

export const malformedResult = (id: string): EventOf<"tool.malformed"> => ({
  type: "tool.malformed",
  ...TIME,
  step: CURRENT,
  callId: asCallId(id),
  problem: "/ok must be boolean",
});

export const narrowed = (live: LivePolicy): EventOf<"policy.narrowed"> => ({ type: "policy.narrowed", ...TIME, live });

/** The kill switch, as live policy. */
export const NO_SIDE_EFFECTS: LivePolicy = {
  policy: { ...DEFAULT_TERMS.policy, sideEffects: "disabled" },
  capabilities: [],
};
/** Everything that acts asks first. */
export const ASKING: Partial<ContractTerms> = { policy: DEFAULT_TERMS.policy };

export const childOf = (id: string) => asRunId(`run_1_${id}`);

/** A delegated run with its share of the budget. */
export const delegation = (id: string, budget: CarvedBudget, over: Partial<PlannedCall> = {}): PlannedCall =>
  plan(
    { id, tool: "agent.delegate", args: id },
    { child: { runId: childOf(id), contractHash: hashBytes(`contract ${id}`), budget }, ...over },
  );

export const childFinished = (
  id: string,
  spent: CarvedBudget,
  over: Partial<EventOf<"child.finished">> = {},
): EventOf<"child.finished"> => ({
  type: "child.finished",
  ...TIME,
  step: CURRENT,
  callId: asCallId(id),
  childRunId: childOf(id),
  outcome: "COMPLETED_CHAT_ONLY",
  headHash: hashBytes(`head ${id}`),
  spent,
  response: okResponse(`report ${id}`),
  labels: USER_LABELS,
  tokens: 9,
  ...over,
});

/** The model proposes a batch and it is planned as given: the run acts on it now, or asks. */
export function batch(attempt: number, calls: readonly PlannedCall[]): readonly RunEvent[] {
  const proposed = calls.map(({ callId, tool, argsRef }) => ({ callId, tool, argsRef }));
  return [{ ...answered(attempt, {}), calls: proposed }, planned(calls)];
}

/** What more events make of a run. */
export function playOn(run: Played, events: readonly RunEvent[]): Played {
  let { state } = run;
  const entries = [...run.entries];
  const commands = [...run.commands];
  for (const event of events) {
    const result = step(state, addressed(state, event));
    state = result.state;
    entries.push(...result.entries);
    commands.push(result.commands);
  }
  return { state, entries, commands };
}

/** As COMMIT records calls that were not performed because the turn ended early, or by the rule that stood against it. */
export const notPerformed = (callIds: readonly string[], policyId: string | null = null) =>
  callIds.map((callId) => ({ callId, policyId }));

/** The event as it is recorded in this step. */
export const inStep = <E extends RunEvent>(step: number, event: E, round = 1): E => ({
  ...event,
  ...("step" in event ? { step } : {}),
  ...("round" in event ? { round } : {}),
});

/** The event with its step and round filled in where the script leaves them open. */
export function addressed<E extends RunEvent>(state: RunState, event: E): E {
  const round = state.phase.at === "VALIDATE_CALLS" ? state.phase.round : 1;
  return {
    ...event,
    ...("step" in event && event.step === CURRENT ? { step: state.step } : {}),
    ...("round" in event && event.round === CURRENT ? { round } : {}),
  };
}

/** Is this event not heard: the same state object, nothing recorded, nothing asked for? */
export function isIgnored({ state }: Played, event: RunEvent): boolean {
  const result = step(state, addressed(state, event));
  const isSilent = result.commands.length === 0 && result.entries.length === 0 && result.defect === null;
  return result.state === state && isSilent;
}

export const commandTypes = ({ commands }: Played): readonly string[] => commands.flat().map(({ type }) => type);
export const lastTypes = (run: Played): readonly string[] => lastCommands(run).map(({ type }) => type);

export function commandsOf<T extends Command["type"]>({ commands }: Played, type: T): Extract<Command, { type: T }>[] {
  return commands.flat().filter((command): command is Extract<Command, { type: T }> => command.type === type);
}

/** An event as an entry's result shows it. */
export function untimed<E extends RunEvent>({ ts: _ts, elapsedMs: _elapsedMs, ...answer }: E) {
  return answer;
}
