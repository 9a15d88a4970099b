/**
 * Commands in a conversation: answered at once, without a model. A text is a command when its first word is `/` and letters: a
 * mistyped one is said to be none, and reaches no model.
 */
export const CHAT_COMMANDS = {
  "/new": { usage: "/new [title]", summary: "begins a new conversation; the old one stays" },
  "/resume": { usage: "/resume [number or id]", summary: "lists earlier conversations, or goes back to one" },
  "/status": { usage: "/status", summary: "says what is going on in this conversation" },
  "/stop": { usage: "/stop", summary: "ends the run at work and those behind it" },
  "/approve": { usage: "/approve [id]", summary: "allows the call that waits for you" },
  "/deny": { usage: "/deny [id]", summary: "denies the call that waits for you" },
  "/model": { usage: "/model [provider:model, auto or default]", summary: "shows or sets this conversation's model" },
  "/think": { usage: "/think [off, low, medium, high or default]", summary: "shows or sets how much it thinks" },
  "/verbose": { usage: "/verbose [on or off]", summary: "shows or sets whether tool output is unfolded" },
  "/compact": { usage: "/compact", summary: "condenses what was said earlier here into a summary" },
  "/help": { usage: "/help", summary: "lists these commands" },
} as const;

export type ChatCommandName = keyof typeof CHAT_COMMANDS;

export interface ChatCommand {
  readonly name: ChatCommandName | "unknown";
  /** Of an unknown command its name. */
  readonly argument: string;
}

const MAX_NAME_CHARS = 40;

export function parseChatCommand(text: string): ChatCommand | null {
  const match = /^\s*(\/[a-z]+)(?:\s+([\s\S]*?))?\s*$/i.exec(text);
  const name = match?.[1]?.toLowerCase();
  if (name === undefined) return null;
  if (!Object.hasOwn(CHAT_COMMANDS, name)) return { name: "unknown", argument: name.slice(0, MAX_NAME_CHARS) };
  return { name: name as ChatCommandName, argument: match?.[2] ?? "" };
}

/** A sender from outside can use the others. */
export const OPERATORS_COMMANDS: readonly ChatCommandName[] = ["/approve", "/deny", "/model", "/think"];

export function helpText(isOperator: boolean): string {
  const names = (Object.keys(CHAT_COMMANDS) as ChatCommandName[]).filter(
    (name) => isOperator || !OPERATORS_COMMANDS.includes(name),
  );
  const rows = names.map((name) => `${CHAT_COMMANDS[name].usage}: ${CHAT_COMMANDS[name].summary}`);
  return ["Everything else you write goes to the assistant.", ...rows].join("\n");
}
