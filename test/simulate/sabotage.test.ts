/** Every invariant can fail: each is shown a mistake that it, and not only its neighbours, must catch. */
import { describe, expect, test } from "vitest";
import { DEFAULT_POLICY } from "../../src/kernel/contract/default-terms.ts";
import type { ToolPolicy } from "../../src/kernel/policy/tool-policy.ts";
import { hashCanonical } from "../../src/kernel/vocabulary/hash.ts";
import { asBodyRef, asCallId } from "../../src/kernel/vocabulary/identifiers.ts";
import { CLEAN_LABELS } from "../../src/kernel/vocabulary/labels.ts";
import { survivesCrashes } from "./crash-twin.ts";
import { generateWorld } from "./generate-world.ts";
import * as authority from "./invariants/authority-invariants.ts";
import * as budget from "./invariants/budget-invariants.ts";
import * as dispatch from "./invariants/dispatch-invariants.ts";
import * as effect from "./invariants/effect-invariants.ts";
import type { Invariant } from "./invariants/invariant.ts";
import * as journal from "./invariants/journal-invariants.ts";
import * as view from "./invariants/view-invariants.ts";
import { INVARIANTS } from "./invariants.ts";
import {
  approvingItself,
  believing,
  commanding,
  deafTo,
  each,
  impatient,
  mishearing,
  notingEverything,
  remembering,
  tampering,
  under,
  without,
  writing,
  yielding,
} from "./sabotage.ts";
import type { StepFunction } from "./scene.ts";
import { simulate } from "./simulate.ts";
import { simulateRun } from "./simulate-run.ts";
import type { SimulatedRun } from "./simulated-run.ts";
import type { World } from "./world.ts";

interface Sabotage {
  readonly invariant: Invariant;
  readonly mistake: string;
  /** The broken machine, or what was done to the run afterwards. */
  readonly step?: () => StepFunction;
  readonly tamper?: (run: SimulatedRun) => SimulatedRun;
  /** Worlds where the mistake shows. */
  readonly where?: (world: World) => boolean;
}

const isSampled = (rest: number) => (world: World) => world.seed % 16 === rest;
const allowsAll: ToolPolicy = {
  ...DEFAULT_POLICY,
  channels: { cli_local: ["*"], external_message: ["*"], external_email: ["*"] },
  risk: { read_only: "allow", draft_only: "allow", side_effect: "allow" },
};

