/** What a run may do: only what was validated, allowed, approved and asked for; and success only with its proof. */
import type { EntryOf } from "../../../src/kernel/journal/entry.ts";
import { provenEffects } from "../../../src/kernel/policy/effect-match.ts";
import type { CallId } from "../../../src/kernel/vocabulary/identifiers.ts";
import type { Happening, SimulatedRun } from "../simulated-run.ts";
import {
  dispatchedIn,
  firstProblem,
  type Invariant,
  isCompleted,
  ofKind,
  performedResult,
  turnsOf,
} from "./invariant.ts";

export const requiredNeedsProof: Invariant = {
  name: "`required` never completes without a performed call that succeeded",
  ids: ["M-C"],
  check: (run) => {
    if (run.world.contract.toolPolicy !== "required" || !isCompleted(run)) return null;
    const proven = ofKind(run.entries, "OBSERVE").some((entry) => performedResult(entry)?.ok);
    return proven ? null : "completed with no successful call";
  },
};

export const effectsNeedProof: Invariant = {
  name: "a required effect is proven by a performed, matching, successful call",
  ids: ["X-1"],
  check: (run) => {
    const { requiredEffects } = run.world.contract;
    if (requiredEffects.length === 0 || !isCompleted(run)) return null;
    const proven = succeeded(run).flatMap(({ decided: { tool, argsRef } }) => {
      const args = JSON.parse(run.bodies.get(argsRef) ?? "{}") as Record<string, unknown>;
      return provenEffects(requiredEffects, { tool, args });
    });
    const missing = requiredEffects.findIndex((_, index) => !proven.includes(index));
    return missing === -1 ? null : `completed without effect ${missing}`;
  },
};

function succeeded({ entries }: SimulatedRun): readonly EntryOf<"EXECUTE">[] {
  const intents = ofKind(entries, "EXECUTE");
  return ofKind(entries, "OBSERVE")
    .filter((entry) => performedResult(entry)?.ok)
    .flatMap(
      ({ seq, decided }) =>
        intents.findLast((intent) => intent.seq < seq && intent.decided.callId === decided.callId) ?? [],
    );
}

export const forbiddenActsNever: Invariant = {
  name: "`forbidden` performs nothing",
  ids: [],
  check: (run) => {
    if (run.world.contract.toolPolicy !== "forbidden") return null;
    if (ofKind(run.entries, "EXECUTE").length > 0) return "an intent was recorded";
    const acted = dispatchedIn(run).find(
      ({ command }) => command.type === "run-tool" || command.type === "spawn-child",
    );
    return acted === undefined ? null : `${acted.command.type} was dispatched`;
  },
};

export const executesWhatWasValidated: Invariant = {
  name: "every executed call was allowed by its turn's VALIDATE_CALLS, with the same plan and approval",
  ids: [],
  check: ({ entries }) =>
    firstProblem(turnsOf(entries), (turn) => {
      const allowed = ofKind(turn, "VALIDATE_CALLS").flatMap(({ decided }) => decided.calls);
      const retries = ofKind(turn, "OBSERVE").flatMap(({ decided }) => decided.heard);
      return firstProblem(ofKind(turn, "EXECUTE"), ({ seq, decided }) => {
        const isApprovedRetry = retries.some(
          (event) =>
            event.type === "approval.decided" &&
            event.decision === "allow" &&
            event.callId === decided.callId &&
            event.planHash === decided.planHash &&
            event.approvalId === decided.approvalId,
        );
        if (isApprovedRetry) return null;
        const call = allowed.find(({ callId }) => callId === decided.callId);
        const isSame =
          call?.decision === "allow" &&
          call.tool === decided.tool &&
          call.argsRef === decided.argsRef &&
          call.planHash === decided.planHash &&
          call.approvalId === decided.approvalId;
        return isSame ? null : `entry ${seq}: ${decided.tool} was not allowed like this`;
      });
    }),
};

export const onlyAcceptedAnswersGoOn: Invariant = {
  name: "an answer the adapter rejected, or recovered under strict_mode, goes nowhere",
  ids: ["M-A", "M-4.2"],
  check: ({ entries, world: { contract } }) =>
    firstProblem(ofKind(entries, "INFER"), ({ seq, result }) => {
      if (result?.type !== "model.answered" || entries[seq]?.kind === "COMMIT") return null;
      const { status } = result.adapter;
      const isAccepted = status === "native" || (status === "recovered" && !contract.strictMode);
      return isAccepted ? null : `entry ${seq}: a ${status} answer went on`;
    }),
};

