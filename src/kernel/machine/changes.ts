/**
 * The registry of replay-affecting changes: every change of `step()` that would alter the entries of an older journal,
 * with the `machine_version` it came with and its reason. States ask `hasChange`; a run keeps the machine its contract was
 * sealed with, also across an upgrade while it is parked.
 *
 * A new change gets a row here, the next number in `MACHINE_VERSION` unless that is unreleased, and a golden journal.
 * Rows are never edited or removed.
 */
import { type ExecutionContract, SUMMARIZERS_SINCE } from "../contract/contract.ts";

export const MACHINE_CHANGES = {
  "cycle.compares-what-stays": {
    since: 2,
    reason:
      "Durations, fetch times and the wording of errors made equal results look different, so loops went on. Results are compared without their tool's volatile fields, errors by code.",
  },
  "cycle.longer-periods": {
    since: 2,
    reason: "A loop over three or four calls (a b c a b c) was not seen; only a repeated call or pair was.",
  },
  "proof.refused-calls-were-tried": {
    since: 2,
    reason:
      "A model whose calls were all denied, unknown or invalid did call tools: its run ends FAILED_VALIDATION, no longer FAILED_PROTOCOL_NO_TOOLS.",
  },
  "observe.states-unknown": {
    since: 2,
    reason:
      "An entry that ends a call whose effect is not known held no error; it now states internal.error, not retryable, details.outcome unknown.",
  },
  "retry.plans-again": {
    since: 4,
    reason:
      "A call that was cut off and had changed its own plan's files was refused when a person let it be tried again, as if it had not run. It is planned again, and another plan is asked about.",
  },
  "preflight.offers-summarizers": {
    since: SUMMARIZERS_SINCE,
    reason:
      "A contract with a summarizer_model failed preflight; now that model summarises outputs that are over their budget.",
  },
  "turn.limits-read-only-calls": {
    since: 5,
    reason:
      "A contract may state the policy state it was drafted under. Its autonomy bias limits the read-only calls of one turn; what the model proposed beyond them is skipped, and it may propose that again.",
  },
  "answer.is-reviewed": {
    since: 5,
    reason:
      "A contract whose policy state has critiqueEnabled gets one more inference, of mode critique, before its answer counts: it passes the draft or replaces it.",
  },
} as const satisfies Record<string, { readonly since: number; readonly reason: string }>;

export type MachineChange = keyof typeof MACHINE_CHANGES;

export function hasChange(
  { machineVersion }: Pick<ExecutionContract, "machineVersion">,
  change: MachineChange,
): boolean {
  return machineVersion >= MACHINE_CHANGES[change].since;
}
