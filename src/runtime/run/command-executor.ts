/**
 * CommandExecutor owns the ports of one run: model, tools, approvals, children and spending reservations. It answers each
 * command with an event. When a command is performed is RunDriver's to decide, what is durable by then RunJournal's.
 *
 * N1. A command is performed for the state it was issued in; the machine ignores an answer that comes too late.
 * N2. Where a limit applies, nothing goes to a model without a granted reservation.
 * N3. A call runs from the plan that was decided. After a restart it is planned again; if the plan has changed since, the
 *     tool may report that it was performed but must not act. A call that had not started is refused.
 * N4. A call does not start under a policy that denies it by now, or an approval that has expired.
 */
import type { Answer, InferMode } from "../../kernel/journal/entry.ts";
import type { EventOf } from "../../kernel/journal/event.ts";
import type { Command } from "../../kernel/machine/command.ts";
import { isReviewed } from "../../kernel/machine/commit.ts";
import { explainNow, objectionNow } from "../../kernel/machine/decide-now.ts";
import { inFlightCall } from "../../kernel/machine/outstanding.ts";
import type { RunState } from "../../kernel/machine/state.ts";
import type { DisclosureGuard } from "../../kernel/redaction/disclosure-guard.ts";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import type { CallId, RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { ThinkingLevel } from "../../kernel/vocabulary/thinking-level.ts";
import { ApprovalDeadlines } from "../approvals/approval-deadlines.ts";
import type { Approvals } from "../approvals/approvals.ts";
import { askedCall, NO_BACKGROUND } from "../approvals/question-background.ts";
import { askedAfterRestore, showQuestion } from "../approvals/show-question.ts";
import type { Authority } from "../capabilities/authority.ts";
import { notedIn, type SessionCheckpoint } from "../checkpoint/session-checkpoint.ts";
import { modelAnswer, modelRequest, unknownAdapter } from "../model/call-model.ts";
import { ESTIMATED_TOKENS } from "../model/estimate-tokens.ts";
import { beginCall, type CallFacts } from "../model/model-call.ts";
import { LiveText } from "../model/release-text.ts";
import { pause, timestampOf } from "../ports/clock.ts";
import type { ConfiguredModel } from "../ports/model-backend.ts";
import { type StoredRun, StoreError, type Write } from "../ports/store.ts";
import type { RegisteredTool } from "../ports/toolbox.ts";
import type { RunPorts } from "../run-ports.ts";
import type { SpendAccount } from "../spend/spend-account.ts";
import { type CallResult, formatToolResult } from "../tools/format-tool-result.ts";
import { takeHoneypotSlot } from "../tools/honeypot-slot.ts";
import { askingRun, type PlanningDependencies, type PreparedCall, planAgain, planCalls } from "../tools/plan-calls.ts";
import { refusedByRuntime, requestIdOf, toolAnswer } from "../tools/read-tool-response.ts";
import { releaseOutput } from "../tools/release-output.ts";
import { type SummarizerContext, summarizerOf } from "../tools/summarize-output.ts";
import { readAcceptance } from "./acceptance.ts";
import type { BodyCache } from "./body-cache.ts";
import { childFinished } from "./children.ts";
import { compactPrompt } from "./compact-prompt.ts";
import { type Conversation, noteOf } from "./conversation.ts";
import { readBodiesOf, readWholeJournal } from "./read-run.ts";
import type { ReplyBatcher } from "./reply-batcher.ts";
import type { RunBroadcaster } from "./run-broadcaster.ts";

type CommandOf<Type extends Command["type"]> = Extract<Command, { type: Type }>;

export interface ExecutorDependencies {
  readonly ports: RunPorts;
  readonly run: StoredRun;
  readonly bodyCache: BodyCache;
  readonly conversation: Conversation;
  readonly account: SpendAccount;
  readonly authority: Authority;
  readonly checkpoint: SessionCheckpoint;
  readonly approvals: Approvals;
  readonly guard: DisclosureGuard;
  readonly model: ConfiguredModel | null;
  /** The contract's summarizer, and what it is instructed; null: none. */
  readonly summarizer: Omit<SummarizerContext, "ports" | "account"> | null;
  /** Null: the provider's default. */
  readonly effort: ThinkingLevel | null;
  readonly replies: ReplyBatcher;
  readonly broadcaster: RunBroadcaster;
  readonly children: ChildRuns;
  /** False for a compaction: what it reads is not said to it. */
  readonly takesNotes: boolean;
  readonly onModelCall: (call: CallFacts) => void;
}

/** How a run reaches the queue for its children. */
export interface ChildRuns {
  /** The child is stored and may start, or resume. */
  start(runId: RunId): void;
  cancel(runId: RunId, parentRunId: RunId): void;
}

export class CommandExecutor {
  readonly #parts: ExecutorDependencies;
  /** The plans of the current batch. */
  #prepared: ReadonlyMap<CallId, PreparedCall> = new Map();
  /** In flight when the run was resumed: they may have been performed. */
  #inFlightAtResume: ReadonlySet<CallId> = new Set();
  /** Calls of the current batch started since; an operator may let one be retried. */
  readonly #started = new Set<CallId>();
  readonly #deadlines: ApprovalDeadlines;
  readonly #countTokens: (text: string) => number;
  #offered: { readonly names: readonly string[]; readonly tools: readonly RegisteredTool[] } | null = null;

  constructor(parts: ExecutorDependencies) {
    this.#parts = parts;
    const { count } = parts.model?.tokens ?? ESTIMATED_TOKENS;
    this.#countTokens = count;
    this.#deadlines = new ApprovalDeadlines(parts.ports.store, parts.run.runId);
  }

  /** The event that answers the command; null when none is due, or the command was aborted. */
  perform(command: Command, state: RunState, signal: AbortSignal): Answer | Promise<Answer | null> {
    switch (command.type) {
      case "check-backend":
        return this.#checkBackend(signal);
      case "call-model":
        return this.#callModel(command, state, signal);
      case "compact":
        return compactPrompt(this.#parts.conversation, command, state, this.#countTokens);
      case "plan-calls":
        return this.#planCalls(command, state);
      case "run-tool":
        return this.#runTool(command, state, signal);
      case "spawn-child":
        return this.#awaitChild(command, state);
      default:
        throw new Defect(`executor: cannot perform ${command.type}`);
    }
  }

  /** Plans are not stored: a resumed run plans its decided calls again. */
  async prepareAgain(state: RunState): Promise<void> {
    const { phase } = state;
    if (phase.at !== "OBSERVE") return;
    const calls = [...phase.inFlight, ...phase.waiting];
    const prepared = await Promise.all(calls.map((call) => planAgain(this.#planning(), state, call)));
    this.#prepared = new Map(prepared.map((each) => [each.call.callId, each]));
    this.#inFlightAtResume = new Set(phase.inFlight.map(({ callId }) => callId));
    await this.#deadlines.loadFor(state);
  }

  async askApprovals(questions: readonly CommandOf<"ask-approval">[], state: RunState): Promise<readonly Answer[]> {
    const { approvals, run, bodyCache } = this.#parts;
    const asked = questions.map((question) => this.#questionOf(question, state));
    const answers = await approvals.ask(run, asked, bodyCache);
    if (answers.some((answer) => answer.type === "approval.decided" && answer.decision === "allow")) {
      await this.#deadlines.load();
    }
    return answers;
  }

  /** Events that expire approvals of calls that have not started; they come before any other event. */
  lapsedApprovals(state: RunState, nowMs: number): readonly Answer[] {
    return this.#deadlines.lapsedIn(state, nowMs);
  }

  cancelChild(childRunId: RunId): void {
    const { children, run } = this.#parts;
    children.cancel(childRunId, run.runId);
  }

  /** The writes that insert a child, for the transaction of its intent. */
  childWrites(callId: CallId): readonly Write[] {
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
    const { ports, run, model, effort, conversation, broadcaster, guard, bodyCache, replies } = this.#parts;
    if (model === null) return failedBefore(command, "provider.not-configured");
    const refused = unknownAdapter(command, state) ?? (await this.#reserve(command, state));
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
    const isGated = (state.contract.tokenGate && state.budget.performed === 0) || isReviewed(state.contract);
    const text = isGated || !this.#isLive(state) ? null : new LiveText(command, state.contract, guard, redactor);
    const onText = (written: string): void => {
      text?.push(written);
      broadcaster.delta(run.runId);
    };
    if (text !== null) broadcaster.beginText(run.runId, text);
    const watch = { signal, onText: text === null ? null : onText };
    const estimated = { inputTokens: state.prompt.tokens, outputTokens: command.maxOutputTokens };
    const about = { model, purpose: "answer", runId: run.runId, attempt: command.attempt, estimated } as const;
    const ended = beginCall(ports.clock, about);
    const reply = await replies.batch(() => model.backend.complete(request, watch));
    this.#parts.onModelCall(ended(reply, signal.aborted));
    if (reply.ok && text !== null) {
      text.finish();
      broadcaster.delta(run.runId);
    }
    const { takesNotes, checkpoint: remembered, authority } = this.#parts;
    const checkpoint = takesNotes ? () => ({ ...notedIn(remembered.noted), ...authority.held() }) : null;
    const keepsThoughts = run.thinkingMode !== "never";
    const context = { model, contract: state.contract, keepsThoughts, effort, redactor, guard, checkpoint, bodyCache };
    return signal.aborted ? null : modelAnswer(context, command, state.prompt.tokens, reply);
  }

  /**
   * Text and tool output are shown while they are written on local channels only (P-3.4). Watchers may come at any time;
   * a delegated run, which usually has none, is live for those who are there first.
   */
  #isLive({ contract }: RunState): boolean {
    const { run, broadcaster } = this.#parts;
    return contract.channelClass === "cli_local" && (run.parentRunId === null || broadcaster.hasWatchers(run.runId));
  }

  /** The same list while the same tools are asked for, so that a backend can encode it once. */
  #offer(names: readonly string[]): readonly RegisteredTool[] {
    if (this.#offered?.names !== names) {
      const all = this.#parts.ports.toolbox.tools;
      const some = all.filter(({ name }) => names.includes(name));
      this.#offered = { names, tools: some.length === all.length ? all : some };
    }
    return this.#offered.tools;
  }

  /** Null when the attempt may be sent, otherwise the failure. */
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

  /** The mode's instruction is sent with the prompt but is no part of it. */
  #tokensOfNote(mode: InferMode): number {
    const note = noteOf(mode);
    return note === null ? 0 : this.#countTokens(note);
  }

  async #planCalls({ step, round, calls }: CommandOf<"plan-calls">, state: RunState): Promise<Answer> {
    const prepared = await this.#withHoneypotSlots(await planCalls(this.#planning(), state, calls), state);
    const isRetry = state.phase.at === "OBSERVE";
    // The calls behind the one that is tried again stay as they were planned.
    this.#prepared = new Map([
      ...(isRetry ? this.#prepared : []),
      ...prepared.map((each) => [each.call.callId, each] as const),
    ]);
    const isSame = prepared.every(({ call }) => inFlightCall(state, call.callId)?.planHash === call.planHash);
    // What was cut off may have been performed; another plan was not.
    if (!isRetry || !isSame) this.#inFlightAtResume = new Set();
    this.#started.clear();
    return { type: "calls.planned", step, round, calls: prepared.map(({ call }) => call) };
  }

  /** In sequence: an earlier send of a batch counts against the limit of a later one. */
  async #withHoneypotSlots(all: readonly PreparedCall[], state: RunState): Promise<readonly PreparedCall[]> {
    const { ports, run } = this.#parts;
    const marked: PreparedCall[] = [];
    for (const prepared of all) {
      const { call, planned } = prepared;
      const send = planned?.send ?? null;
      const honeypot = send !== null && (await takeHoneypotSlot(ports, run.runId, state, call, send));
      marked.push(send === null ? prepared : { ...prepared, call: { ...call, honeypot } });
    }
    return marked;
  }

  async #runTool(command: CommandOf<"run-tool">, state: RunState, signal: AbortSignal): Promise<Answer> {
    const { ports, run, bodyCache, broadcaster, account, summarizer } = this.#parts;
    const requestId = requestIdOf(run.runId, command);
    const prepared = this.#prepared.get(command.callId);
    const planned = prepared?.planned ?? null;
    const contextNow = () => ({
      contract: state.contract,
      summarize: summarizer === null ? null : summarizerOf({ ports, account, ...summarizer }, command, state, signal),
      redactor: ports.redactor,
      envelope: { requestId, runId: run.runId, tool: command.tool, finishedAt: timestampOf(ports.clock.nowMs()) },
      keep: (text: string) => bodyCache.keep(text),
      tokensOf: (outcome: CallResult) => this.#tokensOf(command, state, outcome),
    });
    const isAsDecided = prepared?.call.planHash === command.planHash;
    const isRepeat = this.#inFlightAtResume.has(command.callId);
    const refusal = this.#refusalOf(command, state, isAsDecided, isRepeat);
    if (planned === null || refusal !== null) {
      const message = planned === null ? NOT_PLANNABLE : (refusal ?? "");
      return refusedByRuntime(contextNow(), command, state.labels, "policy.denied", message);
    }
    this.#started.add(command.callId);
    const release = this.#isLive(state)
      ? releaseOutput(command, ports.redactor, (output) => broadcaster.output(run.runId, output))
      : null;
    const envelope = await ports.toolbox.run(planned, {
      ...{ requestId, runId: run.runId, agentId: run.agentId },
      by: { ...askingRun(run, state), entry: state.chain.seq },
      timeoutMs: command.timeoutMs,
      idempotencyKey: command.idempotencyKey,
      isRepeat,
      mayAct: isAsDecided || planned.idempotency === "read_only",
      seen: inFlightCall(state, command.callId)?.validatedUnder ?? state.labels,
      signal,
      onOutput: release?.push ?? null,
    });
    release?.finish();
    return toolAnswer(contextNow(), command, planned, envelope);
  }

  /** Time passed while the intent became durable: why the call must not start after all, or null. */
  #refusalOf(command: CommandOf<"run-tool">, state: RunState, isAsDecided: boolean, isRepeat: boolean): string | null {
    if (!isAsDecided && !isRepeat) return "Not run: what this call would do has changed since it was decided.";
    const hasStarted = isRepeat || this.#started.has(command.callId);
    if (!hasStarted && this.#deadlines.hasPassed(command.approvalId, this.#parts.ports.clock.nowMs())) {
      return "Not run: the approval of this call expired before the call started.";
    }
    return this.#isDeniedNow(command, state) ? "Not run: the policy that allowed this call was narrowed." : null;
  }

  #isDeniedNow({ callId }: CommandOf<"run-tool">, state: RunState): boolean {
    const live = this.#parts.authority.unreported;
    const call = inFlightCall(state, callId);
    return live !== null && call !== undefined && objectionNow({ ...state, live }, call) !== null;
  }

  #planning(): PlanningDependencies {
    const { ports, run, bodyCache } = this.#parts;
    const { toolbox, delegate } = ports;
    return { run, toolbox, delegate, readJson: (ref) => bodyCache.readJson(ref), keep: (text) => bodyCache.keep(text) };
  }

  async #awaitChild(command: CommandOf<"spawn-child">, state: RunState): Promise<Answer | null> {
    const { ports, run, bodyCache, children } = this.#parts;
    const { runId } = command.child;
    const child = await ports.store.findRun(runId);
    if (child === null) throw new StoreError("store.corrupt", `The delegated run ${runId} is missing from the store.`);
    if (child.outcome === null) {
      children.start(runId);
      return null;
    }
    const { entries } = await readWholeJournal(ports.store, runId);
    const bodies = await readBodiesOf(ports.store, child, entries);
    return childFinished(
      command,
      run.runId,
      state,
      entries,
      (ref) => bodies.get(ref)?.text ?? null,
      (text) => bodyCache.keep(text),
      (outcome) => this.#tokensOf(command, state, outcome),
    );
  }

  /** Calls that share a result each get the message under their own id; the longest id is counted for all. */
  #tokensOf({ callId }: { readonly callId: CallId }, state: RunState, outcome: CallResult): number {
    const { tool = "", sharedBy = [] } = inFlightCall(state, callId) ?? {};
    const longest = sharedBy.reduce((id, other) => (other.length > id.length ? other : id), callId);
    return this.#countTokens(formatToolResult({ callId: longest, tool }, outcome));
  }

  #questionOf(question: CommandOf<"ask-approval">, state: RunState) {
    const { bodyCache, conversation, run } = this.#parts;
    const provenance = conversation.untrusted;
    const place = { question, seq: state.chain.seq, restoreId: state.restored?.id ?? null };
    if (question.aboutRun) {
      const asked = askedAfterRestore(readAcceptance(run.accepted), state, (ref) => bodyCache.read(ref));
      return { ...place, ...asked, background: { ...NO_BACKGROUND, provenance } };
    }
    const prepared = this.#prepared.get(question.callId);
    const call = prepared?.call ?? inFlightCall(state, question.callId);
    if (call === undefined) throw new Defect("executor: a question about an unknown call");
    const planned = prepared?.planned ?? null;
    const shown = planned
      ? showQuestion(question.kind, planned, provenance)
      : `${call.tool} ${bodyCache.read(call.argsRef) ?? "[erased]"}`;
    const explain = question.kind === "approve" ? explainNow(state, call) : null;
    const parts = planned === null ? null : askedCall(planned);
    return { ...place, tool: call.tool, shown, background: { explain, provenance, call: parts } };
  }
}

const NOT_PLANNABLE = "Not run again: this call can no longer be planned.";

const NO_USAGE = { inputTokens: 0, outputTokens: 0, costMicrousd: 0 };

type Refused = Pick<EventOf<"model.failed">, "refusedBy">;

function failedBefore({ attempt }: CommandOf<"call-model">, code: string, also: Refused = {}): Answer {
  return { type: "model.failed", attempt, code, retryable: false, retryAfterMs: 0, usage: NO_USAGE, ...also };
}
