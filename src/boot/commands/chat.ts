/** `surety chat`: a lasting conversation; at a terminal with a line to write on, or one message per line of a pipe. */
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { atTerminal, plainFace, type RunTerminal } from "../at-terminal.ts";
import type { Action, CommandContext } from "../command.ts";
import { Conversation } from "../conversation.ts";
import { findSession, latestTerminalSession } from "../find-session.ts";

export const command: Action = {
  summary: "talk with the assistant: goes on with the latest conversation",
  options: {
    session: { type: "string", value: "S", summary: "go on with this one: its id, the beginning of it, or its title" },
    verbose: { type: "boolean", summary: "show what tools print" },
  },
  examples: ["surety chat", "surety chat --session holiday", "surety chat < questions.txt"],
  run: chatOverPipe,
};

/** One message per line, each answered before the next is read. */
async function chatOverPipe(context: CommandContext): Promise<number> {
  const { streams, output } = context;
  const input = { isTTY: false, on: () => {}, off: () => {}, pause: () => {} };
  return await atTerminal(context, plainFace(context, input), true, async (terminal) => {
    const conversation = new Conversation({
      terminal,
      session: await chosenSession(context, terminal),
      isUnattended: true,
      respond: output.text,
      onSession: () => {},
      onRuns: () => {},
      leaving: new AbortController().signal,
    });
    for await (const line of createInterface({ input: streams.stdin as unknown as Readable })) {
      if (line.trim() === "") continue;
      await conversation.send(line);
      await conversation.settled();
    }
    return conversation.exitCode;
  });
}

async function chosenSession({ options }: CommandContext, { operations }: RunTerminal) {
  const named = options.text("session");
  return named === undefined ? await latestTerminalSession(operations) : await findSession(operations, named);
}
