/**
 * May this planned call be run, must a person approve it first, or is it refused? (P-3.2, P-3.3, S-4.4, X-5)
 *
 * D1. Fail closed. The gates below are asked in order; the first that refuses decides, and nothing lifts it:
 *     a. the contract's frozen list of tools (names, not patterns);
 *     b. the kill switch, which refuses `side_effect`. It leaves `read_only` and `draft_only`: a draft has no effect
 *        until a side effect sends it;
 *     c. the allowlist by tool;
 *     d. the allowlist by channel class, where an absent class has no tools;
 *     e. the network: each host needs `net:<host>` (that very host, no subdomain), or `net` and, where a global
 *        allowlist is configured, a place on it. `net:<host>` overrides that list. A text that is not a
 *        capability by grammar grants nothing.
 * D2. Then the rules: the strictest exception that matches, whatever its position, so that no order of exceptions
 *     opens what one of them closes; without one, the default of the risk class. An allow-exception lifts
 *     the rule of the risk class and nothing else. Neither allows a call that always asks: they name a tool, and the
 *     tool alone does not tell what such a call does.
 * D3. An approval demanded by D2 is waived for a tool the operator approved for this run, and for a honeypot send,
 *     unless that always asks.
 * D4. The latch: in a context that has seen private and untrusted data no waiver of D3 counts, and what has egress
 *     or is not `read_only` is never allowed outright. Only an approval of that very plan opens it.
 * D5. Monotone: fewer tools, capabilities or waivers, a stricter rule, the kill switch, more egress, higher labels or
 *     that a call always asks never make a decision more permissive.
 * D6. Live policy only narrows: `decideUnder` is never more permissive than the contract alone or live policy alone.
 * D7. A decision names its rule by a stable id and gives one sentence of advice. The sentences are fixed, so
 *     nothing of a call leaks through them; a refusal is recorded with its sentence, so none may be reworded.
 */
import { parseCapability } from "../vocabulary/capability.ts";
import { isLatched, type Labels } from "../vocabulary/labels.ts";
import type { ChannelClass, RiskClass } from "../vocabulary/risk.ts";
import { jsonEquals } from "./json-equals.ts";
import { matchesTool } from "./tool-pattern.ts";
import type { PolicyVerdict, ToolPolicy } from "./tool-policy.ts";

export interface PolicyQuestion {
  readonly tool: string;
  readonly risk: RiskClass;
  /** Hosts the call would reach, in lower case. */
  readonly egress: readonly string[];
  /** `isHoneypotSend` under this question's policy. */
  readonly honeypot: boolean;
  /** No rule about its tool may allow this plan: it may start other programs, or removes whole directories. */
  readonly asksAlways: boolean;
  readonly channelClass: ChannelClass;
  readonly policy: ToolPolicy;
  readonly capabilities: readonly string[];
  readonly labels: Labels;
  readonly approvedTools: readonly string[];
  /** The contract's list, resolved at sealing. */
  readonly allowedTools: readonly string[];
}

export interface PolicyDecision {
  readonly decision: PolicyVerdict;
  readonly policyId: string;
  readonly reason: string;
}

export function decideCall(question: PolicyQuestion): PolicyDecision {
  const [first, ...later] = decidingRules(question);
  return later.at(-1) ?? first;
}

/** The gate that refused, or the rules of D2 to D4 that spoke, in order: each overrules those before it. */
export function decidingRules(question: PolicyQuestion): readonly [PolicyDecision, ...PolicyDecision[]] {
  const refusal = refusalOf(question);
  if (refusal !== null) return [refusal];
  const configured = configuredRuleFor(question);
  const asksAlways = configured.decision === "allow" && question.asksAlways ? ASKS_ALWAYS : null;
  const ruled = asksAlways ?? configured;
  const waiver = ruled.decision === "approve" ? waiverOf(question) : null;
  const decision = waiver ?? ruled;
  const hasEffect = question.egress.length > 0 || question.risk !== "read_only";
  const needsLatchOpen = decision.decision === "allow" && (waiver !== null || hasEffect);
  const latch = needsLatchOpen && isLatched(question.labels) ? LATCHED : null;
  return [configured, ...[asksAlways, waiver, latch].filter((rule) => rule !== null)];
}

/** The decision under contract ∩ live; `live` is null while live policy is the contract's own. */
export function decideUnder(
  question: PolicyQuestion,
  live: Pick<PolicyQuestion, "policy" | "capabilities"> | null,
): PolicyDecision {
  const underContract = decideCall(question);
  if (live === null) return underContract;
  // The five conditions were checked against the contract's terms; under different live terms they prove nothing.
  const honeypot = question.honeypot && jsonEquals(question.policy.honeypot, live.policy.honeypot);
  const { policy, capabilities } = live;
  return stricter(underContract, decideCall({ ...question, policy, capabilities, honeypot }));
}

