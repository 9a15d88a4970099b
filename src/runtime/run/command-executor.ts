/**
 * The driver's executor: each command is carried out through a port and answered with an event.
 *
 * N1. A command is performed for the state it was given in; an answer that comes too late is not heard by the machine.
 * N2. Where a limit applies, nothing goes to a model without a granted reservation.
 * N3. A call is run from the plan that was decided about. After a restart it is planned again; where the plan has
 *     changed since (perhaps because the call was done), the tool may say that it was done, and must not act. One that
 *     was never begun is refused.
 * N4. A call that was let through under a policy which has become narrower since, and now denies it, is not begun.
 * N5. A call that an approval allowed is begun before that expires, or not at all: the machine is told in time.
 */
import type { Answer, InferMode } from "../../kernel/journal/entry.ts";
import type { EventOf } from "../../kernel/journal/event.ts";
import type { Command } from "../../kernel/machine/command.ts";
import { objectionNow } from "../../kernel/machine/decide-now.ts";
import type { RunState } from "../../kernel/machine/state.ts";
import type { DisclosureGuard } from "../../kernel/redaction/disclosure-guard.ts";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import type { ApprovalId, CallId } from "../../kernel/vocabulary/identifiers.ts";
import type { Labels } from "../../kernel/vocabulary/labels.ts";
import type { ThinkingLevel } from "../../kernel/vocabulary/thinking-level.ts";
import type { Approvals } from "../approvals/approvals.ts";
import { showQuestion } from "../approvals/show-question.ts";
import type { Authority } from "../capabilities/authority.ts";
import { modelAnswer, modelRequest } from "../model/call-model.ts";
import { ESTIMATED_TOKENS } from "../model/estimate-tokens.ts";
import { releaseText } from "../model/release-text.ts";
import type { ConfiguredModel } from "../ports/model-backend.ts";
import { type StoredRun, StoreError, type Write } from "../ports/store.ts";
import type { RegisteredTool } from "../ports/toolbox.ts";
import type { RunPorts } from "../run-ports.ts";
import type { SpendAccount } from "../spend/spend-account.ts";
import type { CallResult } from "../tools/format-tool-result.ts";
import { takeHoneypotSlot } from "../tools/honeypot-slot.ts";
import { type PlanningDependencies, type PreparedCall, planAgain, planCalls } from "../tools/plan-calls.ts";
import { refusedByRuntime, toolAnswer } from "../tools/read-tool-response.ts";
import { releaseOutput } from "../tools/release-output.ts";
import type { BodyCache } from "./body-cache.ts";
import { childFinished } from "./children.ts";
import { type Conversation, noteOf } from "./conversation.ts";
import { pause } from "./pause.ts";
import { readBodiesOf, readWholeJournal } from "./read-run.ts";
import type { RunObserver } from "./run-observer.ts";

type CommandOf<Type extends Command["type"]> = Extract<Command, { type: Type }>;

export interface ExecutorDependencies {
  readonly ports: RunPorts;
  readonly run: StoredRun;
  readonly bodyCache: BodyCache;
  readonly conversation: Conversation;
  readonly account: SpendAccount;
  readonly authority: Authority;
  readonly approvals: Approvals;
  readonly guard: DisclosureGuard;
  readonly model: ConfiguredModel | null;
  /** How much the model is asked to think; null: as it sees fit. */
  readonly effort: ThinkingLevel | null;
  readonly observer: RunObserver;
}

export class CommandExecutor {
  readonly #parts: ExecutorDependencies;
  /** What was planned for the batch at hand. */
  #prepared: ReadonlyMap<CallId, PreparedCall> = new Map();
  /** In flight when this life of the process began: they may have been done. */
  #begunBefore: ReadonlySet<CallId> = new Set();
  /** Of the batch at hand, in this life: somebody may say that one is to be done again. */
  readonly #begun = new Set<CallId>();
  /** Until when the run's approvals may be used. */
  #deadlines: ReadonlyMap<ApprovalId, number> = new Map();
  readonly #countTokens: (text: string) => number;
  #offered: { readonly names: readonly string[]; readonly tools: readonly RegisteredTool[] } | null = null;

  constructor(parts: ExecutorDependencies) {
    this.#parts = parts;
    const { count } = parts.model?.tokens ?? ESTIMATED_TOKENS;
    this.#countTokens = count;
  }

  /** The event that answers the command; null when it is answered otherwise, or not at all any more. */
  perform(command: Command, state: RunState, signal: AbortSignal): Answer | Promise<Answer | null> {
    switch (command.type) {
      case "check-backend":
        return this.#checkBackend(signal);
      case "call-model":
        return this.#callModel(command, state, signal);
      case "compact":
        return nothingCompacted(command, state);
      case "plan-calls":
        return this.#planCalls(command, state);
      case "run-tool":
        return this.#runTool(command, state, signal);
      case "spawn-child":
        return this.#awaitChild(command, state);
      default:
        throw new Defect(`not for executor: ${command.type}`);
    }
  }

