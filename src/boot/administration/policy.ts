/**
 * What the agent may do, and why: for `surety policy` and for the gateway's clients.
 *
 * E1. The kernel decides, as in a run, and nothing is waived.
 * E2. A call is planned for real, which changes nothing, and not performed.
 */
import { isDeepStrictEqual } from "node:util";
import type { Tool } from "../../adapters/tools/define-tool.ts";
import { sessionLabels } from "../../assistant/context/session-context.ts";
import type { ExplainedCall, PolicyAdministration, PolicyGrid } from "../../assistant/policy/operations.ts";
import { whyAsked } from "../../kernel/machine/decide-now.ts";
import { decideCall, type PolicyDecision, type PolicyQuestion } from "../../kernel/policy/decide-call.ts";
import { explainDecision } from "../../kernel/policy/explain-decision.ts";
import { parseCapability } from "../../kernel/vocabulary/capability.ts";
import { asSessionId, type SessionId } from "../../kernel/vocabulary/identifiers.ts";
import {
  CLEAN_LABELS,
  joinLabels,
  type Labels,
  UNTRUSTED_LABELS,
  USER_LABELS,
} from "../../kernel/vocabulary/labels.ts";
import { CHANNEL_CLASSES, type ChannelClass, type RiskClass } from "../../kernel/vocabulary/risk.ts";
import { grantedAt } from "../../runtime/capabilities/authority.ts";
import { refuse } from "../../runtime/operations/operation.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import type { Store } from "../../runtime/ports/store.ts";
import type { Arguments, Planned, Toolbox, Unplannable } from "../../runtime/ports/toolbox.ts";
import type { Config } from "../config/config.ts";
import { contextLimits } from "../config/context-limits.ts";
import { toToolPolicy } from "../config/to-tool-policy.ts";

export interface PolicyParts {
  readonly store: Store;
  readonly clock: Pick<Clock, "nowMs">;
  readonly config: () => Config;
  readonly toolbox: () => Toolbox;
  /** To be described only. */
  readonly tools: () => readonly Tool[];
}

export function openPolicyAdministration(parts: PolicyParts): PolicyAdministration {
  const { store, clock, config: now, toolbox, tools } = parts;
  return {
    show: () => policyGrid(now(), tools(), CHANNEL_CLASSES, []),
    explain: async ({ tool, args = {}, channel = "cli_local", grants = [], untrusted = false, session_id: named }) => {
      const wrong = grants.findIndex((each) => parseCapability(each) === null);
      if (wrong >= 0) return refuse("invalid.request", `grants[${wrong}] must be net, or net: and a domain`);
      const config = now();
      const session = named === undefined ? null : await sessionState(store, config, asSessionId(named), clock.nowMs());
      if (named !== undefined && session === null) return refuse("not_found", "no such session");
      const planned = await toolbox().plan(tool, args as Arguments);
      if (isNoCall(planned)) {
        const code = planned.error.code === "tool.not_found" ? "not_found" : "invalid.request";
        return refuse(code, planned.error.message);
      }
      return {
        ok: true,
        value: explainPlanned(planned, { config, channelClass: channel, grants, untrusted, session }),
      };
    },
  };
}

export function policyGrid(
  config: Config,
  tools: readonly Tool[],
  channels: readonly ChannelClass[],
  capabilities: readonly string[],
): PolicyGrid {
  const { policy, http, shell } = config.tools;
  const sorted = tools.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return {
    side_effects: policy.sideEffects,
    commands: [...shell.allow],
    allow_domains: http.allowDomains === undefined ? null : [...http.allowDomains],
    allow_addresses: [...http.allowAddresses],
    capabilities: [...capabilities],
    policy,
    channels: channels.map((channelClass) => ({
      channel: channelClass,
      tools: sorted.flatMap((tool) => [...rowsOf(tool, { config, channelClass, capabilities })]),
    })),
  };
}

/** A row for calls that always ask is left out if it says the same as the row of their risk. */
function rowsOf(tool: Tool, circumstances: Omit<Circumstances, "labels">): readonly ReturnType<typeof decideCase>[] {
  const rows = casesOf(tool).map((one) => decideCase(one, circumstances));
  return rows.filter((row, index) => !rows.slice(0, index).some((earlier) => isDeepStrictEqual(earlier, row)));
}

/** A reserved name: the decision about it applies to every host that is not granted by name. */
const SOME_HOST = "host.invalid";

