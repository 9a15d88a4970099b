/** `surety caps ls|grant|revoke|deny`: what sessions may reach and ask for; only an operator decides (S-2.4). */
import { asSessionId, type SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { type CapabilityDecision, MAX_EXPIRY_S } from "../../runtime/capabilities/capabilities.ts";
import {
  type CapabilitiesOfSession,
  type CapabilityDetail,
  wireCapabilities,
  wirePending,
} from "../../runtime/capabilities/operations.ts";
import { capabilitiesOf, pendingCapabilities } from "../../runtime/capabilities/stored-capabilities.ts";
import type { Result } from "../../runtime/operations/operation.ts";
import { BootError, usageError } from "../boot-error.ts";
import type { Action, Command, CommandContext } from "../command.ts";
import { valueIn, withOperations } from "../connect-assistant.ts";
import { withHome } from "../read-home.ts";
import { defectReporter } from "../report-failure.ts";
import { systemClock } from "../system-clock.ts";
import { allPages } from "./all-pages.ts";

const SESSION = { session: { type: "string", value: "S", summary: "the session it is about" } } as const;

const ls: Action = {
  summary: "list what all sessions ask for; or what one has, and asks for",
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

export const command: Command = {
  actions: {
    ls,
    grant,
    revoke: taking("take it back: from the next call on, in running runs too", "revoke"),
    deny: taking("deny what the session asks for", "deny"),
  },
};

type Act = CapabilityDecision["act"];

function decide(context: CommandContext, act: Act): Promise<void> {
  const [capability = ""] = context.arguments;
  const expiry = { least: 1, most: MAX_EXPIRY_S, example: 3600 };
  const expiresInS = act === "grant" ? context.options.integer("expires-in", expiry) : undefined;
  const session_id = sessionOf(context);
  return withOperations(context, async (operations) => {
    const before = await operations.call("capabilities.list", { session_id });
    const expires = expiresInS === undefined ? {} : { expires_in_s: expiresInS };
    const decided = await operations.call("capabilities.decide", { session_id, [act]: capability, ...expires });
    // Decided all the same: a forged row is not listed, and has to be revocable.
    const isListed = !before.ok || !("details" in before.value) || mayTake(act, capability, before.value);
    if (decided.ok && !isListed) throw nothingToTake(act, capability, session_id);
    print(context, decided);
  });
}

/** Revoking also denies what is pending. */
function mayTake(act: Act, capability: string, { granted, pending }: CapabilitiesOfSession): boolean {
  const takeable: readonly string[] = act === "deny" ? pending : [...granted, ...pending];
  return act === "grant" || takeable.includes(capability);
}

function nothingToTake(act: Act, capability: string, sessionId: string): BootError {
  const what = act === "deny" ? "is not asked for" : "is neither granted nor asked for";
  return new BootError(
    "not_found",
    `${capability} ${what} in this session`,
    `See surety caps ls --session ${sessionId}.`,
  );
}

function listPending(context: CommandContext): Promise<void> {
  const { output } = context;
  return withHome(context, async ({ store }) => {
    const { pending } = wirePending(await allPages((page) => pendingCapabilities(store, page)));
    output.result({ pending }, () => {
      if (pending.length === 0) return output.line("no session asks for anything");
      output.table(
        ["CAPABILITY", "SESSION", "ASKED FOR BY", "AT"],
        pending.map(({ capability, session_id, run_id, by, at }) => [capability, session_id, run_id ?? by, at]),
      );
      output.line("answer with surety caps grant|deny CAPABILITY --session SESSION");
    });
  });
}

function listOf(context: CommandContext, sessionId: SessionId): Promise<void> {
  return withHome(context, async ({ store }) => {
    const ports = { store, clock: systemClock, onDefect: defectReporter(context.streams) };
    const answer = await capabilitiesOf(ports, sessionId);
    print(context, answer.ok ? { ok: true, value: wireCapabilities(sessionId, answer.capabilities) } : answer);
  });
}

const BEGIN_ONE = 'A run begins a session: surety run "…" names it when something was denied, surety runs show always.';
const HINTS: Readonly<Record<string, string>> = {
  not_found: BEGIN_ONE,
  "invalid.request": "Write it as net:example.org; an address is opened by tools.http.allowAddresses in the config.",
};

function sessionOf({ options }: CommandContext): string {
  const session = options.text("session");
  if (session === undefined) throw usageError("--session is required", BEGIN_ONE);
  return session;
}

function print({ output }: CommandContext, result: Result<CapabilitiesOfSession>): void {
  const capabilities = valueIn(result, (code) => HINTS[code] ?? "See surety caps --help.");
  const { session_id, details } = capabilities;
  output.result(capabilities, () => {
    if (details.length === 0) output.line("this session has no capabilities and asks for none");
    for (const each of details) output.line(`${each.state}  ${each.capability}  ${origin(each)}`);
    if (capabilities.granted.length === 0) return;
    output.line(`a grant applies from the next run on: surety run "…" --session ${session_id}`);
  });
}

function origin({ state, by, at, expires_at, run_id }: CapabilityDetail): string {
  if (state === "pending") return `asked for by ${run_id ?? by}`;
  return `by ${by} at ${at}${expires_at === null ? "" : `, until ${expires_at}`}`;
}
