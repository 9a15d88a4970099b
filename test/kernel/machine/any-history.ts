/**
 * Histories nobody designed: at every point either an event the run is waiting for, or any event at all, with ids,
 * hashes and times that fit or do not. `anyHistory` yields the events together with what the machine made of them.
 */
import fc from "fast-check";
import type { ContractTerms, ExecutionContract } from "../../../src/kernel/contract/contract.ts";
import type { Entry } from "../../../src/kernel/journal/entry.ts";
import type { PlannedCall, ProposedCall, RunEvent } from "../../../src/kernel/journal/event.ts";
import type { Command } from "../../../src/kernel/machine/command.ts";
import { nextDeadline } from "../../../src/kernel/machine/deadline.ts";
import { type RunState, startRun } from "../../../src/kernel/machine/state.ts";
import { step } from "../../../src/kernel/machine/step.ts";
import { hashBytes } from "../../../src/kernel/vocabulary/hash.ts";
import { UNTRUSTED_LABELS, USER_LABELS } from "../../../src/kernel/vocabulary/labels.ts";
import {
  accepted,
  addressed,
  answered,
  approval,
  backendOk,
  cancel,
  compacted,
  contractOf,
  errorResponse,
  finished,
  modelFailed,
  okResponse,
  plan,
  planned,
  RUN_ID,
  rejected,
  resolved,
  TOOLS,
  timer,
  unknownEffect,
} from "./scripted-run.ts";

export interface History {
  readonly contract: ExecutionContract;
  readonly events: readonly RunEvent[];
  readonly steps: readonly {
    readonly event: RunEvent;
    readonly before: RunState;
    readonly state: RunState;
    readonly commands: readonly Command[];
    readonly entries: readonly Entry[];
    /** The event as it is recorded: our own failure stands in for one that made us fail. */
    readonly recordedAs: RunEvent["type"];
  }[];
  readonly entries: readonly Entry[];
  readonly last: RunState;
}

const anyTerms: fc.Arbitrary<Partial<ContractTerms>> = fc
  .record({
    toolPolicy: fc.constantFrom("required", "required", "required", "forbidden", "optional", "optional"),
    strictMode: fc.boolean(),
    tokenGate: fc.boolean(),
    maxInferences: fc.integer({ min: 1, max: 6 }),
    maxFormatRetries: fc.integer({ min: 0, max: 1 }),
    maxTokensConsumed: fc.constantFrom(300, 2_000, 200_000),
    maxSpendMicrousd: fc.constantFrom(null, 5, 1_000),
    stepTimeoutMs: fc.constantFrom(1_000, 60_000),
    totalTimeoutMs: fc.constantFrom(3_000, 600_000),
    requiredEffects: fc.constantFrom<ContractTerms["requiredEffects"]>([], [{ tool: "fs.write_text" }]),
    cycleForbid: fc.constantFrom<ContractTerms["cycleForbid"]>([], [["fs.write_text", "fs.write_text"]]),
    contextBudget: fc.constantFrom(
      { contextWindow: 32_768, reservedSystem: 100, reservedSynthesis: 100, forceSynthesisAtRatio: 0.85 },
      { contextWindow: 600, reservedSystem: 50, reservedSynthesis: 50, forceSynthesisAtRatio: 0.5 },
    ),
    policy: fc
      .record({ write: fc.constantFrom("allow", "allow", "approve", "deny"), kill: fc.nat({ max: 9 }) })
      .map(({ write, kill }) => ({
        ...contractOf().policy,
        sideEffects: kill === 0 ? ("disabled" as const) : ("enabled" as const),
        risk: { read_only: "allow" as const, draft_only: "allow" as const, side_effect: write },
      })),
  })
  // Contradictory terms end in PRECHECK; the tests of preflight have them, here they would be in the way.
  .map((terms) => ({
    ...terms,
    strictMode: terms.strictMode && terms.toolPolicy !== "optional",
    requiredEffects: terms.toolPolicy === "forbidden" ? [] : terms.requiredEffects,
  }));

/** One choice is a list of numbers; the same choice in the same state is the same event. */
const anyChoice = fc.array(fc.nat({ max: 1_000 }), { minLength: 8, maxLength: 8 });

export const anyHistory: fc.Arbitrary<History> = fc
  .tuple(anyTerms, fc.array(anyChoice, { minLength: 1, maxLength: 60, size: "max" }))
  .map(([terms, choices]) => {
    const contract = contractOf(terms);
    const steps: History["steps"][number][] = [];
    let state = startRun(RUN_ID, contract);
    for (const choice of choices) {
      const event = chooseEvent(state, choice);
      const before = state;
      const { entries, commands, defect, ...result } = step(state, event);
      state = result.state;
      const recordedAs = defect === null ? event.type : "defect.found";
      steps.push({ event, before, state, commands, entries, recordedAs });
    }
    return {
      contract,
      events: steps.map(({ event }) => event),
      steps,
      entries: steps.flatMap(({ entries }) => entries),
      last: state,
    };
  });

const pick = <T>(list: readonly T[], choice: number): T => list[choice % list.length] as T;

