/**
 * The simulated driver's hands: a command becomes something on the agenda, answered by the world.
 *
 * P1. A child exists from the moment its parent's intent is durable, and lives on when the parent's process dies.
 * P2. `stop-work` ends what the run no longer waits for, and asks what it still waits for to come to an end.
 */
import type { Answer, Entry } from "../../src/kernel/journal/entry.ts";
import type { Command } from "../../src/kernel/machine/command.ts";
import { adapterFor } from "../../src/kernel/protocol/adapter-for.ts";
import { canonicalJson } from "../../src/kernel/vocabulary/canonical-json.ts";
import { Defect } from "../../src/kernel/vocabulary/defect.ts";
import { hashCanonical } from "../../src/kernel/vocabulary/hash.ts";
import { asApprovalId, asCallId, type CallId } from "../../src/kernel/vocabulary/identifiers.ts";
import { USER_LABELS } from "../../src/kernel/vocabulary/labels.ts";
import { parseToolResponse } from "../../src/kernel/vocabulary/tool-envelope.ts";
import { truncateOutput } from "../../src/kernel/vocabulary/truncate-output.ts";
import type { Appointment } from "./agenda.ts";
import { derive } from "./random.ts";
import { intentKey, type Scene } from "./scene.ts";
import { type ModelReply, modelReply } from "./simulated-model.ts";
import { approvalReply, resolutionReply } from "./simulated-operator.ts";
import { childReply, planCall, stopReply, toolNamed, toolReply } from "./simulated-tools.ts";

type CommandOf<Type extends Command["type"]> = Extract<Command, { type: Type }>;
type AnswerOf<Type extends Answer["type"]> = Extract<Answer, { type: Type }>;

export function performCommand(scene: Scene, command: Command): void {
  const perform = PERFORMERS[command.type] as (scene: Scene, command: Command) => void;
  perform(scene, command);
}

const PERFORMERS: { readonly [Type in Command["type"]]: (scene: Scene, command: CommandOf<Type>) => void } = {
  "check-backend": checkBackend,
  "call-model": callModel,
  compact,
  "plan-calls": planCalls,
  "ask-approval": (scene, command) => {
    if (command.kind === "approve") askApproval(scene, command);
    else askResolution(scene, command);
  },
  "run-tool": runTool,
  "stop-work": stopWork,
  // The child came to be with its intent, and the answer went out with TERMINATE.
  "spawn-child": () => {},
  finish: () => {},
};

function appoint(
  scene: Scene,
  kind: Appointment["kind"],
  afterMs: number,
  callId: CallId | null,
  answer: () => Answer,
): void {
  scene.agenda.put({ kind, dueMs: scene.nowMs + afterMs, turn: scene.state.step, callId, answer });
}

function reply(scene: Scene, afterMs: number, answer: () => Answer): void {
  appoint(scene, "reply", afterMs, null, answer);
}

function checkBackend(scene: Scene): void {
  const { backend } = scene.world;
  if (backend === "hanging") return;
  const responsive = backend === "responsive";
  reply(scene, 3, () => ({ type: "backend.checked", responsive, detail: responsive ? "" : "refused" }));
}

function callModel(scene: Scene, { attempt, mode, tools, maxOutputTokens, delayMs }: CommandOf<"call-model">): void {
  const { prompt, step: turn } = scene.state;
  const answer = modelReply(scene.world, { attempt, turn, mode, tools, maxOutputTokens, promptTokens: prompt.tokens });
  if (answer.kind === "hangs") return;
  reply(scene, delayMs + answer.afterMs, () => {
    if (answer.kind === "answers") return modelAnswered(scene, attempt, answer);
    const { code, retryable, retryAfterMs, usage } = answer;
    return { type: "model.failed", attempt, code, retryable, retryAfterMs, usage };
  });
}

function modelAnswered(scene: Scene, attempt: number, reply: Extract<ModelReply, { kind: "answers" }>): Answer {
  const { contract } = scene.world;
  const adapter = adapterFor(contract.adapterVersion);
  if (adapter === null) throw new Defect("preflight let an unknown adapter pass");
  const adapted = adapter.adapt(reply.raw, contract.strictMode ? "strict" : "lenient");
  const { canonicalMessage: message, notes } = adapted;
  const { keep } = scene.bodies;
  const calls = (message?.toolCalls ?? []).map((call) => ({
    callId: asCallId(call.id),
    tool: call.name,
    argsRef: keep(canonicalJson(call.arguments)),
  }));
  return {
    type: "model.answered",
    attempt,
    rawHash: adapted.rawHash,
    adapter: { status: adapted.status, failureCode: adapted.failureCode, version: adapted.adapterVersion },
    messageRef: message === null ? null : keep(canonicalJson(message)),
    textRef: message === null || message.content.trim() === "" ? null : keep(message.content),
    calls,
    notes: notes && {
      status: notes.status === "parsed" ? "applied" : "malformed",
      ref: notes.status === "parsed" ? keep(canonicalJson(notes.patch)) : null,
      actions: notes.status === "parsed" ? notes.patch.actions.map((action) => ({ action, status: "denied" })) : [],
    },
    usage: reply.usage,
    tokens: reply.tokens,
    stopReason: reply.raw.stopReason,
    fingerprint: reply.raw.model,
    stream: { chunks: 1, chars: reply.raw.content.length, firstMs: 1, lastMs: reply.afterMs },
  };
}

