/**
 * `surety policy show|explain|test|marks|unmark`: what the agent may do, and why.
 *
 * E1. The kernel decides, as in a run.
 * E2. `explain` plans the call for real, which changes nothing, and does not perform it.
 * E3. `explain` succeeds whatever the decision is.
 */
import { isDeepStrictEqual } from "node:util";
import { visibleText } from "../../adapters/terminal/visible-text.ts";
import type { Tool } from "../../adapters/tools/define-tool.ts";
import { sessionLabels } from "../../assistant/context/session-context.ts";
import type { PolicyDecision } from "../../kernel/policy/decide-call.ts";
import { explainDecision } from "../../kernel/policy/explain-decision.ts";
import type { PolicyVerdict } from "../../kernel/policy/tool-policy.ts";
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
import { BootError, usageError } from "../boot-error.ts";
import { describeBuiltInTools } from "../built-in-tools.ts";
import type { Action, Command, CommandContext } from "../command.ts";
import type { Config } from "../config/config.ts";
import { contextLimits } from "../config/context-limits.ts";
import { loadConfig } from "../config/load-config.ts";
import { nearest } from "../nearest.ts";
import { withHome } from "../read-home.ts";
import { withSettings } from "../settings.ts";
import { systemClock } from "../system-clock.ts";
import { argumentsOf, decideDirectCall, directQuestion, GRANT_OPTION, grantsOf, openToolbox } from "./dry-run-call.ts";
import { marks, unmark } from "./marks.ts";
import { test } from "./policy-test.ts";

const CHANNEL_OPTION = {
  type: "string",
  value: "C",
  summary: `on this channel class: ${CHANNEL_CLASSES.join(", ")}`,
} as const;

const show: Action = {
  summary: "show what happens to calls of each tool, by channel class",
  options: { channel: CHANNEL_OPTION, grant: GRANT_OPTION },
  examples: ["surety policy show", "surety policy show --channel external_email", "surety policy show --json"],
  run: showPolicy,
};

const explain: Action = {
  summary: "say why a call would be allowed, asked about or denied; does not make it",
  arguments: ["TOOL", "[ARGS]"],
  options: {
    channel: { ...CHANNEL_OPTION, summary: `${CHANNEL_OPTION.summary} (default cli_local)` },
    grant: GRANT_OPTION,
    untrusted: { type: "boolean", summary: "as if the run had read untrusted data before" },
    session: {
      type: "string",
      value: "S",
      summary: "as in the next run of this session, with its grants and labels",
    },
  },
  examples: [
    'surety policy explain fs.write_text \'{"path": "a.txt", "text": "hello"}\'',
    'surety policy explain shell.exec \'{"cmd": "git status"}\'',
    'surety policy explain http.get \'{"url": "https://example.org"}\' --grant net:example.org',
    'surety policy explain http.get \'{"url": "https://example.org"}\' --session session_0123',
  ],
  run: explainCall,
};

export const command: Command = { actions: { show, explain, test, marks, unmark } };

const WORDS: Readonly<Record<PolicyVerdict, string>> = { allow: "allowed", approve: "asks", deny: "denied" };

async function showPolicy(context: CommandContext): Promise<void> {
  const { home, output } = context;
  const channels = channelOf(context) ?? CHANNEL_CLASSES;
  const capabilities = grantsOf(context);
  const config = await loadConfig(home.configFile);
  const tools = describeBuiltInTools({ home, config, clock: systemClock }).toSorted((a, b) =>
    a.name < b.name ? -1 : 1,
  );
  const shown = channels.map((channelClass) => ({
    channel: channelClass,
    tools: tools.flatMap((tool) => rowsOf(tool, { config, channelClass, capabilities })),
  }));
  const { sideEffects } = config.tools.policy;
  const { allowDomains, allowAddresses } = config.tools.http;
  const commands = config.tools.shell.allow;
  const surroundings = {
    side_effects: sideEffects,
    commands,
    allow_domains: allowDomains ?? null,
    allow_addresses: allowAddresses,
    capabilities,
  };
  output.result({ ...surroundings, channels: shown }, () => {
    for (const { channel, tools: rows } of shown) {
      output.line(`${channel}:`);
      output.table(
        ["TOOL", "RISK", "CALLS ARE", "BY", "WHY"],
        rows.map((row) => [row.tool, row.risk, WORDS[row.decision], row.policy_id, row.reason]),
      );
      output.line("");
    }
    output.line(`Side effects: ${sideEffects}.`);
    output.line(`Commands: ${commands.join(", ") || "none"}.`);
    output.line(`Hosts: ${hostsOf(config, capabilities)}.`);
    output.line("For one call: surety policy explain TOOL ARGS.");
  });
}

/** A row for calls that always ask is left out if it says the same as the row of their risk. */
function rowsOf(tool: Tool, circumstances: Circumstances): readonly ReturnType<typeof decideCase>[] {
  const rows = casesOf(tool).map((one) => decideCase(one, circumstances));
  return rows.filter((row, index) => !rows.slice(0, index).some((earlier) => isDeepStrictEqual(earlier, row)));
}

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

interface Circumstances {
  readonly config: Config;
  readonly channelClass: ChannelClass;
  readonly capabilities: readonly string[];
}

/** A reserved name: the decision about it applies to every host that is not granted by name. */
const SOME_HOST = "host.invalid";

