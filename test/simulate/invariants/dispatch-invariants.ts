/** What leaves the runtime, judged a second time at the moment it is dispatched, by somebody who saw everything. */
import type { PlannedCall } from "../../../src/kernel/journal/event.ts";
import { decideUnder } from "../../../src/kernel/policy/decide-call.ts";
import type { ApprovalId, CallId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { CLEAN_LABELS, isLatched, joinLabels, type Labels } from "../../../src/kernel/vocabulary/labels.ts";
import type { DispatchedHappening, SimulatedRun } from "../simulated-run.ts";
import { firstProblem, type Invariant, ofKind } from "./invariant.ts";

interface Dispatch {
  readonly dispatched: DispatchedHappening;
  readonly plan: PlannedCall;
  /** Of everything the run had seen by then. */
  readonly labels: Labels;
  /** A person allowed the intent that is being carried out. */
  readonly isApproved: boolean;
}

function checkDispatches(run: SimulatedRun, problemOf: (dispatch: Dispatch) => string | null): string | null {
  let labels: Labels = CLEAN_LABELS;
  let plans: readonly PlannedCall[] = [];
  const allowed = new Set<ApprovalId | null>();
  const approvalOf = new Map<CallId, ApprovalId | null>();
  return firstProblem(run.happenings, (happening) => {
    if (happening.kind === "approved" && happening.decision === "allow") allowed.add(happening.approvalId);
    if (happening.kind === "heard" && happening.before !== happening.after) {
      const { event, entries } = happening;
      if (event.type === "run.accepted") labels = joinLabels(labels, event.labels);
      if (event.type === "calls.planned") {
        // A call that is tried again is planned alone.
        const kept = happening.before.phase.at === "OBSERVE" ? plans : [];
        plans = [...event.calls, ...kept.filter(({ callId }) => event.calls.every((call) => call.callId !== callId))];
      }
      const isResult = event.type === "tool.finished" || event.type === "child.finished";
      if (isResult && entries.length > 0) labels = joinLabels(labels, event.labels);
      for (const { decided } of ofKind(entries, "EXECUTE")) approvalOf.set(decided.callId, decided.approvalId);
    }
    if (happening.kind !== "dispatched") return null;
    const { command, isRepeat } = happening;
    if (command.type !== "run-tool" && command.type !== "spawn-child") return null;
    // A child exists since its intent: asking for it again starts nothing.
    if (command.type === "spawn-child" && isRepeat) return null;
    const plan = plans.find(({ callId }) => callId === command.callId);
    if (plan === undefined) return `${command.callId} was dispatched without a plan`;
    const isApproved = allowed.has(approvalOf.get(command.callId) ?? null);
    return problemOf({ dispatched: happening, plan, labels, isApproved });
  });
}

export const obeysPolicy: Invariant = {
  name: "what is dispatched is allowed by contract and live policy at that moment, or approved where they ask",
  ids: ["P-3.2", "P-3.3", "S-4.4"],
  check: (run) => {
    const { contract, accepted } = run.world;
    const { policy, capabilities, channelClass, approvedTools } = contract;
    const allowedTools = contract.allowedTools ?? accepted.tools.names;
    const terms = { channelClass, policy, capabilities, approvedTools, allowedTools, labels: CLEAN_LABELS };
    return checkDispatches(run, ({ plan, dispatched, isApproved }) => {
      const { tool, risk, egress, honeypot, asksAlways = false } = plan;
      const asked = { ...terms, tool, risk, egress, honeypot, asksAlways };
      const { decision, policyId } = decideUnder(asked, dispatched.live);
      const isAllowed = decision === "allow" || (decision === "approve" && isApproved);
      return isAllowed ? null : `${tool} was dispatched against ${policyId}`;
    });
  },
};

export const asksWhatMustBeAsked: Invariant = {
  name: "what always asks is dispatched only where a person approved the plan, or the operator its tool for this run",
  ids: ["P-3.3"],
  check: (run) =>
    checkDispatches(run, ({ plan, isApproved }) => {
      const isAnswered = isApproved || run.world.contract.approvedTools.includes(plan.tool);
      return plan.asksAlways && !isAnswered ? `${plan.tool} was dispatched although it always asks` : null;
    }),
};

export const killSwitchHolds: Invariant = {
  name: "once side effects are switched off none is dispatched",
  ids: [],
  check: (run) =>
    checkDispatches(run, ({ plan, dispatched }) => {
      const policies = [run.world.contract.policy, dispatched.live?.policy];
      const isOff = policies.some((policy) => policy?.sideEffects === "disabled");
      return isOff && plan.risk === "side_effect" ? `${plan.tool} was dispatched with the kill switch on` : null;
    }),
};

export const keepsTheLatch: Invariant = {
  name: "a context that saw private and untrusted data neither acts nor reaches out without an approval",
  ids: ["X-5"],
  check: (run) =>
    checkDispatches(run, ({ plan, labels, isApproved }) => {
      const reachesOut = plan.egress.length > 0 || plan.risk !== "read_only";
      if (!isLatched(labels) || !reachesOut || isApproved) return null;
      return `${plan.tool} was dispatched from a latched context without approval`;
    }),
};
