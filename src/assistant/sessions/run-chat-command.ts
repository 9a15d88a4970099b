/** What a command does, and its answer. Nothing here waits for a model; /compact begins a run that asks one. */
import { asApprovalId, asSessionId } from "../../kernel/vocabulary/identifiers.ts";
import { THINKING_LEVELS } from "../../kernel/vocabulary/thinking-level.ts";
import type { Approvals } from "../../runtime/approvals/approvals.ts";
import type { ApprovalCard } from "../../runtime/ports/approver.ts";
import type { Store } from "../../runtime/ports/store.ts";
import type { SessionSettings, StoredSession } from "../../runtime/ports/stored-session.ts";
import { SESSION_FORGED } from "../../runtime/sessions/session-rules.ts";
import type { Assistant } from "../runs/open-assistant.ts";
import { type ChatCommand, helpText, OPERATORS_COMMANDS } from "./chat-command.ts";
import type { Compaction } from "./compaction.ts";
import type { Route } from "./inbound-message.ts";
import { MAX_TITLE_CHARS, type Sessions } from "./sessions.ts";

export interface ChatCommandParts {
  readonly store: Pick<Store, "openRunsOf">;
  readonly sessions: Sessions;
  readonly assistant: Pick<Assistant, "cancel">;
  readonly approvals: Pick<Approvals, "pending" | "decide">;
  readonly compaction: Pick<Compaction, "begin">;
  /** Null when the model can be used; otherwise why not. */
  readonly modelProblem: (ref: string) => string | null;
}

export interface CommandOrigin extends Route {
  readonly agentId: string;
  readonly channel: string;
  readonly principal: string;
  /** Someone outside neither sees nor answers what waits for approval, and neither learns nor chooses the model. */
  readonly isOperator: boolean;
  /** Null: nothing was said under this key yet. */
  readonly session: StoredSession | null;
}

export interface CommandAnswer {
  readonly response: string;
  readonly sessionId: string | null;
}

/** At once, of one session or list. */
const MOST = 500;
const LISTED = 10;
const OPERATOR_DECIDES = "Only the operator of this assistant decides that.";
const NOTHING_YET = "Nothing has been said here yet.";

export async function runChatCommand(
  parts: ChatCommandParts,
  { name, argument }: ChatCommand,
  origin: CommandOrigin,
): Promise<CommandAnswer> {
  const { session } = origin;
  const { isOperator } = origin;
  const answer = (response: string, sessionId = session?.sessionId ?? null): CommandAnswer => ({ response, sessionId });
  if (name === "unknown") {
    return answer(
      `There is no command ${argument}. /help lists them; to send this as a message, write a word before it.`,
    );
  }
  if (!isOperator && OPERATORS_COMMANDS.includes(name)) return answer(OPERATOR_DECIDES);
  switch (name) {
    case "/help":
      return answer(helpText(isOperator));
    case "/new": {
      const title = argument === "" ? null : argument.slice(0, MAX_TITLE_CHARS);
      return answer(
        "A new conversation has begun. /resume goes back to an earlier one.",
        await begin(parts, origin, title),
      );
    }
    case "/resume":
      return await resume(parts, argument, origin);
    case "/status":
      return answer(session === null ? NOTHING_YET : await status(parts, session, origin));
    case "/stop":
      return answer(session === null ? NOTHING_YET : await stop(parts, session, origin.principal));
    case "/approve":
    case "/deny":
      return answer(await decide(parts, name === "/approve" ? "allow" : "deny", argument, origin));
    case "/model":
      return answer(await set(parts, origin, argument, "model", readModel(parts)));
    case "/think":
      return answer(await set(parts, origin, argument, "thinkingLevel", readThinking));
    case "/compact":
      return answer(session === null ? NOTHING_YET : await compact(parts, session, origin.principal));
    case "/verbose":
      return answer(await set(parts, origin, argument, "verboseLevel", readSwitch));
  }
}

function begin(
  { sessions }: ChatCommandParts,
  { agentId, key, channel, senderId }: CommandOrigin,
  title: string | null,
) {
  return sessions.create({ agentId, key, channel, senderId }, title);
}

/** Only sessions of the same key: a sender cannot reach another's. */
async function resume(parts: ChatCommandParts, argument: string, origin: CommandOrigin): Promise<CommandAnswer> {
  const { sessions } = parts;
  const { agentId, channel, senderId, key, session: current } = origin;
  const { sessions: listed } = await sessions.list({ agentId, channel, senderId }, { limit: MOST, offset: 0 });
  const own = listed.filter((each) => each.key === key);
  const sessionId = current?.sessionId ?? null;
  if (own.length === 0) return { response: NOTHING_YET, sessionId };
  if (argument === "") {
    const rows = own.slice(0, LISTED).map(({ id, title, metadata }, at) => {
      const mark = id === current?.sessionId ? " (this one)" : "";
      return `${at + 1}. ${title ?? id}, ${new Date(metadata.lastActiveAt).toISOString()}${mark}`;
    });
    return {
      response: ["Conversations, the latest first; /resume NUMBER goes back to one:", ...rows].join("\n"),
      sessionId,
    };
  }
  const wanted = /^\d{1,3}$/.test(argument)
    ? own[Number(argument) - 1]
    : own.find(({ id, title }) => id === argument || title === argument);
  if (wanted === undefined) return { response: "There is no such conversation; /resume lists them.", sessionId };
  if ((await sessions.find(wanted.id))?.isForged) return { response: SESSION_FORGED, sessionId };
  await sessions.route(wanted.id);
  return { response: `Back in ${wanted.title ?? wanted.id}.`, sessionId: wanted.id };
}