/** The stricter of two decisions; the first, where they agree. */
export function stricter(a: PolicyDecision, b: PolicyDecision): PolicyDecision {
  return STRICTNESS[b.decision] > STRICTNESS[a.decision] ? b : a;
}

const STRICTNESS: Readonly<Record<PolicyVerdict, number>> = { allow: 0, approve: 1, deny: 2 };

function refusalOf(question: PolicyQuestion): PolicyDecision | null {
  const { tool, risk, policy } = question;
  if (!question.allowedTools.includes(tool)) {
    return deny("policy.contract", "This run's contract does not list the tool: start a run whose allowed_tools do.");
  }
  if (policy.sideEffects === "disabled" && risk === "side_effect") {
    return deny("policy.kill-switch", "Side effects are switched off: see tools.policy.sideEffects.");
  }
  if (!policy.allow.some((pattern) => matchesTool(pattern, tool))) {
    return deny("policy.not-allowlisted", "The tool is not allowlisted: add it to tools.policy.allow.");
  }
  const channelTools = policy.channels[question.channelClass] ?? [];
  if (!channelTools.some((pattern) => matchesTool(pattern, tool))) {
    return deny("policy.channel", "The tool is not allowlisted for this channel: see tools.policy.channels.");
  }
  return question.egress.length === 0 || mayReachAll(question)
    ? null
    : deny(
        "policy.capability",
        "The call reaches a host that is not granted: grant net:<domain>, or net with the domain in allowDomains.",
      );
}

function mayReachAll({ egress, capabilities, policy }: PolicyQuestion): boolean {
  const granted = capabilities.filter((text) => parseCapability(text) !== null);
  return egress.every((host) => mayReach(host, granted, policy.allowDomains));
}

function mayReach(host: string, granted: readonly string[], allowDomains: readonly string[] | null): boolean {
  if (granted.includes(`net:${host}`)) return true;
  return granted.includes("net") && (allowDomains === null || allowDomains.includes(host));
}

function configuredRuleFor({ tool, risk, channelClass, policy }: PolicyQuestion): PolicyDecision {
  const matching = policy.exceptions.flatMap((exception, index) =>
    matchesTool(exception.tool, tool) && (exception.channel ?? channelClass) === channelClass
      ? [{ decision: exception.decision, policyId: `policy.exception.${index}`, reason: EXCEPTION[exception.decision] }]
      : [],
  );
  const [first, ...others] = matching;
  if (first !== undefined) return others.reduce(stricter, first);
  const decision = policy.risk[risk];
  return { decision, policyId: `policy.risk.${risk}`, reason: RISK[decision] };
}

const EXCEPTION: Readonly<Record<PolicyVerdict, string>> = {
  allow: "An exception in tools.policy.exceptions allows this call.",
  approve: "An exception in tools.policy.exceptions asks for approval: approve or deny this plan.",
  deny: "An exception in tools.policy.exceptions denies this call: remove the exception to permit it.",
};
const RISK: Readonly<Record<PolicyVerdict, string>> = {
  allow: "Calls of this risk class are allowed by tools.policy.risk.",
  approve: "Calls of this risk class need approval: approve or deny this plan.",
  deny: "Calls of this risk class are denied: see tools.policy.risk.",
};

const ASKS_ALWAYS: PolicyDecision = {
  decision: "approve",
  policyId: "policy.asks-always",
  reason:
    "What may start other programs or removes whole directories asks whatever the rules allow: approve or deny this plan.",
};

const LATCHED: PolicyDecision = {
  decision: "approve",
  policyId: "policy.latch",
  reason: "This context holds private and untrusted data: approve this very plan, or start a session without them.",
};

function waiverOf({ tool, approvedTools, honeypot, asksAlways }: PolicyQuestion): PolicyDecision | null {
  if (approvedTools.includes(tool)) {
    return {
      decision: "allow",
      policyId: "policy.approved-tool",
      reason: "The operator approved this tool for this run.",
    };
  }
  if (honeypot && !asksAlways) {
    return { decision: "allow", policyId: "policy.honeypot", reason: "All five conditions of a honeypot send hold." };
  }
  return null;
}

function deny(policyId: string, reason: string): PolicyDecision {
  return { decision: "deny", policyId, reason };
}