const SABOTAGES: readonly Sabotage[] = [
  { invariant: journal.endsOnce, mistake: "timers are not heard", step: () => deafTo("timer.fired") },
  {
    invariant: journal.endsOnce,
    mistake: "the end is told twice",
    step: () => commanding((command) => (command.type === "finish" ? [command, command] : [command])),
  },
  {
    invariant: journal.endsOnce,
    mistake: "another outcome is told than recorded",
    tamper: tampering(
      each("TERMINATE", ({ decided }) => ({ decided: { ...decided, outcome: "COMPLETED_CHAT_ONLY" } })),
    ),
    where: ({ contract }) => contract.maxInferences === 0,
  },
  {
    invariant: journal.hasNoDefect,
    mistake: "plans are lost on the way",
    step: () => mishearing((event) => (event.type === "calls.planned" ? { ...event, calls: [] } : event)),
  },
  { invariant: journal.terminatesFromCommit, mistake: "no COMMIT is written", tamper: tampering(without("COMMIT")) },
  { invariant: journal.keepsToEdges, mistake: "a state is left out", tamper: tampering(without("VALIDATE_CALLS")) },
  { invariant: journal.keepsToEdges, mistake: "nobody knows how it began", tamper: tampering(without("run.created")) },
  { invariant: journal.recordsEveryTransition, mistake: "nothing is written", step: () => writing(() => []) },
  { invariant: journal.chains, mistake: "an entry is forgotten", step: () => writing((entries) => entries.slice(-1)) },
  {
    invariant: journal.runsForward,
    mistake: "time is not written down",
    tamper: tampering(each("COMMIT", () => ({ elapsedMs: 0 }))),
  },
  { invariant: journal.foldsToTheSame, mistake: "an entry is forgotten", step: () => writing(without("INFER")) },
  {
    invariant: journal.foldsToTheSame,
    mistake: "the state holds what no event said",
    step: () => yielding(({ state }) => ({ state: { ...state, transportFailures: 1 } })),
  },
  {
    invariant: journal.foldsAtEveryBoundary,
    mistake: "the state holds what no event said",
    step: () => yielding(({ state }) => ({ state: { ...state, lastTool: "fs.read_text" } })),
    where: isSampled(0),
  },
  {
    invariant: journal.readsBack,
    mistake: "an entry has a field too many",
    tamper: tampering(each("COMMIT", () => ({ note: "by the way" }) as object)),
    where: isSampled(1),
  },
  { invariant: journal.observesInOrder, mistake: "results are not written", tamper: tampering(without("OBSERVE")) },
  {
    invariant: journal.observesInOrder,
    mistake: "a result is written for another call",
    step: () => writing(each("OBSERVE", ({ decided }) => ({ decided: { ...decided, callId: asCallId("call_9") } }))),
  },
  {
    invariant: journal.accountsForEveryCall,
    mistake: "skipped calls are not written down",
    step: () => writing(each("COMMIT", ({ decided }) => ({ decided: { ...decided, skipped: [] } }))),
  },
  {
    invariant: journal.answersOnlyWhenCompleted,
    mistake: "a failed run answers",
    tamper: tampering(
      each("TERMINATE", () => ({ result: { type: "run.answered", ref: asBodyRef(hashCanonical("x")) } })),
    ),
  },
  {
    invariant: journal.ignoresTheUnexpected,
    mistake: "whatever comes is noted",
    step: () => notingEverything,
    where: ({ noisy }) => noisy,
  },
  {
    invariant: authority.requiredNeedsProof,
    mistake: "a required call may be left out",
    step: () => under({ toolPolicy: "optional", strictMode: false }),
    where: ({ contract }) => contract.toolPolicy === "required",
  },
  {
    invariant: authority.effectsNeedProof,
    mistake: "required effects are forgotten",
    step: () => under({ requiredEffects: [], toolPolicy: "optional", strictMode: false }),
    where: ({ contract }) => contract.requiredEffects.length > 0,
  },
  {
    invariant: authority.forbiddenActsNever,
    mistake: "forbidden calls are performed",
    step: () => under({ toolPolicy: "optional", strictMode: false }),
    where: ({ contract }) => contract.toolPolicy === "forbidden",
  },
  {
    invariant: authority.executesWhatWasValidated,
    mistake: "denied calls are performed",
    step: () =>
      writing(
        each("VALIDATE_CALLS", ({ decided }) => ({
          decided: { ...decided, calls: decided.calls.map((call) => ({ ...call, decision: "deny" as const })) },
        })),
      ),
  },
  {
    invariant: authority.executesWhatWasValidated,
    mistake: "another plan is performed than was validated",
    step: () =>
      writing(each("EXECUTE", ({ decided }) => ({ decided: { ...decided, planHash: hashCanonical("other") } }))),
  },
  {
    invariant: authority.onlyAcceptedAnswersGoOn,
    mistake: "rejected answers go on",
    tamper: tampering(
      each("INFER", ({ result }) =>
        result?.type === "model.answered"
          ? { result: { ...result, adapter: { ...result.adapter, status: "rejected" } } }
          : {},
      ),
    ),
  },
  {
    invariant: authority.onlyAcceptedAnswersGoOn,
    mistake: "strict_mode takes recovered answers",
    tamper: tampering(
      each("INFER", ({ result }) =>
        result?.type === "model.answered"
          ? { result: { ...result, adapter: { ...result.adapter, status: "recovered" } } }
          : {},
      ),
    ),
    where: ({ contract }) => contract.strictMode,
  },
  {
    invariant: authority.strictActsWholeOrNotAtAll,
    mistake: "strict_mode is forgotten",
    step: () => under({ strictMode: false }),
    where: ({ contract }) => contract.strictMode,
  },
  {
    invariant: authority.neverFollowsForbiddenPairs,
    mistake: "forbidden pairs are forgotten",
    step: () => under({ cycleForbid: [] }),
    where: ({ contract }) => contract.cycleForbid.length > 0,
  },
  {
    invariant: authority.endsCycles,
    mistake: "the trail of calls is lost",
    step: () => believing(() => ({ history: [] })),
  },
  { invariant: authority.approvalsBind, mistake: "approvals are made up", step: () => approvingItself },
  {
    invariant: authority.approvalsBind,
    mistake: "a denial is heard as an approval",
    step: () => mishearing((event) => (event.type === "approval.decided" ? { ...event, decision: "allow" } : event)),
    where: ({ operator }) => operator === "denies",
  },
  {
    invariant: dispatch.obeysPolicy,
    mistake: "policy allows everything",
    step: () => under({ policy: allowsAll, capabilities: ["net"], approvedTools: [] }),
  },
  {
    invariant: dispatch.obeysPolicy,
    mistake: "revocations are not heard",
    step: () => believing(() => ({ live: null })),
    where: ({ narrowings }) => narrowings.length > 0,
  },
  {
    invariant: dispatch.asksWhatMustBeAsked,
    mistake: "that a call always asks is not heard",
    step: () =>
      mishearing((event) =>
        event.type === "calls.planned"
          ? { ...event, calls: event.calls.map(({ asksAlways: _, ...call }) => call) }
          : event,
      ),
  },
  {
    invariant: dispatch.killSwitchHolds,
    mistake: "the kill switch is not heard",
    step: () => believing(() => ({ live: null })),
    where: ({ narrowings }) => narrowings.length > 0,
  },
  {
    invariant: dispatch.keepsTheLatch,
    mistake: "labels are washed off",
    step: () => believing(() => ({ labels: CLEAN_LABELS })),
  },
  {
    invariant: budget.countsEverything,
    mistake: "tokens are not counted",
    step: () => believing(({ budget: spent }) => ({ budget: { ...spent, tokens: 0 } })),
  },
  {
    invariant: budget.completesWithinLimits,
    mistake: "limits are forgotten",
    step: () => under({ maxTokensConsumed: 1_000_000, maxSpendMicrousd: null }),
    where: ({ model, contract }) => model.mood === "overspending" && contract.version === "2.3",
  },
  {
    invariant: budget.boundsInferences,
    mistake: "the model may be asked for ever",
    step: () => under({ maxInferences: 40 }),
  },
  {
    invariant: budget.boundsInferences,
    mistake: "answers are repaired for ever",
    step: () => believing(({ budget: spent }) => ({ budget: { ...spent, formatRetries: 0 } })),
    where: ({ model }) => model.mood === "malformed",
  },
  {
    invariant: budget.reservesBeforeAsking,
    mistake: "nothing is reserved",
    step: () => under({ maxTokensConsumed: 1_000_000, maxSpendMicrousd: null }),
  },
  {
    invariant: budget.startsNothingLate,
    mistake: "deadlines are forgotten",
    step: () => under({ totalTimeoutMs: 3_600_000, stepTimeoutMs: 3_600_000 }),
    where: ({ contract }) => contract.totalTimeoutMs <= 800,
  },
  {
    invariant: budget.wrapsUpWhenFull,
    mistake: "the context may be filled to the brim",
    step: () => under(({ contextBudget }) => ({ contextBudget: { ...contextBudget, forceSynthesisAtRatio: 1 } })),
  },
  {
    invariant: budget.wrapsUpWhenFull,
    mistake: "tools are offered to the last",
    step: () =>
      commanding((command) => (command.type === "call-model" ? [{ ...command, tools: ["fs.read_text"] }] : [command])),
  },
  {
    invariant: effect.intendsBeforeActing,
    mistake: "intents are not written",
    step: () => writing(without("EXECUTE")),
  },
  {
    invariant: effect.actsAtMostOnce,
    mistake: "calls are dispatched twice",
    step: () => commanding((command) => (command.type === "run-tool" ? [command, command] : [command])),
  },
  {
    invariant: effect.repeatsWithTheSameKey,
    mistake: "a key is used once only",
    step: () =>
      commanding((command) =>
        command.type === "run-tool" && command.idempotencyKey !== null
          ? [{ ...command, idempotencyKey: hashCanonical("fresh") }]
          : [command],
      ),
    where: ({ crashes }) => crashes.length > 0,
  },
  {
    invariant: effect.reportsEveryGap,
    mistake: "gaps are passed over",
    step: () => deafTo("effect.unknown"),
    where: ({ crashes }) => crashes.length > 0,
  },
  {
    invariant: effect.waitsAfterRestore,
    mistake: "a restored run goes on while it asks",
    step: () => impatient,
    where: ({ crashes }) => crashes.some(({ isRestore }) => isRestore),
  },
  {
    invariant: survivesCrashes,
    mistake: "memory decides, not the journal",
    step: remembering,
    where: ({ crashes }) => crashes.length > 0,
  },
  {
    invariant: view.tellsTheLifecycleInOrder,
    mistake: "the beginning is lost",
    tamper: tampering(without("run.created")),
  },
  { invariant: view.tellsTheLifecycleInOrder, mistake: "the end is lost", tamper: tampering(without("TERMINATE")) },
  {
    invariant: view.tellsTheLifecycleInOrder,
    mistake: "a turn's calls stay open",
    tamper: tampering((entries) => without("COMMIT")(without("OBSERVE")(entries))),
  },
  {
    invariant: view.tellsResultsAsTheyWere,
    mistake: "a result is told for another turn",
    tamper: tampering(each("VALIDATE_CALLS", ({ decided }) => ({ decided: { ...decided, calls: [] } }))),
  },
  {
    invariant: view.appendsToItsViews,
    mistake: "what was shown before is shown otherwise later",
    tamper: tampering((entries) => {
      const rewritten = entries.map((entry) => ({ ...entry, ts: "2027-01-01T00:00:00.000Z" }));
      return Object.assign([...entries], { slice: (from?: number, to?: number) => rewritten.slice(from, to) });
    }),
    where: isSampled(2),
  },
  {
    invariant: view.showsTheStateItIsIn,
    mistake: "the runtime forgets what it committed",
    step: () =>
      yielding(({ state }) => ({ state: { ...state, committedBudget: { ...state.committedBudget, tokens: 1 } } })),
  },
];

