/**
 * Ways to break a machine, and to tamper with what it left behind. Each is one mistake somebody could make; the
 * invariants must notice it.
 */
import type { ContractTerms } from "../../src/kernel/contract/contract.ts";
import { sealContract } from "../../src/kernel/contract/seal-contract.ts";
import type { Entry, EntryOf } from "../../src/kernel/journal/entry.ts";
import type { RunEvent } from "../../src/kernel/journal/event.ts";
import type { Command } from "../../src/kernel/machine/command.ts";
import { outstandingCommands } from "../../src/kernel/machine/outstanding.ts";
import type { RunState } from "../../src/kernel/machine/state.ts";
import { type StepResult, step } from "../../src/kernel/machine/step.ts";
import { asApprovalId } from "../../src/kernel/vocabulary/identifiers.ts";
import type { StepFunction } from "./scene.ts";
import type { SimulatedRun } from "./simulated-run.ts";

/** Does not hear some events at all. */
export const deafTo =
  (...types: readonly RunEvent["type"][]): StepFunction =>
  (state, event) =>
    types.includes(event.type) ? { state, commands: [], entries: [], defect: null } : step(state, event);

/** Works under other terms than the run's. */
export const under =
  (terms: Partial<ContractTerms> | ((contract: ContractTerms) => Partial<ContractTerms>)): StepFunction =>
  (state, event) => {
    const { contract } = state;
    const own: ContractTerms = { policyState: null, outputSchema: null, ...contract, version: "2.3" };
    const changed = typeof terms === "function" ? terms(own) : terms;
    const other = { ...state, contract: sealContract({ ...own, ...changed }) };
    const result = step(other, event);
    return { ...result, state: result.state === other ? state : { ...result.state, contract } };
  };

/** Hears something else than it is told. */
export const mishearing =
  (change: (event: RunEvent, state: RunState) => RunEvent): StepFunction =>
  (state, event) =>
    step(state, change(event, state));

/** Forgets or makes up something before it begins. */
export const believing =
  (change: (state: RunState) => Partial<RunState>): StepFunction =>
  (state, event) =>
    step({ ...state, ...change(state) }, event);

/** Changes what came out. */
export const yielding =
  (change: (result: StepResult) => Partial<StepResult>): StepFunction =>
  (state, event) => {
    const result = step(state, event);
    return result.entries.length === 0 && result.commands.length === 0 ? result : { ...result, ...change(result) };
  };

export const writing = (change: (entries: readonly Entry[]) => readonly Entry[]): StepFunction =>
  yielding(({ entries }) => ({ entries: change(entries) }));

export const commanding = (change: (command: Command) => readonly Command[]): StepFunction =>
  yielding(({ commands }) => ({ commands: commands.flatMap(change) }));

/** Asks nobody: every question answers itself. */
export const approvingItself: StepFunction = (state, event) => {
  let result = step(state, event);
  for (const command of result.commands) {
    if (command.type !== "ask-approval" || command.kind !== "approve") continue;
    const { ts, elapsedMs } = result.state;
    const { step: asked, callId, planHash } = command;
    const approvalId = asApprovalId("approval_of_nobody");
    const forged: RunEvent = {
      type: "approval.decided",
      ts,
      elapsedMs,
      step: asked,
      approvalId,
      callId,
      planHash,
      decision: "allow",
      by: "me",
    };
    const next = step(result.state, forged);
    const commands = [...result.commands.filter((other) => other !== command), ...next.commands];
    result = { ...next, commands, entries: [...result.entries, ...next.entries] };
  }
  return result;
};

/** Lets its own memory decide, which no journal holds. */
export const remembering = (): StepFunction => {
  let steps = 0;
  return (state, event) => {
    steps += 1;
    if (event.type !== "model.answered" || steps < 4) return step(state, event);
    return step(state, { ...event, tokens: event.tokens + steps });
  };
};

/** Takes up what it was doing as soon as it hears of a restore. */
export const impatient: StepFunction = (state, event) => {
  const result = step(state, event);
  if (event.type !== "run.restored") return result;
  return { ...result, commands: [...result.commands, ...outstandingCommands(state)] };
};

/** Notes down whatever it is told. */
export const notingEverything: StepFunction = (state, event) => {
  const result = step(state, event);
  return result.state === state ? { ...result, state: { ...state, heard: [...state.heard, event] } } : result;
};

export const tampering =
  (change: (entries: readonly Entry[]) => readonly Entry[]) =>
  (run: SimulatedRun): SimulatedRun => ({ ...run, entries: change(run.entries) });

export const without =
  (kind: Entry["kind"]) =>
  (entries: readonly Entry[]): readonly Entry[] =>
    entries.filter((entry) => entry.kind !== kind);

/** Changes every entry of one kind. */
export const each =
  <Kind extends Entry["kind"]>(kind: Kind, change: (entry: EntryOf<Kind>) => Partial<EntryOf<Kind>>) =>
  (entries: readonly Entry[]): readonly Entry[] =>
    entries.map((entry) => (entry.kind === kind ? ({ ...entry, ...change(entry as EntryOf<Kind>) } as Entry) : entry));