export const strictActsWholeOrNotAtAll: Invariant = {
  name: "under strict_mode a batch with a refused call performs nothing",
  ids: ["M-7.5"],
  check: ({ entries, world: { contract } }) => {
    if (!contract.strictMode) return null;
    return firstProblem(turnsOf(entries), (turn) => {
      const [firstIntent] = ofKind(turn, "EXECUTE");
      if (firstIntent === undefined) return null;
      const calls = ofKind(turn, "VALIDATE_CALLS").flatMap(({ decided }) => decided.calls);
      if (calls.some(({ decision }) => decision === "deny")) return `${firstIntent.stepId}: half a batch was performed`;
      // Nothing has happened yet that could have refused a call since validation.
      const isFirst = calls[0]?.callId === firstIntent.decided.callId;
      return isFirst ? null : `${firstIntent.stepId}: performed without the calls that stood before`;
    });
  },
};

/** Whatever was refused in between; what a person had tried again follows itself. */
export const neverFollowsForbiddenPairs: Invariant = {
  name: "no tool is performed directly after one it must not follow",
  ids: [],
  check: ({ entries, world: { contract } }) => {
    let previous: EntryOf<"EXECUTE"> | null = null;
    return firstProblem(ofKind(entries, "EXECUTE"), (intent) => {
      const { tool, callId } = intent.decided;
      const before = previous?.decided.tool;
      const isRetry = previous?.stepId === intent.stepId && previous.decided.callId === callId;
      previous = intent;
      const isForbidden = contract.cycleForbid.some(([first, second]) => first === before && second === tool);
      return isForbidden && !isRetry ? `entry ${intent.seq}: ${tool} directly after ${before}` : null;
    });
  },
};

export const endsCycles: Invariant = {
  name: "a run that repeats a call with its result three times, or a pair twice, asks the model no more",
  ids: ["X-7"],
  check: ({ entries, world }) => {
    const intents = ofKind(entries, "EXECUTE");
    let trail: string[] = [];
    let cycledAt: number | null = null;
    return firstProblem(entries, (entry) => {
      if (entry.kind === "INFER" && cycledAt !== null) return `entry ${entry.seq}: asked again after entry ${cycledAt}`;
      // A refusal is a result too; where it falls among the others the entries do not say, so the trail starts anew.
      const isBroken =
        (entry.kind === "VALIDATE_CALLS" && entry.decided.calls.some(({ decision }) => decision === "deny")) ||
        (entry.kind === "COMMIT" && entry.decided.skipped.length > 0);
      if (isBroken) trail = [];
      if (entry.kind !== "OBSERVE") return null;
      const intent = intents.findLast(({ seq, decided }) => seq < entry.seq && decided.callId === entry.decided.callId);
      const result = performedResult(entry);
      if (intent === undefined || result === null) return null;
      const { tool, argsRef } = intent.decided;
      const isPollable = world.tools.find(({ name }) => name === tool)?.pollable ?? false;
      trail = isPollable ? [] : [...trail, `${tool} ${argsRef} ${result.identity}`].slice(-4);
      if (isCyclic(trail)) cycledAt ??= entry.seq;
      return null;
    });
  },
};

function isCyclic(trail: readonly string[]): boolean {
  const [a, b, c, d] = trail.toReversed();
  if (a === undefined || c === undefined) return false;
  return (a === b && b === c) || (a === c && b === d && d !== undefined);
}

export const approvalsBind: Invariant = {
  name: "an approval is a person's, for that very plan, and is used once",
  ids: ["X-12", "T-4.2"],
  check: ({ happenings }) => {
    const seen: Happening[] = [];
    return firstProblem(happenings, (happening) => {
      const problem =
        happening.kind === "heard"
          ? firstProblem(ofKind(happening.entries, "EXECUTE"), (intent) => problemOfApproval(intent, seen))
          : null;
      seen.push(happening);
      return problem;
    });
  },
};

function problemOfApproval({ seq, decided, stepId }: EntryOf<"EXECUTE">, seen: readonly Happening[]): string | null {
  const { approvalId, callId, planHash } = decided;
  if (approvalId === null) return null;
  const given = seen.find((happening) => happening.kind === "approved" && happening.approvalId === approvalId);
  if (given?.kind !== "approved" || given.decision !== "allow")
    return `entry ${seq}: nobody gave approval ${approvalId}`;
  if (given.callId !== callId || given.planHash !== planHash || `step-${given.turn}` !== stepId) {
    return `entry ${seq}: approval ${approvalId} was for something else`;
  }
  const uses = seen.filter(
    (happening) =>
      happening.kind === "heard" &&
      ofKind(happening.entries, "EXECUTE").some((intent) => intent.decided.approvalId === approvalId),
  ).length;
  return uses <= retriesOf(seen, given.turn, callId) ? null : `entry ${seq}: approval ${approvalId} was used before`;
}

export function retriesOf(happenings: readonly Happening[], turn: number, callId: CallId): number {
  return happenings.filter(
    (happening) =>
      happening.kind === "resolved" &&
      happening.turn === turn &&
      happening.callId === callId &&
      happening.decision === "retry",
  ).length;
}