const WORLDS: readonly World[] = Array.from({ length: 1_600 }, (_, index) => generateWorld(index + 1));

/** The first world in which the mistake is noticed. */
function noticed({ invariant, step, tamper, where = () => true }: Sabotage): string | null {
  for (const world of WORLDS) {
    if (!where(world)) continue;
    const run = simulateRun(world, step?.());
    const problem = invariant.check(tamper?.(run) ?? run);
    if (problem !== null) return problem;
  }
  return null;
}

describe("an invariant notices", () => {
  for (const sabotage of SABOTAGES) {
    test(`that ${sabotage.mistake}: ${sabotage.invariant.name}`, () => {
      expect(noticed(sabotage)).not.toBeNull();
    });
  }

  test("each invariant has its sabotage", () => {
    const tried = new Set(SABOTAGES.map(({ invariant }) => invariant.name));
    expect(INVARIANTS.filter(({ name }) => !tried.has(name))).toEqual([]);
    expect(new Set(INVARIANTS.map(({ name }) => name)).size).toBe(INVARIANTS.length);
  });

  test("a sabotaged seed is reported with its number and reproduces itself", () => {
    const step = under({ cycleForbid: [], maxInferences: 40 });
    const seed = WORLDS.find(({ seed: candidate }) => simulate(candidate, step).violations.length > 0)?.seed ?? 0;
    const [first, second] = [simulate(seed, step), simulate(seed, step)];
    expect(first.violations.length).toBeGreaterThan(0);
    expect(first.violations.every((violation) => violation.seed === seed)).toBe(true);
    expect(second.violations).toEqual(first.violations);
  });
});
