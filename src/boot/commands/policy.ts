/**
 * `surety policy show|explain|test|marks|unmark`: what the agent may do, and why.
 * `explain` succeeds whatever the decision is.
 */
import { visibleText } from "../../adapters/terminal/visible-text.ts";
import type { PolicyVerdict } from "../../kernel/policy/tool-policy.ts";
import { asSessionId } from "../../kernel/vocabulary/identifiers.ts";
import { CHANNEL_CLASSES, type ChannelClass } from "../../kernel/vocabulary/risk.ts";
import { explainPlanned, isNoCall, policyGrid, type SessionState, sessionState } from "../administration/policy.ts";
import { BootError, usageError } from "../boot-error.ts";
import { describeBuiltInTools } from "../built-in-tools.ts";
import type { Action, Command, CommandContext } from "../command.ts";
import type { Config } from "../config/config.ts";
import { loadConfig } from "../config/load-config.ts";
import { nearest } from "../nearest.ts";
import { withHome } from "../read-home.ts";
import { withSettings } from "../settings.ts";
import { systemClock } from "../system-clock.ts";
import { argumentsOf, GRANT_OPTION, grantsOf, openToolbox } from "./dry-run-call.ts";
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
  const tools = describeBuiltInTools({ home, config, clock: systemClock });
  const grid = policyGrid(config, tools, channels, capabilities);
  output.result(grid, () => {
    for (const { channel, tools: rows } of grid.channels) {
      output.line(`${channel}:`);
      output.table(
        ["TOOL", "RISK", "CALLS ARE", "BY", "WHY"],
        rows.map((row) => [row.tool, row.risk, WORDS[row.decision], row.policy_id, row.reason]),
      );
      output.line("");
    }
    output.line(`Side effects: ${grid.side_effects}.`);
    output.line(`Commands: ${grid.commands.join(", ") || "none"}.`);
    output.line(`Hosts: ${hostsOf(config, capabilities)}.`);
    output.line("For one call: surety policy explain TOOL ARGS.");
  });
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
  const grants = grantsOf(context);
  const session = await sessionOf(context);
  const { config, planned } = await withSettings(context, async (settings) => {
    const toolbox = await openToolbox(context, settings.config);
    return { config: settings.config, planned: await toolbox.plan(name, args) };
  });
  if (isNoCall(planned)) throw new BootError(planned.error.code, planned.error.message, "See surety tools ls --json.");
  const explained = explainPlanned(planned, {
    ...{ config, channelClass, session, grants },
    untrusted: options.flag("untrusted"),
  });
  output.result(explained, () => {
    output.line(`${explained.tool} on ${channelClass}: ${WORDS[explained.decision]}`);
    output.field("by", explained.code === null ? explained.policy_id : `${explained.policy_id} (${explained.code})`);
    output.field("why", explained.reason);
    for (const { words } of explained.changes) output.field("else", words);
    if (explained.risk !== null) output.field("risk", explained.risk);
    if (explained.reaches.length > 0) output.field("reaches", explained.reaches.join(", "));
    if (session !== null) output.field("session", describeSession(session));
    if (explained.plan !== null) for (const line of visibleText(explained.plan).split("\n")) output.line(`  │ ${line}`);
  });
}

/** Null when none was named. */
async function sessionOf(context: CommandContext): Promise<SessionState | null> {
  const named = context.options.text("session");
  if (named === undefined) return null;
  return await withHome(context, async ({ store, config }) => {
    const state = await sessionState(store, config, asSessionId(named), systemClock.nowMs());
    if (state !== null) return state;
    throw new BootError("not_found", `there is no session ${named}`, "surety runs show RUN prints a run's session.");
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

function channelOf({ options }: CommandContext): readonly [ChannelClass] | null {
  const text = options.text("channel");
  if (text === undefined) return null;
  const found = CHANNEL_CLASSES.find((channel) => channel === text);
  if (found !== undefined) return [found];
  const meant = nearest(text, CHANNEL_CLASSES);
  const hint = meant === null ? `One of: ${CHANNEL_CLASSES.join(", ")}.` : `Did you mean ${meant}?`;
  throw usageError(`--channel ${text} is not a channel class`, hint);
}
