/**
 * RunDriver owns the order of events of one run: its mailbox, its timers, starting, resuming, parking and suspending. The
 * machine decides, RunJournal makes durable what was decided, CommandExecutor performs it through the ports.
 *
 * D1. One event at a time. The entries of a step become durable together, and before any of its commands that acts on the
 *     world. What a side effect brought is durable before anything follows it.
 * D2. Results of calls dispatched together are applied in the order of dispatch.
 * D3. Starting and resuming are one path: the folded state learns what changed outside, due timers fire, effects with an
 *     unknown outcome are asked about, and outstanding commands are performed.
 * D4. A parked run exits: it holds no worker, no lane and no memory. What it waits for starts it again.
 * D5. After the store refused, nothing more is performed: what is on disk decides how the run continues.
 * D6. Live policy and the deadlines of approvals are checked before every event, so no decision is made under a policy
 *     that has been narrowed or an approval that has expired by the event's own time.
 */
import type { Answer } from "../../kernel/journal/entry.ts";
import type { LivePolicy, RunEvent } from "../../kernel/journal/event.ts";
import type { Command } from "../../kernel/machine/command.ts";
import { nextDeadline } from "../../kernel/machine/deadline.ts";
import { dispatchCommand, effectsInDoubt, outstandingCommands } from "../../kernel/machine/outstanding.ts";
import type { RunState } from "../../kernel/machine/state.ts";
import { decide, errorIdAt } from "../../kernel/machine/step.ts";
import { isParked } from "../../kernel/machine/waiting.ts";
import { canonicalJson } from "../../kernel/vocabulary/canonical-json.ts";
import type { CallId } from "../../kernel/vocabulary/identifiers.ts";
import type { Authority } from "../capabilities/authority.ts";
import { timestampOf } from "../ports/clock.ts";
import { type StoredRun, StoreError } from "../ports/store.ts";
import type { RunPorts } from "../run-ports.ts";
import type { Acceptance } from "./acceptance.ts";
import type { CommandExecutor } from "./command-executor.ts";
import type { Conversation } from "./conversation.ts";
import type { RunJournal } from "./run-journal.ts";

export type DriverExit =
  | "ended"
  | "parked"
  /** The process is stopping; the run continues at the next start. */
  | "suspended"
  /** The store refused: another process owns the run, or nothing can be written. */
  | "refused";

export interface DriverDependencies {
  readonly ports: Pick<RunPorts, "clock" | "onDefect">;
  readonly run: StoredRun;
  readonly acceptance: Acceptance;
  /** Of the restore whose backup holds this run; the machine asks once whether the run may go on. */
  readonly restoreId: string | null;
  readonly conversation: Conversation;
  readonly authority: Authority;
  readonly executor: CommandExecutor;
  readonly journal: RunJournal;
  /** Called once when the store refused this run's writes or reads. */
  readonly onStoreError: (error: unknown) => void;
}

export class RunDriver {
  readonly exited: Promise<DriverExit>;
  readonly #parts: DriverDependencies;
  readonly #exit: (exit: DriverExit) => void;
  readonly #mailbox: Answer[] = [];
  /** Commands performed while starting, so that `outstandingCommands` does not repeat them. */
  readonly #dispatched = new Set<string>();
  /** How many commands are being performed, and how all of them are stopped. */
  #inProgress = 0;
  #stopping = new AbortController();
  /** Stops a call whose result the run no longer waits for. */
  readonly #calls = new Map<CallId, AbortController>();
  #startedMs = 0;
  readonly #elapsedBefore: number;
  #state: RunState;
  #isWorking = false;
  /** Something changed since the mailbox was last checked; a command that ended without an event counts. */
  #hasWork = false;
  #isStarting = true;
  #isSuspending = false;
  #hasExited = false;
  #disarm: () => void = () => {};
  /** When the timer fires, in the run's elapsed time. */
  #armedFor = Number.POSITIVE_INFINITY;

  constructor(parts: DriverDependencies, state: RunState) {
    const { promise, resolve } = Promise.withResolvers<DriverExit>();
    this.exited = promise;
    this.#parts = parts;
    this.#state = state;
    this.#elapsedBefore = state.elapsedMs;
    this.#exit = (exit) => {
      if (this.#hasExited) return;
      this.#hasExited = true;
      this.#disarm();
      this.#stopAll();
      resolve(exit);
    };
  }

