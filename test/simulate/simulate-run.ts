/**
 * The simulated driver: one run in one world, from its acceptance to its end, through every crash in between.
 *
 * D1. Nothing happens but what is on the agenda, a timer the machine asked for, a trigger of the world, or a crash. Of
 *     a result and a timer due at the same time either may come first.
 * D2. All entries of a step become durable together, before any of its commands is performed.
 * D3. A crash leaves what is durable: the entries, what people decided, a requested cancellation, live policy, the
 *     children. Starting is resuming with no entries.
 * D4. Resuming tells the machine first of a restore, then what else changed outside, then fires timers that are due, then asks about effects
 *     in doubt, and only then performs again what is outstanding.
 */
import type { Answer } from "../../src/kernel/journal/entry.ts";
import type { Command } from "../../src/kernel/machine/command.ts";
import { type Deadline, nextDeadline } from "../../src/kernel/machine/deadline.ts";
import { foldRun } from "../../src/kernel/machine/fold.ts";
import { effectsInDoubt, outstandingCommands } from "../../src/kernel/machine/outstanding.ts";
import { type CallInFlight, type RunState, startRun } from "../../src/kernel/machine/state.ts";
import { step as machineStep } from "../../src/kernel/machine/step.ts";
import { isParked } from "../../src/kernel/machine/waiting.ts";
import { canonicalJson } from "../../src/kernel/vocabulary/canonical-json.ts";
import { crashTrace } from "./crash-trace.ts";
import { noiseFor } from "./noise.ts";
import { insertChildren, performCommand } from "./perform-command.ts";
import { derive } from "./random.ts";
import { openScene, type Scene, type StepFunction, timed } from "./scene.ts";
import type { SimulatedRun } from "./simulated-run.ts";
import { isArmed, nextTrigger, type PendingTrigger, requestCancel, triggersOf } from "./triggers.ts";
import type { Crash, World } from "./world.ts";

/** More than any contract of ours allows for: beyond it a run counts as endless. */
const MAXIMUM_EVENTS = 1_500;

interface Next {
  readonly atMs: number;
  readonly answer: () => Answer;
}

export function simulateRun(world: World, step: StepFunction = machineStep): SimulatedRun {
  const scene = openScene(world, step, startRun(world.runId, world.contract));
  const givenUp = play(scene);
  scene.agenda.letEffectsHappen(Number.POSITIVE_INFINITY);
  const { entries, happenings, state, bodyTexts: bodies } = scene;
  return { world, entries, happenings, bodies, state, givenUp };
}

/** Null when the run ended; otherwise why the simulation was given up. */
function play(scene: Scene): string | null {
  const triggers = triggersOf(scene);
  if (scene.world.cancel?.beforeAccepted) tell(scene, requestCancel(scene));
  else resume(scene);
  while (scene.state.phase.at !== "TERMINATE") {
    if (scene.heard > MAXIMUM_EVENTS) return `no end after ${MAXIMUM_EVENTS} events`;
    const next = scene.isDead ? null : nextHappening(scene, triggers);
    const crash = scene.crashes.find((other) => isCrashDue(scene, other));
    if (crash !== undefined) {
      const problem = restart(scene, crash, next?.atMs ?? scene.nowMs, triggers);
      if (problem !== null) return problem;
    } else if (next === null) {
      return "nothing will ever happen again";
    } else {
      advance(scene, next.atMs);
      tell(scene, next.answer());
    }
  }
  return null;
}

/** Everything that may come next; the first of it. */
function nextHappening(scene: Scene, triggers: readonly PendingTrigger[]): Next | null {
  const { agenda, state, nowMs, world } = scene;
  const due: Next[] = [];
  const trigger = nextTrigger(scene, triggers);
  if (trigger !== null) due.push(trigger);
  const item = agenda.next(state);
  if (item !== null) {
    const answer = (): Answer => {
      agenda.take(item);
      return item.answer();
    };
    due.push({ atMs: Math.max(nowMs, item.dueMs), answer });
  }
  const deadline = nextTimer(scene);
  if (deadline !== null) {
    const fired: Next = {
      atMs: nowMs + Math.max(0, deadline.atMs - scene.elapsedMs),
      answer: () => fire(scene, deadline),
    };
    if (derive(world.seed, "tie", state.chain.seq, deadline.timer).chance(50)) due.push(fired);
    else due.unshift(fired);
  }
  return due.reduce<Next | null>((first, next) => (first === null || next.atMs < first.atMs ? next : first), null);
}

function advance(scene: Scene, atMs: number): void {
  scene.agenda.letEffectsHappen(atMs);
  const passedMs = Math.max(0, atMs - scene.nowMs);
  scene.nowMs += passedMs;
  if (!isParked(scene.state)) scene.elapsedMs += passedMs;
}