function compact(scene: Scene, { step, promptHead, targetTokens }: CommandOf<"compact">): void {
  const { seed, compaction, model } = scene.world;
  if (compaction === "hanging") return;
  const { tokens } = scene.state.prompt;
  const random = derive(seed, "compaction", scene.state.step);
  const usage = { inputTokens: random.below(80), outputTokens: random.below(40), costMicrousd: model.microusdPerToken };
  reply(scene, random.between(5, 150), () => ({
    type: "context.compacted",
    step,
    succeeded: compaction !== "failing",
    head: hashCanonical(["compacted", promptHead]),
    tokens: compaction === "good" ? Math.min(tokens, targetTokens) : tokens,
    usage,
  }));
}

function planCalls(scene: Scene, { step, round, calls }: CommandOf<"plan-calls">): void {
  const { state, world, bodies, generations } = scene;
  const generation = generations.get(state.step) ?? 0;
  generations.set(state.step, generation + 1);
  reply(scene, derive(world.seed, "plan", state.step).between(1, 20), () => ({
    type: "calls.planned",
    step,
    round,
    calls: calls.map((call, index) => planCall(world, state, call, index, generation, bodies)),
  }));
}

function askApproval(scene: Scene, { callId, planHash, isRetry }: CommandOf<"ask-approval">): void {
  const { world, approvals, happenings } = scene;
  const turn = scene.state.step;
  const key = intentKey(turn, callId, planHash) + (isRetry ? ` ${scene.state.chain.seq}` : "");
  const decided = approvals.get(key);
  if (decided !== undefined) {
    // What was decided before a crash is told first, in the order in which it was decided.
    reply(scene, [...approvals.keys()].indexOf(key) - approvals.size, () => decided);
    return;
  }
  const { afterMs, decision } = approvalReply(world, turn, callId, planHash);
  reply(scene, afterMs, () => {
    const approvalId = asApprovalId(`approval_${hashCanonical([world.runId, key]).slice(0, 16)}`);
    const answer = {
      type: "approval.decided",
      step: turn,
      approvalId,
      callId,
      planHash,
      decision,
      by: "operator",
    } as const;
    approvals.set(key, answer);
    happenings.push({ kind: "approved", turn, callId, planHash, approvalId, decision });
    return answer;
  });
}

function askResolution(scene: Scene, { aboutRun, callId, planHash }: CommandOf<"ask-approval">): void {
  const { world, performed, happenings } = scene;
  const turn = scene.state.step;
  const happened = performed.has(intentKey(turn, callId, planHash));
  const { afterMs, decision } = resolutionReply(world, turn, callId, happened);
  if (aboutRun) {
    reply(scene, afterMs, () => ({ type: "restore.resolved", step: turn, decision, by: "operator" }));
    return;
  }
  reply(scene, afterMs, () => {
    happenings.push({ kind: "resolved", turn, callId, decision });
    return { type: "effect.resolved", step: turn, callId, decision, by: "operator", tokens: 12 };
  });
}

function runTool(scene: Scene, command: CommandOf<"run-tool">): void {
  const { world, state, bodies } = scene;
  const { callId, argsRef } = command;
  const turn = state.step;
  const tool = toolNamed(world, command.tool);
  if (tool === undefined) throw new Defect(`no such tool: ${command.tool}`);
  scene.performed.delete(intentKey(turn, callId, command.planHash));
  const { effectAfterMs, afterMs, envelope } = toolReply(world, tool, turn, callId, argsRef);
  if (effectAfterMs !== null) {
    const happen = (): void => takeEffect(scene, turn, command);
    scene.agenda.put({ kind: "effect", dueMs: scene.nowMs + effectAfterMs, turn, callId, happen });
  }
  if (afterMs !== null) {
    appoint(scene, "result", afterMs, callId, () => toolAnswered(scene, command, envelope, tool.labels, bodies.keep));
  }
}