  start(): void {
    this.#startedMs = this.#parts.ports.clock.monotonicMs();
    this.#resume()
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#isStarting = false;
        this.#work();
      });
  }

  async #resume(): Promise<void> {
    const { acceptance, restoreId, run, executor, journal } = this.#parts;
    journal.markRunning();
    await executor.prepareAgain(this.#state);
    if (restoreId !== null && run.cancelledBy === null) await this.#handle({ type: "run.restored", restoreId });
    const unknownEffects = effectsInDoubt(this.#state);
    if (this.#state.accepted === null) await this.#handle(acceptance.event);
    await this.#applyLivePolicy();
    if (run.cancelledBy !== null) await this.#handle({ type: "cancel.requested", by: run.cancelledBy });
    for (let due = this.#dueTimer(); due !== null; due = this.#dueTimer()) await this.#handle(due);
    for (const { callId } of unknownEffects) {
      if (this.#isAwaited(callId)) await this.#handle({ type: "effect.unknown", step: this.#state.step, callId });
    }
    const commands = outstandingCommands(this.#state).filter((command) => !this.#dispatched.has(this.#keyOf(command)));
    this.#performAll(commands);
  }

  /** Delivers an event from outside; the machine ignores one that the run does not wait for. */
  post(answer: Answer): void {
    this.#mailbox.push(answer);
    this.#work();
  }

  /** Exits at the next safe point: immediately, unless an effect that must not be repeated is in flight. */
  suspend(): void {
    this.#isSuspending = true;
    this.#work();
  }

  /** The store refused a write or a read of this run (D5). */
  refuse(error: unknown): void {
    if (this.#hasExited) return;
    this.#exit("refused");
    this.#parts.onStoreError(error);
  }

  #work(): void {
    this.#hasWork = true;
    if (this.#isWorking || this.#isStarting || this.#hasExited) return;
    this.#isWorking = true;
    this.#hasWork = false;
    this.#drain()
      .catch((error: unknown) => this.#failed(error))
      .then(() => {
        this.#isWorking = false;
        if (this.#hasWork || this.#hasMail()) this.#work();
      });
  }

  async #drain(): Promise<void> {
    for (let next = this.#takeMail(); next !== null; next = this.#takeMail()) {
      if (this.#parts.authority.unreported !== null) await this.#applyLivePolicy();
      await this.#handle(next);
    }
    if (this.#isSuspending && effectsInDoubt(this.#state).length === 0) this.#exit("suspended");
    if (isParked(this.#state) && this.#inProgress === 0) this.#exit("parked");
  }

  #hasMail(): boolean {
    return this.#mailbox.some((answer) => !this.#mustWait(answer));
  }

  #takeMail(): Answer | null {
    const index = this.#mailbox.findIndex((answer) => !this.#mustWait(answer));
    return index === -1 || this.#hasExited ? null : (this.#mailbox.splice(index, 1)[0] ?? null);
  }

  /** A result of a call that is in flight, but not the next one (D2). */
  #mustWait(answer: Answer): boolean {
    const { phase } = this.#state;
    if (phase.at !== "OBSERVE" || !("callId" in answer) || this.#isAwaited(answer.callId)) return false;
    return phase.inFlight.some(({ callId }) => callId === answer.callId);
  }

  #isAwaited(callId: CallId): boolean {
    const { phase } = this.#state;
    return phase.at === "OBSERVE" && phase.inFlight[0]?.callId === callId;
  }

  async #applyLivePolicy(): Promise<void> {
    const live = this.#parts.authority.takeUnreported();
    if (live === null || isSamePolicy(live, policyKnownTo(this.#state))) return;
    await this.#handle({ type: "policy.narrowed", live });
  }

  async #handle(answer: Answer): Promise<void> {
    const { ports, executor } = this.#parts;
    const nowMs = ports.clock.nowMs();
    for (const lapsed of executor.lapsedApprovals(this.#state, nowMs)) await this.#apply(lapsed, nowMs);
    await this.#apply(answer, nowMs);
  }

  async #apply(answer: Answer, nowMs: number): Promise<void> {
    if (this.#hasExited) return;
    const { ports, conversation, journal } = this.#parts;
    const before = this.#state;
    const event = { ...answer, ts: timestampOf(nowMs), elapsedMs: this.#elapsedMs() } as RunEvent;
    const decision = decide(before, event);
    const { state, transitions, commands, defect } = decision;
    if (defect !== null) ports.onDefect(defect.errorId, defect.error);
    this.#state = state;
    conversation.append(transitions);
    // A call that has not reported by now is too late; stop it.
    for (const stated of transitions) if (stated.kind === "OBSERVE") this.#calls.get(stated.decided.callId)?.abort();
    if (!(await journal.record(before, decision))) return;
    this.#arm();
    this.#performAll(commands);
  }

  #performAll(commands: readonly Command[]): void {
    if (this.#hasExited) return;
    const questions = commands.filter((command) => command.type === "ask-approval");
    for (const command of commands) {
      if (this.#isStarting) this.#dispatched.add(this.#keyOf(command));
      if (command.type === "finish") this.#exit("ended");
      else if (command.type === "stop-work") this.#stopWork();
      else if (command.type !== "ask-approval") this.#perform(command);
    }
    // Asked together, so that earlier decisions arrive in the order in which they were made.
    if (questions.length > 0) {
      this.#attend(() => this.#parts.executor.askApprovals(questions, this.#state).catch(noLongerAsked));
    }
  }

  #perform(command: Command): void {
    // The next start repeats these commands at no cost. A durable intent is carried out even now; otherwise the operator
    // would be asked about an effect that never started.
    if (this.#isSuspending && command.type !== "run-tool") return;
    const { signal } = command.type === "run-tool" ? this.#trackCall(command.callId) : this.#stopping;
    this.#attend(async () => {
      const answer = await this.#parts.executor.perform(command, this.#state, signal);
      if (command.type === "run-tool") this.#untrackCall(command.callId, signal);
      return answer === null ? [] : [answer];
    });
  }

  #trackCall(callId: CallId): AbortController {
    const stopping = new AbortController();
    this.#calls.set(callId, stopping);
    return stopping;
  }

  /** A model may reuse an id: by the time an earlier call reports, the id may belong to another call. */
  #untrackCall(callId: CallId, signal: AbortSignal): void {
    if (this.#calls.get(callId)?.signal === signal) this.#calls.delete(callId);
  }

  async #attend(work: () => Promise<readonly Answer[]>): Promise<void> {
    this.#inProgress += 1;
    try {
      this.#mailbox.push(...(await work()));
    } catch (error) {
      if (error instanceof StoreError) this.refuse(error);
      else this.#failed(error);
    }
    this.#inProgress -= 1;
    this.#work();
  }

  #stopAll(): void {
    this.#stopping.abort();
    for (const call of this.#calls.values()) call.abort();
    this.#calls.clear();
  }

  /** Aborts work the run no longer waits for, and cancels the children it still waits for. */
  #stopWork(): void {
    this.#stopAll();
    this.#stopping = new AbortController();
    const { phase } = this.#state;
    for (const call of phase.at === "OBSERVE" ? phase.inFlight : []) {
      if (call.child === null) continue;
      this.#parts.executor.cancelChild(call.child.runId);
      // The run waits for the child's end, which may have come already.
      this.#perform(dispatchCommand(this.#state, call));
    }
  }

  /** A timer that fires early checks again, so it is not reset at every step: most deadlines only move further away. */
  #arm(): void {
    const deadline = nextDeadline(this.#state);
    if (deadline === null || deadline.atMs >= this.#armedFor) return;
    this.#disarm();
    this.#armedFor = deadline.atMs;
    const delayMs = Math.max(0, deadline.atMs - this.#elapsedMs()) + 1;
    this.#disarm = this.#parts.ports.clock.wake(delayMs, () => {
      this.#armedFor = Number.POSITIVE_INFINITY;
      const next = nextDeadline(this.#state);
      if (next !== null && next.atMs <= this.#elapsedMs()) this.post({ type: "timer.fired", timer: next.timer });
      else this.#arm();
    });
  }

  #dueTimer(): Answer | null {
    const deadline = nextDeadline(this.#state);
    return deadline === null || deadline.atMs > this.#state.elapsedMs
      ? null
      : { type: "timer.fired", timer: deadline.timer };
  }

  #elapsedMs(): number {
    return this.#elapsedBefore + Math.floor(this.#parts.ports.clock.monotonicMs() - this.#startedMs);
  }

  #keyOf(command: Command): string {
    return `${this.#state.step} ${command.type} ${"callId" in command ? command.callId : ""}`;
  }

  /** A defect of our own while performing: the run ends by name, with a sealed journal. */
  #failed(error: unknown): void {
    if (this.#hasExited) return;
    // The end is decided and takes no more events; the next start finds out how much of it is durable.
    if (this.#state.phase.at === "TERMINATE") {
      this.refuse(error);
      return;
    }
    const errorId = errorIdAt(this.#state, error);
    this.#parts.ports.onDefect(errorId, error);
    this.#mailbox.push({ type: "defect.found", errorId });
  }
}

/** The run ended while its question was being written, so no answer is needed. */
function noLongerAsked(error: unknown): readonly Answer[] {
  if (error instanceof StoreError && error.code === "store.conflict") return [];
  throw error;
}

/** The identity check first: live policy is usually the object the contract was sealed with. */
function isSamePolicy(one: LivePolicy, other: LivePolicy): boolean {
  const isSame = one.policy === other.policy || canonicalJson(one.policy) === canonicalJson(other.policy);
  return isSame && canonicalJson(one.capabilities) === canonicalJson(other.capabilities);
}

function policyKnownTo({ live, contract }: RunState): LivePolicy {
  return live ?? { policy: contract.policy, capabilities: contract.capabilities };
}