async function status(
  { store, sessions, approvals }: ChatCommandParts,
  session: StoredSession,
  { isOperator }: CommandOrigin,
): Promise<string> {
  const { id, title, state, metadata, config } = sessions.row(session);
  const open = await store.openRunsOf(session.sessionId, MOST);
  const waiting = isOperator ? (await questionsOf(approvals, session)).map(questionLine) : [];
  return [
    `Conversation ${title ?? id}: ${state}, ${session.runs} messages from you`,
    // Which models there are is the operator's.
    ...(isOperator ? [`Model ${metadata.model}; thinking ${config.thinkingLevel ?? "by default"}`] : []),
    open.length === 0
      ? "Nothing is going on."
      : `${open.length} run(s) not ended: ${open.map(({ status: at }) => at).join(", ")}`,
    ...waiting,
  ].join("\n");
}

async function stop({ store, assistant }: ChatCommandParts, { sessionId }: StoredSession, principal: string) {
  const open = await store.openRunsOf(sessionId, MOST);
  // The newest first: otherwise the next in line begins while the one before it ends.
  for (const { runId } of open.toReversed()) await assistant.cancel(runId, principal);
  return open.length === 0 ? "Nothing is going on." : `Stopping ${open.length} run(s).`;
}

async function compact(
  { compaction }: ChatCommandParts,
  { sessionId }: StoredSession,
  principal: string,
): Promise<string> {
  const begun = await compaction.begin(sessionId, principal);
  return begun.ok ? `Condensing ${begun.turns} earlier turn(s) into a summary (${begun.runId}).` : begun.message;
}

async function questionsOf(approvals: ChatCommandParts["approvals"], { sessionId }: StoredSession) {
  const cards: ApprovalCard[] = [];
  for (let offset = 0; ; offset += MOST) {
    const page = await approvals.pending({ limit: MOST, offset });
    cards.push(...page.filter((card) => card.sessionId === sessionId));
    if (page.length < MOST) return cards;
  }
}

function questionLine({ id, tool, kind }: ApprovalCard): string {
  return `Waiting for you: ${tool} (${id}): ${kind === "resolve" ? "did it take effect?" : "/approve or /deny"}`;
}

async function decide(
  { approvals }: ChatCommandParts,
  decision: "allow" | "deny",
  argument: string,
  { session, principal }: CommandOrigin,
): Promise<string> {
  const waiting =
    session === null ? [] : (await questionsOf(approvals, session)).filter(({ kind }) => kind === "approve");
  const meant = argument === "" ? waiting : waiting.filter(({ id }) => id === asApprovalId(argument));
  const [card, ...others] = meant;
  if (card === undefined) return "No call waits for you here.";
  if (others.length > 0) {
    return ["More than one call waits for you; name one:", ...meant.map(questionLine)].join("\n");
  }
  const { id, planHash, tool } = card;
  const decided = await approvals.decide({ id, decision, planHash, principal });
  if (!decided.ok) return decided.message;
  return decision === "allow" ? `Allowed: ${tool}.` : `Denied: ${tool}.`;
}

type Read<Value> = (
  text: string,
) => { readonly ok: true; readonly value: Value } | { readonly ok: false; readonly message: string };

/** Shows a setting, sets it, or (with `default`) takes it back. */
async function set<Name extends keyof SessionSettings>(
  { sessions }: ChatCommandParts,
  origin: CommandOrigin,
  argument: string,
  name: Name,
  read: Read<NonNullable<SessionSettings[Name]>>,
): Promise<string> {
  const id = origin.session?.sessionId ?? asSessionId(await begin({ sessions } as ChatCommandParts, origin, null));
  const session = await sessions.find(id);
  if (session === null) return NOTHING_YET;
  const words = WORDS[name];
  const current = session.settings[name];
  if (argument === "") return current === undefined ? `${words}: as configured.` : `${words}: ${shown(current)}.`;
  const { [name]: _before, ...others } = session.settings;
  if (argument === "default") {
    await sessions.change(session, { settings: others });
    return `${words}: as configured.`;
  }
  const value = read(argument);
  if (!value.ok) return value.message;
  await sessions.change(session, { settings: { ...others, [name]: value.value } });
  return `${words} of this conversation: ${shown(value.value)}.`;
}

const WORDS = { model: "Model", thinkingLevel: "Thinking", verboseLevel: "Verbose" } as const;

function shown(value: string | boolean): string {
  return typeof value === "boolean" ? (value ? "on" : "off") : value;
}

function readModel({ modelProblem }: ChatCommandParts): Read<string> {
  return (text) => {
    const problem = modelProblem(text);
    return problem === null ? { ok: true, value: text } : { ok: false, message: problem };
  };
}

const readThinking: Read<NonNullable<SessionSettings["thinkingLevel"]>> = (text) => {
  const level = THINKING_LEVELS.find((each) => each === text.toLowerCase());
  if (level !== undefined) return { ok: true, value: level };
  return { ok: false, message: `There is no such level; there is: ${THINKING_LEVELS.join(", ")}, default.` };
};

const readSwitch: Read<boolean> = (text) => {
  const word = text.toLowerCase();
  if (word === "on" || word === "off") return { ok: true, value: word === "on" };
  return { ok: false, message: "Say /verbose on or /verbose off." };
};
