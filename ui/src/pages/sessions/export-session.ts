/** A session as a file: every message, as the gateway has it. */
import { type AnswerOf, call } from "../../data/client.ts";

type Session = AnswerOf<"sessions.get">;
type Message = Session["messages"][number];

const PAGE_TURNS = 500;

export async function exportJson(session: Session): Promise<string> {
  const { openRuns: _open, ...rest } = session;
  return `${JSON.stringify({ ...rest, messages: await allMessages(session.id) }, null, 2)}\n`;
}

export async function exportMarkdown({ id, title }: Session): Promise<string> {
  const said = (await allMessages(id)).flatMap(({ role, content, timestamp, toolCalls, toolResults }) => {
    const at = new Date(timestamp).toISOString();
    if (role === "user") return [`## You, ${at}`, content];
    if (role === "tool") return (toolResults ?? []).map(({ tool, output }) => block(`${tool} answered`, output));
    const calls = (toolCalls ?? []).map(({ tool, args }) => block(`${tool} was called`, args));
    return content === "" ? calls : [...calls, `## Surety, ${at}`, content];
  });
  return [`# ${title ?? `Session ${id}`}`, ...said].join("\n\n") + "\n";
}

/** The fence is longer than any in the text. */
function block(what: string, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${what}:\n\n${fence}\n${text}\n${fence}`;
}

async function allMessages(id: string): Promise<readonly Message[]> {
  let messages: readonly Message[] = [];
  for (;;) {
    const first = messages[0]?.id;
    const page = await call("sessions.get", {
      id,
      limit: PAGE_TURNS,
      ...(first === undefined ? {} : { before: first }),
    } as never);
    if (page.messages.length === 0) return messages;
    messages = [...page.messages, ...messages];
  }
}