/** A tool that takes a key does nothing the second time. */
function takeEffect(scene: Scene, turn: number, command: CommandOf<"run-tool">): void {
  const { callId, planHash, tool, idempotencyKey } = command;
  scene.performed.add(intentKey(turn, callId, planHash));
  if (idempotencyKey !== null && scene.keysSeen.has(idempotencyKey)) return;
  if (idempotencyKey !== null) scene.keysSeen.add(idempotencyKey);
  const idempotency = toolNamed(scene.world, tool)?.idempotency ?? "opaque";
  scene.happenings.push({ kind: "performed", effect: { turn, callId, planHash, tool, idempotency, idempotencyKey } });
}

/** The tool boundary: what is no envelope is malformed, and an output is cut before anybody sees it. */
function toolAnswered(
  scene: Scene,
  { step, callId }: CommandOf<"run-tool">,
  envelope: unknown,
  labels: AnswerOf<"tool.finished">["labels"],
  keep: Scene["bodies"]["keep"],
): Answer {
  const parsed = parseToolResponse(envelope);
  if (!parsed.ok) return { type: "tool.malformed", step, callId, problem: parsed.problem };
  const { response } = parsed;
  if (!response.ok) {
    const { code, retryable, message } = response.error;
    const error = { code, retryable, messageRef: keep(message) };
    const failed = {
      ok: false,
      outputRef: null,
      outputBytes: 0,
      truncated: false,
      error,
      durationMs: response.durationMs,
    };
    return { type: "tool.finished", step, callId, response: failed, labels, tokens: 16 };
  }
  const { maxBytesPerCall, truncationMarker } = scene.world.contract.toolOutputBudget;
  const whole = typeof response.output === "string" ? response.output : canonicalJson(response.output);
  const { text, bytes, truncated } = truncateOutput(whole, maxBytesPerCall, truncationMarker);
  const { durationMs } = response;
  const done = { ok: true, outputRef: keep(text), outputBytes: bytes, truncated, error: null, durationMs };
  return { type: "tool.finished", step, callId, response: done, labels, tokens: Math.ceil(bytes / 4) };
}

/** In the transaction that makes a parent's intent durable its child is inserted (P1). */
export function insertChildren(scene: Scene, entries: readonly Entry[]): void {
  for (const entry of entries) {
    if (entry.kind !== "EXECUTE" || entry.decided.child === null) continue;
    const { callId, child } = entry.decided;
    const { step } = scene.state;
    const { afterMs, ...ending } = childReply(scene.world, step, callId);
    appoint(scene, "child", afterMs, callId, () => childFinished(scene, { step, callId }, child, ending));
  }
}

const CHILD_OUTPUT = "child done";

type ChildEnding = Pick<ReturnType<typeof childReply>, "outcome" | "inferencesPercent" | "tokensPercent">;
type Child = NonNullable<Extract<Entry, { kind: "EXECUTE" }>["decided"]["child"]>;

function childFinished(
  scene: Scene,
  asked: { readonly step: number; readonly callId: CallId },
  child: Child,
  ending: ChildEnding,
): Answer {
  const { outcome, inferencesPercent, tokensPercent } = ending;
  const { inferences, tokens, spendMicrousd } = child.budget;
  const share = (whole: number, percent: number): number => Math.floor((whole * percent) / 100);
  const ok = outcome.startsWith("COMPLETED_");
  const error = ok
    ? null
    : { code: "internal.error" as const, retryable: false, messageRef: scene.bodies.keep(outcome) };
  return {
    type: "child.finished",
    ...asked,
    childRunId: child.runId,
    outcome,
    headHash: hashCanonical([child.runId, outcome]),
    spent: {
      inferences: share(inferences, inferencesPercent),
      tokens: share(tokens, tokensPercent),
      spendMicrousd: share(spendMicrousd, tokensPercent),
    },
    response: {
      ok,
      outputRef: ok ? scene.bodies.keep(CHILD_OUTPUT) : null,
      outputBytes: ok ? CHILD_OUTPUT.length : 0,
      truncated: false,
      error,
      durationMs: 1,
    },
    labels: USER_LABELS,
    tokens: 20,
  };
}

function stopWork(scene: Scene): void {
  const { state, world, agenda, nowMs } = scene;
  const { phase, step: turn } = state;
  const awaited = phase.at === "OBSERVE" ? phase.inFlight.map((call) => call.callId) : [];
  const isStopping = phase.at === "OBSERVE" && phase.stopping !== null;
  agenda.revise((item) => {
    if (item.kind === "reply" || item.callId === null) return null;
    const isAwaited = item.turn === turn && awaited.includes(item.callId);
    if (isAwaited && !isStopping) return item;
    if (item.kind === "child") return isAwaited ? { ...item, dueMs: Math.min(item.dueMs, nowMs + 40) } : null;
    switch (stopReply(world, item.turn, item.callId)) {
      case "dies":
        return null;
      case "reports":
        return isAwaited ? { ...item, dueMs: Math.min(item.dueMs, nowMs + 30) } : null;
      case "ignores":
        return item;
    }
  });
}