/** One case for each risk that the tool's calls may have. */
function casesOf({ name, risk, reachesHosts, mayOnlyRead, mayAskAlways }: Tool): readonly Case[] {
  const ordinary = { tool: name, risk, egress: reachesHosts ? [SOME_HOST] : [], asksAlways: false };
  return [
    ...(mayOnlyRead ? [{ ...ordinary, risk: "read_only" as const }] : []),
    ordinary,
    ...(mayAskAlways ? [{ ...ordinary, asksAlways: true }] : []),
  ];
}

interface Case {
  readonly tool: string;
  readonly risk: RiskClass;
  readonly egress: readonly string[];
  readonly asksAlways: boolean;
}

function decideCase(one: Case, circumstances: Omit<Circumstances, "labels">) {
  const { tool, risk } = one;
  const { decision, policyId, reason } = decideDirectCall(one, { ...circumstances, labels: USER_LABELS });
  return { tool, risk, decision, policy_id: policyId, reason };
}

interface Circumstances {
  readonly config: Config;
  readonly channelClass: ChannelClass;
  readonly capabilities: readonly string[];
  /** Labels of the context that proposes the call. */
  readonly labels: Labels;
}

type DirectCall = Pick<Planned, "tool" | "risk" | "egress" | "asksAlways">;

/** What is asked about the call, and the rules of later runs answer. */
function directQuestion(
  { tool, risk, egress, asksAlways }: DirectCall,
  { config, channelClass, capabilities, labels }: Circumstances,
): PolicyQuestion {
  return {
    ...{ tool, risk, egress, asksAlways, channelClass, capabilities, labels },
    policy: toToolPolicy(config),
    honeypot: false,
    approvedTools: [],
    allowedTools: [tool],
  };
}

export function decideDirectCall(call: DirectCall, circumstances: Circumstances): PolicyDecision {
  const decided = decideCall(directQuestion(call, circumstances));
  const { decision, policyId } = decided;
  const { tool, risk } = call;
  return decision === "approve" ? { ...decided, reason: whyAsked(policyId, { tool, risk }) } : decided;
}

export interface SessionState {
  readonly id: SessionId;
  readonly granted: readonly string[];
  readonly pending: readonly string[];
  /** Labels of what its next run would remember. */
  readonly labels: Labels;
}

/** Null when there is no such session. */
export async function sessionState(
  store: Store,
  config: Config,
  id: SessionId,
  nowMs: number,
): Promise<SessionState | null> {
  const session = await store.findSession(id);
  if (session === null) return null;
  const known = await store.capabilitiesOf(id);
  const { capabilities: granted } = grantedAt(known, nowMs);
  const pending = known.filter(({ state }) => state === "pending").map(({ capability }) => capability);
  return { id, granted, pending, labels: await sessionLabels(store, session, contextLimits(config)) };
}

/** No call to decide about: no such tool, or invalid arguments. */
export function isNoCall(planned: Planned | Unplannable): planned is Unplannable {
  return !planned.ok && ["tool.not_found", "tool.input_invalid"].includes(planned.error.code);
}

export function explainPlanned(
  planned: Planned | Unplannable,
  {
    config,
    channelClass,
    grants,
    untrusted,
    session,
  }: {
    readonly config: Config;
    readonly channelClass: ChannelClass;
    readonly grants: readonly string[];
    readonly untrusted: boolean;
    readonly session: SessionState | null;
  },
): ExplainedCall {
  const capabilities = [...grants, ...(session?.granted ?? [])];
  const seen = joinLabels(USER_LABELS, session?.labels ?? CLEAN_LABELS);
  const labels: Labels = untrusted ? joinLabels(seen, UNTRUSTED_LABELS) : seen;
  const circumstances = { config, channelClass, capabilities, labels };
  const explanation = planned.ok ? explainDecision(directQuestion(planned, circumstances), null) : null;
  const { decision, policyId, reason }: PolicyDecision = planned.ok
    ? decideDirectCall(planned, circumstances)
    : { decision: "deny", policyId: "plan.problem", reason: planned.error.message };
  return {
    tool: planned.tool,
    channel: channelClass,
    ...{ decision, policy_id: policyId, reason },
    code: planned.ok ? null : planned.error.code,
    risk: planned.ok ? planned.risk : null,
    reaches: planned.ok ? [...planned.egress] : [],
    targets: planned.ok ? [...planned.plan.targets] : [],
    labels,
    ...(session === null
      ? {}
      : { session_id: session.id, granted: [...session.granted], pending: [...session.pending] }),
    path: [...(explanation?.path ?? [])],
    changes: [...(explanation?.changes ?? [])],
    plan: planned.ok ? planned.shown : null,
  };
}
