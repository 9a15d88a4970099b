/**
 * The driver of one run: feeds events to the machine, makes its entries durable, performs its commands.
 *
 * D1. One event at a time. The entries of a step become durable together, and before any of its commands that acts on
 *     the world; what a side effect brought is durable before anything follows it. A run that only reads is never more
 *     than MOST_STEPS_AHEAD steps ahead of what is durable.
 * D2. Results of calls dispatched together are told in the order of dispatch.
 * D3. Starting and resuming are one: the journal is folded (with no entries, to the beginning), the machine is told what
 *     changed outside, timers that are due fire, effects in doubt are asked about, and what is outstanding is performed.
 * D4. A parked run leaves: it holds no worker, no lane and no memory. What it waits for starts it again.
 * D5. When the store refuses, nothing more is performed: what is on disk decides how the run goes on.
 * D6. Live policy is looked at before every event: no decision is made under one that has been narrowed since. Nor under
 *     an approval whose time is over, by the clock that the event itself carries.
 * D7. A new run makes ready while its acceptance is being written, up to asking whether its model is there. Before that is
 *     durable nothing of it is written, nobody is told anything or asked for an answer, and no time of its own passes.
 * D8. Between the stages of a step (hear, plan, run, ask) it waits, also where nothing takes time: runs whose models answer
 *     in the same turn of the event loop go through each stage together, while its code is in the processor's caches. One
 *     run after the other through all of them takes half as long again.
 */
import type { Answer } from "../../kernel/journal/entry.ts";
import type { LivePolicy, RunEvent } from "../../kernel/journal/event.ts";
import type { Command } from "../../kernel/machine/command.ts";
import { nextDeadline } from "../../kernel/machine/deadline.ts";
import { dispatchCommand, effectsInDoubt, outstandingCommands } from "../../kernel/machine/outstanding.ts";
import type { RunState } from "../../kernel/machine/state.ts";
import { type Decision, decide, errorIdAt } from "../../kernel/machine/step.ts";
import { isParked } from "../../kernel/machine/waiting.ts";
import { canonicalJson } from "../../kernel/vocabulary/canonical-json.ts";
import type { CallId } from "../../kernel/vocabulary/identifiers.ts";
import { timestampOf } from "../ports/clock.ts";
import { StoreError } from "../ports/store.ts";
import { type JournalEnd, PendingEntries } from "./pending-entries.ts";
import type { RunContext } from "./run-context.ts";
import { writesFor } from "./run-journal.ts";

export type Departure =
  | "ended"
  | "parked"
  /** The process is going down; the run goes on at the next start. */
  | "suspended"
  /** The store refused: somebody else owns the run, or nothing can be written. */
  | "lost";

/** As many as a model that answers at once lets a run make while the disk takes its time. */
const MOST_STEPS_AHEAD = 4;

export class RunDriver {
  readonly left: Promise<Departure>;
  readonly #context: RunContext;
  readonly #leave: (departure: Departure) => void;
  readonly #mailbox: Answer[] = [];
  /** What has been set about since the run was taken up, while what is outstanding is still asked for. */
  readonly #begun = new Set<string>();
  /** What was written without waiting for it, and is not durable yet. */
  readonly #ahead: Promise<boolean>[] = [];
  /** How many commands are being performed, and how all of them are stopped. */
  #underWay = 0;
  #stopping = new AbortController();
  /** How a call is stopped that the run no longer waits for. */
  readonly #calls = new Map<CallId, AbortController>();
  #startedMs: number;
  readonly #elapsedBefore: number;
  #state: RunState;
  /** Where the journal ends, once all that was decided is linked. */
  #end: JournalEnd;
  #isWorking = false;
  /** Something changed since the mailbox was last looked into, and be it only that nothing is under way any more. */
  #hasWork = false;
  #isStarting = true;
  /** It is not known to be durable itself (D7). */
  #isUnaccepted: boolean;
  #isSuspending = false;
  #hasLeft = false;
  #disarm: () => void = () => {};
  /** When the clock wakes this run next, on its own elapsed time. */
  #armedFor = Number.POSITIVE_INFINITY;