  /** A resumed run has calls that were decided about, and of which no plan is left. */
  async prepareAgain(state: RunState): Promise<void> {
    const { phase } = state;
    if (phase.at !== "OBSERVE") return;
    const calls = [...phase.inFlight, ...phase.waiting];
    const prepared = await Promise.all(calls.map((call) => planAgain(this.#planning(), state, call)));
    this.#prepared = new Map(prepared.map((each) => [each.call.callId, each]));
    this.#begunBefore = new Set(phase.inFlight.map(({ callId }) => callId));
    if (approvedCalls(state).length > 0) await this.#learnDeadlines();
  }

  async askApprovals(questions: readonly CommandOf<"ask-approval">[], state: RunState): Promise<readonly Answer[]> {
    const { approvals, run, bodyCache } = this.#parts;
    const asked = questions.map((question) => this.#questionOf(question, state));
    const answers = await approvals.ask(run, asked, bodyCache);
    if (answers.some((answer) => answer.type === "approval.decided" && answer.decision === "allow")) {
      await this.#learnDeadlines();
    }
    return answers;
  }

  async #learnDeadlines(): Promise<void> {
    const { approvals, run } = this.#parts;
    this.#deadlines = await approvals.deadlinesOf(run.runId);
  }

  /** What has to be told before anything else is: approvals whose time is over, of calls that have not begun. */
  lapsedApprovals(state: RunState, nowMs: number): readonly Answer[] {
    const approved = approvedCalls(state);
    if (approved.length === 0) return [];
    // Asked this way round, a deadline that nobody knows has passed.
    const isInTime = (id: ApprovalId): boolean => nowMs < (this.#deadlines.get(id) ?? 0);
    return approved
      .filter(({ approvalId }) => !isInTime(approvalId))
      .map((call) => ({ type: "approval.decided", step: state.step, ...call, decision: "expired", by: "system" }));
  }

  /** The writes that bring a child into being, for the transaction of its intent. */
  writesOfChild(callId: CallId): readonly Write[] {
    return this.#prepared.get(callId)?.child?.writes ?? [];
  }

  async #checkBackend(signal: AbortSignal): Promise<Answer> {
    const { model, run } = this.#parts;
    if (model === null) {
      return { type: "backend.checked", responsive: false, detail: `${run.model} is not configured` };
    }
    const { responsive, detail } = await model.backend.check(signal);
    return { type: "backend.checked", responsive, detail };
  }

  async #callModel(command: CommandOf<"call-model">, state: RunState, signal: AbortSignal): Promise<Answer | null> {
    const { ports, model, effort, conversation, observer, guard, bodyCache, authority } = this.#parts;
    if (model === null) return failedBefore(command, "provider.not-configured");
    const refused = await this.#reserve(command, state);
    if (refused !== null) return refused;
    if (command.delayMs > 0) await pause(ports.clock, command.delayMs, signal);
    if (signal.aborted) return null;
    const { redactor } = ports;
    const request = modelRequest(
      model,
      command,
      state,
      conversation.messages(command.mode),
      this.#offer(command.tools),
      effort,
    );
    const isGated = state.contract.tokenGate && state.budget.performed === 0;
    const release =
      observer.hasReaders() && !isGated
        ? releaseText(command.attempt, guard, redactor, (delta) => observer.delta(delta))
        : null;
    const reply = await model.backend.complete(request, { signal, onText: release?.push ?? null });
    if (reply.ok) release?.finish();
    const context = { model, contract: state.contract, effort, redactor, guard, authority, bodyCache };
    return signal.aborted ? null : modelAnswer(context, command, state.prompt.tokens, reply);
  }

  /** The same list as long as the same tools are asked for: whoever writes it down does so once. */
  #offer(names: readonly string[]): readonly RegisteredTool[] {
    if (this.#offered?.names !== names) {
      const all = this.#parts.ports.toolbox.tools;
      const some = all.filter(({ name }) => names.includes(name));
      this.#offered = { names, tools: some.length === all.length ? all : some };
    }
    return this.#offered.tools;
  }

  /** Null when the attempt may go out; otherwise what stands against it. */
  async #reserve(command: CommandOf<"call-model">, state: RunState): Promise<Answer | null> {
    const { ports, account } = this.#parts;
    if (account.isUnpayable) return failedBefore(command, "budget.spend");
    const { attempt, mode, maxOutputTokens } = command;
    const inputTokens = state.prompt.tokens + this.#tokensOfNote(mode);
    const reservation = account.reserve(attempt, { inputTokens, outputTokens: maxOutputTokens });
    if (reservation === null) return null;
    const { spend } = await ports.store.commit([reservation], "barrier");
    if (spend?.granted === false) {
      const { scope, by: unit, needed, left } = spend;
      const code = unit === "tokens" ? "budget.tokens" : "budget.spend";
      return failedBefore(command, code, { refusedBy: { scope, unit, needed, left } });
    }
    account.grant(reservation);
    return null;
  }