function tell(scene: Scene, answer: Answer): void {
  if (scene.isDead) return;
  makeNoise(scene);
  const event = timed(scene, answer);
  const { state: before, happenings } = scene;
  const { state: after, entries, commands, defect } = scene.step(before, event);
  scene.state = after;
  scene.heard += 1;
  scene.entries.push(...entries);
  happenings.push({ kind: "heard", event, before, after, entries, commands, defect: defect && String(defect.error) });
  insertChildren(scene, entries);
  scene.isDead = scene.crashes.some((crash) => crash.beforeCommands && isCrashDue(scene, crash));
  if (scene.isDead) return;
  for (const command of commands) dispatch(scene, command, false);
}

function makeNoise(scene: Scene): void {
  const noise = noiseFor(scene.world, scene.state, scene.heard);
  if (noise === null) return;
  const event = timed(scene, noise);
  const { state, entries, commands } = scene.step(scene.state, event);
  const isIgnored = state === scene.state && entries.length === 0 && commands.length === 0;
  scene.happenings.push({ kind: "noise", event, isIgnored });
}

function dispatch(scene: Scene, command: Command, isRepeat: boolean): void {
  const { elapsedMs, live, state, happenings } = scene;
  happenings.push({ kind: "dispatched", command, turn: state.step, elapsedMs, live, isRepeat });
  scene.underWay.add(commandKey(state.step, command));
  performCommand(scene, command);
}

function commandKey(turn: number, command: Command): string {
  return `${turn} ${command.type} ${"callId" in command ? command.callId : ""}`;
}

/** Tells the machine what it cannot know from its journal, then takes up what was under way (D4). */
function resume(scene: Scene): void {
  const { restoreId } = scene;
  if (restoreId !== null && !scene.isCancelled) tell(scene, { type: "run.restored", restoreId });
  const doubted = effectsInDoubt(scene.state);
  if (scene.state.accepted === null) tell(scene, scene.world.accepted);
  if (scene.live !== null && canonicalJson(scene.live) !== canonicalJson(scene.state.live)) {
    tell(scene, { type: "policy.narrowed", live: scene.live });
  }
  if (scene.isCancelled) tell(scene, requestCancel(scene));
  fireDueTimers(scene);
  for (const { callId } of doubted) {
    if (isNextInFlight(scene, callId)) tell(scene, { type: "effect.unknown", step: scene.state.step, callId });
  }
  if (scene.isDead) return;
  for (const command of outstandingCommands(scene.state)) {
    if (!scene.underWay.has(commandKey(scene.state.step, command))) dispatch(scene, command, true);
  }
}

function fireDueTimers(scene: Scene): void {
  for (let due = nextTimer(scene); due !== null && due.atMs <= scene.elapsedMs; due = nextTimer(scene)) {
    tell(scene, fire(scene, due));
  }
}

/** The timer to arm. One that fired and was not heard is not armed again: the machine has been told. */
function nextTimer({ state, firedTimer, isDead }: Scene): Deadline | null {
  const deadline = isDead ? null : nextDeadline(state);
  return deadline === null || timerKey(state, deadline) === firedTimer ? null : deadline;
}

function fire(scene: Scene, deadline: Deadline): Answer {
  scene.firedTimer = timerKey(scene.state, deadline);
  return { type: "timer.fired", timer: deadline.timer };
}

function timerKey({ chain }: RunState, { timer, atMs }: Deadline): string {
  return `${chain.seq} ${timer} ${atMs}`;
}

function isNextInFlight({ state: { phase } }: Scene, callId: CallInFlight["callId"]): boolean {
  return phase.at === "OBSERVE" && phase.inFlight[0]?.callId === callId;
}

function isCrashDue({ heard, state }: Scene, { afterEvent }: Crash): boolean {
  return afterEvent === null ? effectsInDoubt(state).length > 0 : afterEvent <= heard;
}

/** Dies before the next event, folds the journal and picks up again. Null, or why that cannot be. */
function restart(scene: Scene, crash: Crash, nextAtMs: number, triggers: readonly PendingTrigger[]): string | null {
  const { world, agenda, state: lost } = scene;
  scene.crashes = scene.crashes.filter((other) => other !== crash);
  if (!scene.isDead) advance(scene, Math.min(scene.nowMs + crash.afterMs, nextAtMs));
  const folded = foldRun(world.runId, world.contract, scene.entries);
  if (!folded.ok) return `the journal diverges at entry ${folded.divergedAt}`;
  const { state: resumed } = folded;
  if (crash.isRestore) scene.restoreId = `restore_${scene.heard}`;
  const trace = crash.isRestore
    ? "restored"
    : crashTrace({ world, lost, resumed, isTriggerArmed: triggers.some(isArmed) });
  scene.happenings.push({ kind: "crashed", lost, resumed, trace });
  agenda.revise((item) => (item.kind === "child" ? item : null));
  for (const trigger of triggers) if (!trigger.isPulled) trigger.armed = null;
  scene.underWay.clear();
  scene.generations.clear();
  scene.firedTimer = null;
  scene.isDead = false;
  scene.state = resumed;
  scene.elapsedMs = resumed.elapsedMs;
  resume(scene);
  return null;
}