  constructor(context: RunContext, state: RunState) {
    const { promise, resolve } = Promise.withResolvers<Departure>();
    this.left = promise;
    this.#context = context;
    this.#state = state;
    this.#isUnaccepted = context.isAccepted !== null;
    this.#end = { head: state.chain.linked.hash };
    this.#elapsedBefore = state.elapsedMs;
    this.#startedMs = context.ports.clock.monotonicMs();
    this.#leave = (departure) => {
      if (this.#hasLeft) return;
      this.#hasLeft = true;
      this.#disarm();
      this.#stopAll();
      resolve(departure);
    };
  }

  start(): void {
    this.#resume()
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#isStarting = false;
        this.#work();
      });
  }

  async #resume(): Promise<void> {
    const { acceptance, isAccepted, run, executor } = this.#context;
    if (isAccepted === null) this.#sayRunning();
    else isAccepted.then((isDurable) => this.#learnFate(isDurable));
    await executor.prepareAgain(this.#state);
    const doubted = effectsInDoubt(this.#state);
    if (this.#state.accepted === null) await this.#hear(acceptance.event);
    await this.#hearPolicy();
    if (run.cancelledBy !== null) await this.#hear({ type: "cancel.requested", by: run.cancelledBy });
    for (let due = this.#dueTimer(); due !== null; due = this.#dueTimer()) await this.#hear(due);
    for (const { callId } of doubted) {
      if (this.#isAwaited(callId)) await this.#hear({ type: "effect.unknown", step: this.#state.step, callId });
    }
    const commands = outstandingCommands(this.#state).filter((command) => !this.#begun.has(this.#keyOf(command)));
    this.#performAll(commands);
  }

  /** Something happened that the run may wait for. */
  tell(answer: Answer): void {
    this.#mailbox.push(answer);
    this.#work();
  }

  /** Goes at the next safe point: at once, unless an effect that must not be repeated is in flight. */
  suspend(): void {
    this.#isSuspending = true;
    this.#work();
  }

  #work(): void {
    this.#hasWork = true;
    if (this.#isWorking || this.#isStarting || this.#hasLeft) return;
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
      if (this.#context.authority.unreported !== null) await this.#hearPolicy();
      await this.#hear(next);
    }
    if (this.#isSuspending && effectsInDoubt(this.#state).length === 0) this.#leave("suspended");
    if (isParked(this.#state) && this.#underWay === 0) this.#leave("parked");
  }

  #hasMail(): boolean {
    return this.#mailbox.some((answer) => !this.#mustWait(answer));
  }

  #takeMail(): Answer | null {
    const index = this.#mailbox.findIndex((answer) => !this.#mustWait(answer));
    return index === -1 || this.#hasLeft ? null : (this.#mailbox.splice(index, 1)[0] ?? null);
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

  async #hearPolicy(): Promise<void> {
    const live = this.#context.authority.takeUnreported();
    if (live === null || isSamePolicy(live, policyKnownTo(this.#state))) return;
    await this.#hear({ type: "policy.narrowed", live });
  }

  async #hear(answer: Answer): Promise<void> {
    const { ports, executor } = this.#context;
    const nowMs = ports.clock.nowMs();
    for (const lapsed of executor.lapsedApprovals(this.#state, nowMs)) await this.#hearAt(nowMs, lapsed);
    await this.#hearAt(nowMs, answer);
  }

  async #hearAt(nowMs: number, answer: Answer): Promise<void> {
    if (this.#hasLeft) return;
    const { ports } = this.#context;
    const before = this.#state;
    const event = { ...answer, ts: timestampOf(nowMs), elapsedMs: this.#elapsedMs() } as RunEvent;
    const decision = decide(before, event);
    const { state, transitions, commands, defect } = decision;
    if (defect !== null) ports.onDefect(defect.errorId, defect.error);
    this.#state = state;
    this.#context.conversation.hear(transitions);
    // What has not reported yet is too late, and is no longer worked on.
    for (const stated of transitions) if (stated.kind === "OBSERVE") this.#calls.get(stated.decided.callId)?.abort();
    if (transitions.length > 0 && this.#isUnaccepted) await this.#context.isAccepted;
    if (this.#hasLeft) return;
    if (!(await this.#makeDurable(before, decision))) return;
    this.#arm();
    this.#performAll(commands);
  }

  /** Where it was refused after all, nobody waits any longer for what it asked. */
  #learnFate(isDurable: boolean): void {
    if (this.#hasLeft) return;
    this.#isUnaccepted = false;
    if (!isDurable) {
      this.#leave("lost");
      return;
    }
    this.#startedMs = this.#context.ports.clock.monotonicMs();
    this.#sayRunning();
    this.#arm();
  }

  #sayRunning(): void {
    const { ports, run, observer } = this.#context;
    if (run.status === "running") return;
    const { runId } = run;
    ports.store.commit([{ type: "set-status", runId, status: "running" }], "lazy").catch(observer.lost);
  }

  /** False when the store refused, and the run has been left. */
  #makeDurable(before: RunState, decision: Decision): boolean | Promise<boolean> {
    const { ports, observer } = this.#context;
    const { transitions } = decision;
    const pending = new PendingEntries(this.#end, transitions);
    const isTelling = transitions.length > 0;
    const { writes, urgency, reserving } = writesFor(this.#context, before, decision, pending);
    if (writes.length === 0) return true;
    this.#end = pending;
    const committed = ports.store.commit(writes, urgency).then((result) => {
      if (reserving !== null && result.spend?.granted) this.#context.account.grant(reserving);
      if (isTelling) observer.entries(pending.entries);
    });
    const isKnown = committed.then(
      () => true,
      (error: unknown) => {
        this.#lost(error);
        return false;
      },
    );
    if (urgency === "lazy") return true;
    return urgency === "eager" ? this.#goAhead(isKnown) : isKnown;
  }

  /** Commits become durable one after the other, so the oldest of them tells how far ahead the run is. */
  #goAhead(isKnown: Promise<boolean>): boolean | Promise<boolean> {
    const ahead = this.#ahead;
    ahead.push(isKnown);
    isKnown.then(() => ahead.splice(ahead.indexOf(isKnown), 1));
    return ahead.length > MOST_STEPS_AHEAD ? (ahead[0] ?? isKnown) : true;
  }

  #performAll(commands: readonly Command[]): void {
    if (this.#hasLeft) return;
    const questions = commands.filter((command) => command.type === "ask-approval");
    for (const command of commands) {
      if (this.#isStarting) this.#begun.add(this.#keyOf(command));
      if (command.type === "finish") this.#leave("ended");
      else if (command.type === "stop-work") this.#stopWork();
      else if (command.type !== "ask-approval") this.#perform(command);
    }
    // They belong together: what was decided before is told in the order in which it was decided.
    if (questions.length > 0) {
      this.#attend(() => this.#context.executor.askApprovals(questions, this.#state).catch(noLongerAsked));
    }
  }

  #perform(command: Command): void {
    // What is asked again at the next start costs nothing now. An intent that is durable already is carried out, or a
    // person would be asked about an effect that was never begun.
    if (this.#isSuspending && command.type !== "run-tool") return;
    const { signal } = command.type === "run-tool" ? this.#beginCall(command.callId) : this.#stopping;
    this.#attend(async () => {
      const answer = await this.#context.executor.perform(command, this.#state, signal);
      if (command.type === "run-tool") this.#forgetCall(command.callId, signal);
      return answer === null ? [] : [answer];
    });
  }

  #beginCall(callId: CallId): AbortController {
    const stopping = new AbortController();
    this.#calls.set(callId, stopping);
    return stopping;
  }

  /** A model may use an id again: by the time an earlier call reports, it may be the name of another one. */
  #forgetCall(callId: CallId, signal: AbortSignal): void {
    if (this.#calls.get(callId)?.signal === signal) this.#calls.delete(callId);
  }

  async #attend(work: () => Promise<readonly Answer[]>): Promise<void> {
    this.#underWay += 1;
    try {
      this.#mailbox.push(...(await work()));
    } catch (error) {
      if (error instanceof StoreError) this.#lost(error);
      else this.#failed(error);
    }
    this.#underWay -= 1;
    this.#work();
  }

  #stopAll(): void {
    this.#stopping.abort();
    for (const call of this.#calls.values()) call.abort();
    this.#calls.clear();
  }

  /** Ends what the run no longer waits for, and asks what it still waits for to come to an end. */
  #stopWork(): void {
    this.#stopAll();
    this.#stopping = new AbortController();
    const { phase } = this.#state;
    for (const call of phase.at === "OBSERVE" ? phase.inFlight : []) {
      if (call.child === null) continue;
      this.#context.observer.abandonedChild(call.child.runId);
      // It ends by itself, or has ended already: either way its end is what this run waits for.
      this.#perform(dispatchCommand(this.#state, call));
    }
  }

  /** A timer that wakes too early looks again, so it is not moved with every step: most deadlines only go further away. */
  #arm(): void {
    const deadline = nextDeadline(this.#state);
    if (this.#isUnaccepted || deadline === null || deadline.atMs >= this.#armedFor) return;
    this.#disarm();
    this.#armedFor = deadline.atMs;
    const delayMs = Math.max(0, deadline.atMs - this.#elapsedMs()) + 1;
    this.#disarm = this.#context.ports.clock.wake(delayMs, () => {
      this.#armedFor = Number.POSITIVE_INFINITY;
      const next = nextDeadline(this.#state);
      if (next !== null && next.atMs <= this.#elapsedMs()) this.tell({ type: "timer.fired", timer: next.timer });
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
    if (this.#isUnaccepted) return this.#elapsedBefore;
    return this.#elapsedBefore + Math.floor(this.#context.ports.clock.monotonicMs() - this.#startedMs);
  }

  #keyOf(command: Command): string {
    return `${this.#state.step} ${command.type} ${"callId" in command ? command.callId : ""}`;
  }

  #lost(error: unknown): void {
    if (this.#hasLeft) return;
    this.#leave("lost");
    this.#context.observer.lost(error);
  }

  /** Our own code failed while performing: the run ends by name, with a sealed journal. */
  #failed(error: unknown): void {
    if (this.#hasLeft) return;
    // It has decided how it ends, and hears nothing any more: the next start finds out what of that is written.
    if (this.#state.phase.at === "TERMINATE") {
      this.#lost(error);
      return;
    }
    const errorId = errorIdAt(this.#state, error);
    this.#context.ports.onDefect(errorId, error);
    this.#mailbox.push({ type: "defect.found", errorId });
  }
}

/** The run ended while its question was on the way to the store: nobody has to be asked any more. */
function noLongerAsked(error: unknown): readonly Answer[] {
  if (error instanceof StoreError && error.code === "store.conflict") return [];
  throw error;
}

/** Mostly it is the very object the contract was made with. */
function isSamePolicy(one: LivePolicy, other: LivePolicy): boolean {
  const isSame = one.policy === other.policy || canonicalJson(one.policy) === canonicalJson(other.policy);
  return isSame && canonicalJson(one.capabilities) === canonicalJson(other.capabilities);
}

function policyKnownTo({ live, contract }: RunState): LivePolicy {
  return live ?? { policy: contract.policy, capabilities: contract.capabilities };
}