  /** An instruction of the mode is sent beside the prompt, and not kept in it. */
  #tokensOfNote(mode: InferMode): number {
    const note = noteOf(mode);
    return note === null ? 0 : this.#countTokens(note);
  }

  async #planCalls({ step, round, calls }: CommandOf<"plan-calls">, state: RunState): Promise<Answer> {
    const prepared = await this.#withExceptions(await planCalls(this.#planning(), state, calls), state);
    this.#prepared = new Map(prepared.map((each) => [each.call.callId, each]));
    this.#begunBefore = new Set();
    this.#begun.clear();
    return { type: "calls.planned", step, round, calls: prepared.map(({ call }) => call) };
  }

  /** One after the other: an earlier send of a batch counts for a later one. */
  async #withExceptions(all: readonly PreparedCall[], state: RunState): Promise<readonly PreparedCall[]> {
    const { ports, run } = this.#parts;
    const excepted: PreparedCall[] = [];
    for (const prepared of all) {
      const { call, planned } = prepared;
      const send = planned?.send ?? null;
      const honeypot = send !== null && (await takeHoneypotSlot(ports, run.runId, state, call, send));
      excepted.push(send === null ? prepared : { ...prepared, call: { ...call, honeypot } });
    }
    return excepted;
  }

  async #runTool(command: CommandOf<"run-tool">, state: RunState, signal: AbortSignal): Promise<Answer> {
    const { ports, run, bodyCache, observer } = this.#parts;
    const context = {
      contract: state.contract,
      redactor: ports.redactor,
      keep: (text: string) => bodyCache.keep(text),
      tokensOf: (outcome: CallResult) => this.#tokensTold(command, state, outcome),
    };
    const prepared = this.#prepared.get(command.callId);
    const planned = prepared?.planned ?? null;
    if (planned === null) {
      const message = "What this call would do cannot be planned any more; it was not run again.";
      return refusedByRuntime(context, command, state.labels, "policy.denied", message);
    }
    const isAsDecided = prepared?.call.planHash === command.planHash;
    const isRepeat = this.#begunBefore.has(command.callId);
    if (!isAsDecided && !isRepeat) {
      const message = "What this call would do has changed since it was decided about; it was not run.";
      return refusedByRuntime(context, command, state.labels, "policy.denied", message);
    }
    const isBegun = isRepeat || this.#begun.has(command.callId);
    if (!isBegun && this.#hasLapsed(command)) {
      const message = "The approval of this call expired before it began; it was not run.";
      return refusedByRuntime(context, command, state.labels, "policy.denied", message);
    }
    if (this.#isForbiddenByNow(command, state)) {
      const message = "What allowed this call was taken back before it began; it was not run.";
      return refusedByRuntime(context, command, state.labels, "policy.denied", message);
    }
    this.#begun.add(command.callId);
    // Elsewhere nothing partial of a tool is ever told (P-3.4).
    const release =
      observer.hasReaders() && state.contract.channelClass === "cli_local"
        ? releaseOutput(command, ports.redactor, (output) => observer.output(output))
        : null;
    const envelope = await ports.toolbox.run(planned, {
      requestId: `${run.runId}:${command.step}:${command.callId}`,
      runId: run.runId,
      agentId: run.agentId,
      timeoutMs: command.timeoutMs,
      idempotencyKey: command.idempotencyKey,
      isRepeat,
      mayAct: isAsDecided || planned.idempotency === "read_only",
      seen: seenBy(command, state),
      signal,
      onOutput: release?.push ?? null,
    });
    release?.finish();
    return toolAnswer(context, command, planned, envelope);
  }

  /** Its intent took a moment to become durable, and that may have been too long for its approval. */
  #hasLapsed({ approvalId }: CommandOf<"run-tool">): boolean {
    return approvalId !== null && this.#parts.ports.clock.nowMs() >= (this.#deadlines.get(approvalId) ?? 0);
  }

  /** Its intent took a moment to become durable, and the machine has not been told of what happened in it. */
  #isForbiddenByNow({ callId }: CommandOf<"run-tool">, state: RunState): boolean {
    const live = this.#parts.authority.unreported;
    const { phase } = state;
    if (live === null || phase.at !== "OBSERVE") return false;
    const call = phase.inFlight.find((each) => each.callId === callId);
    return call !== undefined && objectionNow({ ...state, live }, call) !== null;
  }

  #planning(): PlanningDependencies {
    const { ports, run, bodyCache } = this.#parts;
    const { toolbox, delegate } = ports;
    return { run, toolbox, delegate, readJson: (ref) => bodyCache.readJson(ref), keep: (text) => bodyCache.keep(text) };
  }

  async #awaitChild(command: CommandOf<"spawn-child">, state: RunState): Promise<Answer | null> {
    const { ports, bodyCache, observer } = this.#parts;
    const { runId } = command.child;
    const child = await ports.store.findRun(runId);
    if (child === null) throw new StoreError("store.corrupt", `the delegated run ${runId} is missing`);
    if (child.outcome === null) {
      observer.awaitedChild(runId);
      return null;
    }
    const { entries } = await readWholeJournal(ports.store, runId);
    const bodies = await readBodiesOf(ports.store, child, entries);
    return childFinished(
      command,
      state,
      entries,
      (ref) => bodies.get(ref)?.text ?? null,
      (text) => bodyCache.keep(text),
      (outcome) => this.#tokensTold(command, state, outcome),
    );
  }

  /** What shares a result is told the same under its own id: the longest of them is counted for each. */
  #tokensTold({ callId }: { readonly callId: CallId }, { phase }: RunState, outcome: CallResult): number {
    const call = phase.at === "OBSERVE" ? phase.inFlight.find((each) => each.callId === callId) : undefined;
    const { tool = "", sharedBy = [] } = call ?? {};
    const longest = sharedBy.reduce((id, other) => (other.length > id.length ? other : id), callId);
    return this.#countTokens(this.#parts.conversation.preformat({ callId: longest, tool }, outcome));
  }

  #questionOf(question: CommandOf<"ask-approval">, { phase, chain }: RunState) {
    const prepared = this.#prepared.get(question.callId);
    const inFlight =
      phase.at === "OBSERVE" ? phase.inFlight.find(({ callId }) => callId === question.callId) : undefined;
    const call = prepared?.call ?? inFlight;
    if (call === undefined) throw new Defect("a question about no call");
    const { bodyCache, conversation } = this.#parts;
    const planned = prepared?.planned ?? null;
    const plan = planned?.shown ?? `${call.tool} ${bodyCache.read(call.argsRef) ?? "[erased]"}`;
    const isResolving = question.kind === "resolve" || planned === null;
    const shown = isResolving ? plan : showQuestion(planned, conversation.untrusted);
    return { question, tool: call.tool, shown, seq: chain.seq };
  }
}

