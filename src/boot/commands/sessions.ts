/** `surety sessions ls|show|new|compact|rename|export`: conversations, by id, the beginning of one, or title. */
import type { OperationClient } from "../../assistant/operations.ts";
import type { SessionMessage, SessionRow } from "../../assistant/sessions/session-view.ts";
import { asRunId } from "../../kernel/vocabulary/identifiers.ts";
import { atTerminal, exitCodeOf, runFace } from "../at-terminal.ts";
import { EXIT, usageError } from "../boot-error.ts";
import type { Action, Command } from "../command.ts";
import { valueIn, withOperations } from "../connect-assistant.ts";
import { assertNewFile, writeNewFile } from "../durable-file.ts";
import { findSession } from "../find-session.ts";
import { readableOutput } from "../readable-output.ts";

const MAX_LIMIT = 500;
const MAX_OFFSET = 1_000_000_000;

const ls: Action = {
  summary: "list conversations, the one with the latest message first",
  options: {
    limit: { type: "string", value: "N", summary: "at most so many (default 50)" },
    offset: { type: "string", value: "N", summary: "leave out so many" },
  },
  examples: ["surety sessions ls", "surety sessions ls --limit 5"],
  run: (context) =>
    withOperations(context, async (operations) => {
      const { options, output } = context;
      const limit = options.integer("limit", { least: 1, most: MAX_LIMIT, example: 50 }) ?? 50;
      const offset = options.integer("offset", { least: 0, most: MAX_OFFSET, example: 50 }) ?? 0;
      const listed = valueIn(await operations.call("sessions.list", { limit, offset }), hintFor);
      output.result(listed, () => {
        output.table(
          ["SESSION", "CHANNEL", "STATE", "LAST MESSAGE", "TITLE"],
          listed.sessions.map(({ id, channel, state, metadata, title }) => [
            id,
            channel,
            state,
            new Date(metadata.lastActiveAt).toISOString(),
            title ?? "",
          ]),
        );
        if (listed.total > offset + listed.sessions.length) output.line(`${listed.total} in all; see --offset`);
      });
    }),
};

const show: Action = {
  summary: "show what was said in a conversation, and what it remembers",
  arguments: ["SESSION"],
  examples: ["surety sessions show holiday", "surety sessions show session_0123"],
  run: (context) =>
    withOperations(context, async (operations) => {
      const { output } = context;
      const { id } = await findSession(operations, context.arguments[0] ?? "");
      const session = valueIn(await operations.call("sessions.get", { id }), hintFor);
      output.result(session, () => {
        for (const [name, value] of facts(session)) output.field(name, value);
        const { goals, open_loops, decisions, constraints, episode_summary } = session.checkpoint.state;
        const kept = { goal: goals, open: open_loops, decision: decisions, limit: constraints };
        for (const [name, texts] of Object.entries(kept)) for (const text of texts) output.field(name, text);
        if (episode_summary !== "") output.field("so far", episode_summary);
        for (const message of session.messages) {
          output.field("\n" + message.role, new Date(message.timestamp).toISOString());
          for (const { tool, args } of message.toolCalls ?? []) output.line(`${tool} ${args}`);
          if (message.role === "tool") output.barred(readableOutput(message.content), "read");
          else if (message.content !== "") output.text(message.content);
        }
      });
    }),
};

const create: Action = {
  summary: "begin a conversation; surety chat goes on with it",
  arguments: ["[TITLE]"],
  examples: ["surety sessions new", 'surety sessions new "the garden"'],
  run: (context) =>
    withOperations(context, async (operations) => {
      const [title] = context.arguments;
      const named = title === undefined ? {} : { title: titleOf(title) };
      const session = valueIn(await operations.call("sessions.create", { channel: "cli", ...named }), hintFor);
      context.output.result(session, () => context.output.line(session.id));
    }),
};

