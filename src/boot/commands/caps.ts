/** `surety caps ls|grant|revoke|deny`: what sessions may reach, and what they ask for; only an operator decides (S-2.4). */
import type { CapabilitiesShown, Refusal } from "../../assistant/assistant.ts";
import { wireCapabilities, wirePending } from "../../assistant/wire-capabilities.ts";
import { asSessionId, type SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { type CapabilityDecision, MAX_EXPIRY_S } from "../../runtime/capabilities/capabilities.ts";
import {
  capabilitiesOf,
  pendingCapabilities,
  type SessionCapabilities,
} from "../../runtime/capabilities/stored-capabilities.ts";
import type { StoredCapability } from "../../runtime/ports/store.ts";
import { BootError, EXIT, usageError } from "../boot-error.ts";
import type { Action, Command, CommandContext } from "../command.ts";
import { withAssistant } from "../connect-assistant.ts";
import { withHome } from "../read-home.ts";
import { defectReporter } from "../report-failure.ts";
import { systemClock } from "../system-clock.ts";
import { allPages } from "./all-pages.ts";

const SESSION = { session: { type: "string", value: "S", summary: "the session it is about" } } as const;

const ls: Action = {
  summary: "list what all sessions ask for; or what one has, and asks for",
  arguments: [],
  options: { session: { ...SESSION.session, summary: "this session alone, with what it has" } },
  examples: ["surety caps ls", "surety caps ls --session session_0123"],
  run: (context) =>
    context.options.text("session") === undefined
      ? listPending(context)
      : listOf(context, asSessionId(sessionOf(context))),
};

const grant: Action = {
  summary: "grant it to later runs of the session: net, or net:<domain>",
  arguments: ["CAPABILITY"],
  options: {
    ...SESSION,
    "expires-in": { type: "string", value: "SECONDS", summary: "for so long only" },
  },
  examples: [
    "surety caps grant net:example.org --session session_0123",
    "surety caps grant net --session session_0123 --expires-in 3600",
  ],
  run: (context) => decide(context, "grant"),
};

const taking = (summary: string, act: "revoke" | "deny"): Action => ({
  summary,
  arguments: ["CAPABILITY"],
  options: SESSION,
  examples: [`surety caps ${act} net:example.org --session session_0123`],
  run: (context) => decide(context, act),
});

export const caps: Command = {
  actions: {
    ls,
    grant,
    revoke: taking("take it back: the next call is denied, also of a run under way", "revoke"),
    deny: taking("turn down what the session asks for", "deny"),
  },
};

function decide(context: CommandContext, act: CapabilityDecision["act"]): Promise<number> {
  const [capability = ""] = context.arguments;
  const expiry = { least: 1, most: MAX_EXPIRY_S, example: 3600 };
  const expiresInS = act === "grant" ? (context.options.integer("expires-in", expiry) ?? null) : null;
  const sessionId = asSessionId(sessionOf(context));
  return withAssistant(context, async (assistant) => {
    const before = await assistant.capabilities(sessionId);
    const decision = { sessionId, capability, act, expiresInS, principal: "operator", key: null } as const;
    const answer = await assistant.decideCapability(decision);
    // Decided all the same: a row that was forged looks granted to nobody, and is taken back as well.
    if (answer.ok && before.ok && !mayTake(decision, before.capabilities)) throw nothingToTake(decision);
    print(context, sessionId, answer);
  });
}

/** Revoking turns down what is pending, too. */
function mayTake({ act, capability }: CapabilityDecision, { granted, pending }: SessionCapabilities): boolean {
  const takeable = act === "deny" ? pending : [...granted, ...pending];
  return act === "grant" || takeable.some((each) => each.capability === capability);
}

function nothingToTake({ act, sessionId, capability }: CapabilityDecision): BootError {
  const what = act === "deny" ? "is not asked for" : "is neither granted nor asked for";
  return new BootError(
    "not_found",
    `${capability} ${what} in this session`,
    `See surety caps ls --session ${sessionId}.`,
  );
}

function listPending(context: CommandContext): Promise<number> {
  const { output } = context;
  return withHome(context, async ({ store }) => {
    const pending = await allPages((page) => pendingCapabilities(store, page));
    output.result(wirePending(pending), () => {
      if (pending.length === 0) return output.line("no session asks for anything");
      output.table(
        ["CAPABILITY", "SESSION", "ASKED FOR BY", "AT"],
        pending.map(({ capability, sessionId, runId, by, at }) => [capability, sessionId, runId ?? by, at]),
      );
      output.line("answer with surety caps grant|deny CAPABILITY --session SESSION");
    });
    return EXIT.success;
  });
}

function listOf(context: CommandContext, sessionId: SessionId): Promise<number> {
  return withHome(context, async ({ store }) => {
    const ports = { store, clock: systemClock, onDefect: defectReporter(context.streams) };
    print(context, sessionId, await capabilitiesOf(ports, sessionId));
    return EXIT.success;
  });
}

const BEGIN_ONE = 'A run begins a session: surety run "…" names it when something was denied, surety runs show always.';
const HINTS: Readonly<Partial<Record<Refusal["code"], string>>> = {
  not_found: BEGIN_ONE,
  "invalid.request": "Write it as net:example.org; an address is opened by tools.http.allowAddresses in the config.",
};

function sessionOf({ options }: CommandContext): string {
  const session = options.text("session");
  if (session === undefined) throw usageError("--session is required", BEGIN_ONE);
  return session;
}

function print({ output }: CommandContext, sessionId: SessionId, answer: CapabilitiesShown | Refusal): void {
  if (!answer.ok) throw new BootError(answer.code, answer.message, HINTS[answer.code] ?? "See surety caps --help.");
  const { capabilities } = answer;
  output.result(wireCapabilities(sessionId, capabilities), () => {
    const { granted, pending } = capabilities;
    if (granted.length + pending.length === 0) output.line("this session has no capabilities and asks for none");
    for (const each of granted) output.line(`granted  ${each.capability}  ${grantWords(each)}`);
    for (const { capability, runId, by } of pending) output.line(`pending  ${capability}  asked for by ${runId ?? by}`);
    if (granted.length > 0) output.line(`it holds from the next run on: surety run "…" --session ${sessionId}`);
  });
}

function grantWords({ by, at, expiresAt }: StoredCapability): string {
  return `by ${by} at ${at}${expiresAt === null ? "" : `, until ${expiresAt}`}`;
}