/** The labels of the context that proposed the call. */
function seenBy({ callId }: CommandOf<"run-tool">, { phase, labels }: RunState): Labels {
  const call = phase.at === "OBSERVE" ? phase.inFlight.find((each) => each.callId === callId) : undefined;
  return call?.seen ?? labels;
}

type ApprovedCall = Pick<Extract<Answer, { type: "approval.decided" }>, "approvalId" | "callId" | "planHash">;

/** Calls that a person allowed, and that have not begun. */
function approvedCalls({ phase }: RunState): readonly ApprovedCall[] {
  if (phase.at === "OBSERVE") return phase.waiting.filter(({ hasLapsed }) => !hasLapsed).flatMap(toApprovedCall);
  if (phase.at !== "VALIDATE_CALLS") return [];
  return phase.verdicts.flatMap((verdict, index) => {
    const call = phase.planned?.[index];
    if (call === undefined || verdict.kind !== "allowed") return [];
    return toApprovedCall({ ...call, approvalId: verdict.approvalId });
  });
}

function toApprovedCall({
  approvalId,
  callId,
  planHash,
}: Omit<ApprovedCall, "approvalId"> & { readonly approvalId: ApprovalId | null }): readonly ApprovedCall[] {
  return approvalId === null ? [] : [{ approvalId, callId, planHash }];
}

const NO_USAGE = { inputTokens: 0, outputTokens: 0, costMicrousd: 0 };

/** Nothing here can summarise yet: the machine goes on to wrap up instead. */
function nothingCompacted({ step, promptHead }: CommandOf<"compact">, state: RunState): Answer {
  const { tokens } = state.prompt;
  return { type: "context.compacted", step, succeeded: false, head: promptHead, tokens, usage: NO_USAGE };
}

type Refused = Pick<EventOf<"model.failed">, "refusedBy">;

function failedBefore({ attempt }: CommandOf<"call-model">, code: string, also: Refused = {}): Answer {
  return { type: "model.failed", attempt, code, retryable: false, retryAfterMs: 0, usage: NO_USAGE, ...also };
}