function decideCase(one: Case, circumstances: Circumstances) {
  const { tool, risk } = one;
  const { decision, policyId, reason } = decideDirectCall(one, { ...circumstances, labels: USER_LABELS });
  return { tool, risk, decision, policy_id: policyId, reason };
}

function hostsOf({ tools: { http } }: Config, capabilities: readonly string[]): string {
  const granted =
    capabilities.length === 0 ? "none, except what a session is granted" : `granted ${capabilities.join(", ")}`;
  const net = http.allowDomains === undefined ? "every domain" : http.allowDomains.join(", ") || "no domain";
  const addresses =
    http.allowAddresses.length === 0 ? "" : `; allowed private addresses: ${http.allowAddresses.join(", ")}`;
  return `${granted}; net allows ${net}${addresses}`;
}

async function explainCall(context: CommandContext): Promise<void> {
  const [name = ""] = context.arguments;
  const { options, output } = context;
  const args = argumentsOf(context);
  const [channelClass = "cli_local"] = channelOf(context) ?? [];
  const session = await sessionOf(context);
  const capabilities = [...grantsOf(context), ...(session?.granted ?? [])];
  const seen = joinLabels(USER_LABELS, session?.labels ?? CLEAN_LABELS);
  const labels: Labels = options.flag("untrusted") ? joinLabels(seen, UNTRUSTED_LABELS) : seen;
  const { config, planned } = await withSettings(context, async (settings) => {
    const toolbox = await openToolbox(context, settings.config);
    return { config: settings.config, planned: await toolbox.plan(name, args) };
  });
  if (!planned.ok && NO_CALL.includes(planned.error.code)) {
    throw new BootError(planned.error.code, planned.error.message, "See surety tools ls --json.");
  }
  const circumstances = { config, channelClass, capabilities, labels };
  const explanation = planned.ok ? explainDecision(directQuestion(planned, circumstances), null) : null;
  const decided: PolicyDecision = planned.ok
    ? decideDirectCall(planned, circumstances)
    : { decision: "deny", policyId: "plan.problem", reason: planned.error.message };
  const { decision, policyId, reason } = decided;
  const explained = {
    tool: planned.tool,
    channel: channelClass,
    decision,
    policy_id: policyId,
    reason,
    code: planned.ok ? null : planned.error.code,
    risk: planned.ok ? planned.risk : null,
    reaches: planned.ok ? planned.egress : [],
    targets: planned.ok ? planned.plan.targets : [],
    labels,
    ...(session === null ? {} : { session_id: session.id, granted: session.granted, pending: session.pending }),
    path: explanation?.path ?? [],
    changes: explanation?.changes ?? [],
    plan: planned.ok ? planned.shown : null,
  };
  output.result(explained, () => {
    output.line(`${explained.tool} on ${channelClass}: ${WORDS[decision]}`);
    output.field("by", explained.code === null ? policyId : `${policyId} (${explained.code})`);
    output.field("why", reason);
    for (const { words } of explained.changes) output.field("else", words);
    if (explained.risk !== null) output.field("risk", explained.risk);
    if (explained.reaches.length > 0) output.field("reaches", explained.reaches.join(", "));
    if (session !== null) output.field("session", describeSession(session));
    if (explained.plan !== null) for (const line of visibleText(explained.plan).split("\n")) output.line(`  │ ${line}`);
  });
}

interface SessionState {
  readonly id: SessionId;
  readonly granted: readonly string[];
  readonly pending: readonly string[];
  /** Labels of what its next run would remember. */
  readonly labels: Labels;
}

/** Null when none was named. */
async function sessionOf(context: CommandContext): Promise<SessionState | null> {
  const named = context.options.text("session");
  if (named === undefined) return null;
  return await withHome(context, async ({ store, config }) => {
    const id = asSessionId(named);
    const session = await store.findSession(id);
    if (session === null) {
      throw new BootError("not_found", `there is no session ${named}`, "surety runs show RUN prints a run's session.");
    }
    const known = await store.capabilitiesOf(id);
    const { capabilities: granted } = grantedAt(known, systemClock.nowMs());
    const pending = known.filter(({ state }) => state === "pending").map(({ capability }) => capability);
    return { id, granted, pending, labels: await sessionLabels(store, session, contextLimits(config)) };
  });
}

function describeSession({ id, granted, pending, labels }: SessionState): string {
  return [
    id,
    `granted ${granted.join(", ") || "nothing"}`,
    `asks for ${pending.join(", ") || "nothing"}`,
    `has seen ${labels.integrity === "untrusted" ? "untrusted data" : "nothing untrusted"}`,
  ].join("; ");
}

/** No call to decide about: no such tool, or invalid arguments. */
const NO_CALL: readonly string[] = ["tool.not_found", "tool.input_invalid"];

function channelOf({ options }: CommandContext): readonly [ChannelClass] | null {
  const text = options.text("channel");
  if (text === undefined) return null;
  const found = CHANNEL_CLASSES.find((channel) => channel === text);
  if (found !== undefined) return [found];
  const meant = nearest(text, CHANNEL_CLASSES);
  const hint = meant === null ? `One of: ${CHANNEL_CLASSES.join(", ")}.` : `Did you mean ${meant}?`;
  throw usageError(`--channel ${text} is not a channel class`, hint);
}