const compact: Action = {
  summary: "condense the earlier turns of a conversation",
  arguments: ["SESSION"],
  examples: ["surety sessions compact holiday"],
  async run(context) {
    const { output, isJson } = context;
    return await atTerminal(context, runFace(context, false), { drives: true }, async ({ operations, show }) => {
      const { id } = await findSession(operations, context.arguments[0] ?? "");
      const begun = valueIn(await operations.call("sessions.compact", { id }), hintFor);
      if ("response" in begun) {
        output.result(begun, () => output.line(begun.response));
        return EXIT.success;
      }
      const record = await show(asRunId(begun.id));
      if (isJson) output.json(record);
      return exitCodeOf(record);
    });
  },
};

const rename: Action = {
  summary: "give a conversation a title",
  arguments: ["SESSION", "TITLE"],
  examples: ['surety sessions rename session_0123 "the garden"'],
  run: (context) =>
    withOperations(context, async (operations) => {
      const [named = "", title = ""] = context.arguments;
      const { id } = await findSession(operations, named);
      const session = valueIn(await operations.call("sessions.rename", { id, title: titleOf(title) }), hintFor);
      context.output.result(session, () => context.output.line(`${session.id} ${session.title ?? ""}`));
    }),
};

const exportSession: Action = {
  summary: "write a whole conversation as Markdown, or as JSON with --json",
  arguments: ["SESSION"],
  options: { out: { type: "string", value: "FILE", summary: "write it here instead of to stdout" } },
  examples: ["surety sessions export holiday --out holiday.md", "surety sessions export session_0123 --json"],
  run: (context) =>
    withOperations(context, async (operations) => {
      const { options, output, isJson } = context;
      const named = options.text("out");
      const file = named === undefined ? undefined : await assertNewFile(named, "export");
      const session = await findSession(operations, context.arguments[0] ?? "");
      const messages = await allMessages(operations, session);
      const { id, agentId, key, title, channel, metadata } = session;
      const json = JSON.stringify({ id, agentId, key, title, channel, metadata, messages }, null, 2);
      if (file !== undefined) {
        await writeNewFile(file, `${isJson ? json : markdownOf(session, messages)}\n`, "export");
        output.result({ file }, () => output.line(`wrote ${file}`));
      } else if (isJson) output.jsonText(json);
      else output.text(markdownOf(session, messages));
    }),
};

export const command: Command = { actions: { ls, show, new: create, compact, rename, export: exportSession } };

function facts({ id, title, agentId, channel, state, metadata, config }: SessionRow): readonly [string, string][] {
  return [
    ["session", id],
    ["title", title ?? ""],
    ["agent", agentId],
    ["channel", channel],
    ["state", state],
    ["model", metadata.model],
    ...(config.thinkingLevel === undefined ? [] : [["thinking", config.thinkingLevel] as [string, string]]),
  ];
}

/** Oldest first. */
async function allMessages(operations: OperationClient, { id }: SessionRow): Promise<readonly SessionMessage[]> {
  const pages: (readonly SessionMessage[])[] = [];
  for (let before: string | undefined, isWhole = false; !isWhole; ) {
    const at = before === undefined ? {} : { before };
    const { messages } = valueIn(await operations.call("sessions.get", { id, ...at }), hintFor);
    pages.unshift(messages);
    before = messages[0]?.id;
    isWhole = before === undefined;
  }
  return pages.flat();
}

function markdownOf({ id, title }: SessionRow, messages: readonly SessionMessage[]): string {
  const parts = messages.map(({ role, content, toolCalls = [], timestamp }) => {
    const heading = `## ${role}, ${new Date(timestamp).toISOString()}`;
    const calls = toolCalls.map(({ tool, args }) => `- \`${tool}\` ${fenced(args)}`);
    const said = content === "" ? [] : [role === "tool" ? fenced(content) : content];
    return [heading, ...calls, ...said].join("\n\n");
  });
  return [`# ${title ?? id}`, ...parts].join("\n\n");
}

/** Longer than any run of backticks in it, so that the text cannot end its own fence. */
function fenced(text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `\n${fence}\n${text}\n${fence}`;
}

function titleOf(title: string): string {
  if (title.trim() !== "") return title;
  throw usageError("TITLE is empty", "Write the words you want to see in surety sessions ls.");
}

function hintFor(code: string): string {
  return code === "invalid.request" ? "A title has at most 200 characters." : "See surety sessions ls.";
}