function chooseEvent(state: RunState, choice: readonly number[]): RunEvent {
  const [kind = 0, delay = 0] = choice;
  const event = addressed(state, kind % 16 === 0 ? strayEvent(state, choice) : expectedEvent(state, choice));
  if (event.type === "timer.fired") return event;
  return { ...event, elapsedMs: state.elapsedMs + (delay % 20 === 0 ? 700 : delay % 5) };
}

function expectedEvent(state: RunState, choice: readonly number[]): RunEvent {
  const [, , a = 0, b = 0, c = 0] = choice;
  const { phase } = state;
  switch (phase.at) {
    case "PRECHECK":
      return state.accepted === null ? accepted({ labels: pick([USER_LABELS, UNTRUSTED_LABELS], a) }) : backendOk();
    case "INFER":
      if (phase.compacting) return compacted(100 + (a % 900), { succeeded: b % 4 !== 0 });
      return modelEvent(phase.attempt, choice);
    case "VALIDATE_CALLS": {
      const asking = phase.verdicts.findIndex((verdict) => verdict.kind === "asking");
      const asked = phase.planned?.[asking];
      if (asked !== undefined) return approval(asked, pick(["allow", "allow", "deny", "expired", "unreachable"], a));
      return planned(phase.proposed.map((call, index) => planOf(call, [a, b, c][index % 3] ?? 0)));
    }
    case "OBSERVE": {
      const id = phase.inFlight[0]?.callId ?? "none";
      const { retry } = phase;
      if (retry !== undefined && retry.asked !== null)
        return approval(retry.asked, pick(["allow", "allow", "deny"], a));
      if (retry !== undefined) {
        const [call] = phase.inFlight;
        const other = phase.inFlight.slice(0, 1).map((each) => planOf(each, c));
        return planned(b % 3 === 0 || call === undefined ? other : [{ ...call, ...retry.approved }], retry.round);
      }
      if (phase.resolving) return resolved(id, pick(["done", "retry", "fail", "expired"], a));
      const labels = pick([USER_LABELS, UNTRUSTED_LABELS], b);
      if (a % 9 === 0) return unknownEffect(id);
      if (a % 7 === 0) return finished(id, { response: errorResponse("internal.error", `e${b % 2}`), labels });
      return finished(id, { response: okResponse(`o${b % 3}`), labels, tokens: c % 100 });
    }
    case "TERMINATE":
      return cancel();
  }
}

function modelEvent(attempt: number, [, , a = 0, b = 0, c = 0, d = 0]: readonly number[]): RunEvent {
  if (a % 10 === 0) return rejected(attempt);
  if (a % 10 === 1) return modelFailed(attempt, { retryable: b % 3 !== 0 });
  if (a % 10 < 5) return answered(attempt, { text: "text" });
  const calls = Array.from({ length: 1 + (b % 3) }, (_, index) => ({
    id: `c${index}`,
    tool: pick([...TOOLS, "unknown.tool"], c + index * d),
    args: String((c + index * d) % 3),
  }));
  const status = a % 10 === 5 ? ("recovered" as const) : ("native" as const);
  return answered(attempt, {
    calls,
    text: d % 2 === 0 ? "aside" : null,
    adapter: { status, failureCode: null, version: "native-tools@1" },
  });
}

function planOf({ callId, tool }: ProposedCall, choice: number): PlannedCall {
  const over: Partial<PlannedCall> = {
    effects: tool === "fs.write_text" ? [0] : [],
    idempotency: pick(["opaque", "keyed", "own_store"], choice),
    planHash: hashBytes(`plan ${tool} ${choice % 2}`),
    timeoutMs: 500,
    egress: choice % 4 === 0 ? ["example.org"] : [],
    problem: choice % 8 === 0 ? { code: "tool.input_invalid", retryable: false, messageRef: null } : null,
  };
  const made = plan({ id: callId, tool, args: String(choice % 2) }, over);
  return made.risk === "read_only" ? { ...made, idempotency: "read_only" } : made;
}

function strayEvent(state: RunState, choice: readonly number[]): RunEvent {
  const [, , a = 0, b = 0] = choice;
  const due = nextDeadline(state);
  const other = plan({ id: `c${b % 3}`, tool: "fs.write_text" });
  return pick<RunEvent>(
    [
      timer(due?.timer ?? "run", due?.atMs ?? 0),
      timer(pick(["tool", "step", "run", "grace"], b), state.elapsedMs),
      cancel(),
      accepted(),
      backendOk(),
      answered(b % 4, { text: "stray" }),
      planned([other]),
      approval(other),
      finished(`c${b % 3}`),
      unknownEffect("c0"),
      resolved("c0", "done"),
      compacted(1),
      {
        type: "tool.malformed",
        ts: "",
        elapsedMs: 0,
        step: state.step,
        callId: other.callId,
        problem: "not an envelope",
      },
      {
        type: "policy.narrowed",
        ts: "",
        elapsedMs: 0,
        live: { policy: { ...state.contract.policy, sideEffects: "disabled" }, capabilities: [] },
      },
    ],
    a,
  );
}
