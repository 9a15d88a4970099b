/** `surety chat`: a lasting conversation; at a terminal with a line to write on, or one message per line of a pipe. */
import { once } from "node:events";
import { createInterface } from "node:readline";
import { type LiveTerminal, openLiveTerminal } from "../../adapters/terminal/live-terminal.ts";
import { styleFor } from "../../adapters/terminal/style.ts";
import { CHAT_COMMANDS } from "../../assistant/sessions/chat-command.ts";
import type { SessionRow } from "../../assistant/sessions/session-view.ts";
import { THINKING_LEVELS } from "../../kernel/vocabulary/thinking-level.ts";
import { AUTO } from "../../runtime/model/model-router.ts";
import { atTerminal, canDraw, plainFace, type RunTerminal } from "../at-terminal.ts";
import { EXIT } from "../boot-error.ts";
import type { Action, CommandContext } from "../command.ts";
import { loadConfig } from "../config/load-config.ts";
import { configuredRefs } from "../config/resolve-configured-model-ref.ts";
import { Conversation, isCommand, type OpenRuns, wordsFor } from "../conversation.ts";
import { findSession, latestTerminalSession, listSessions } from "../find-session.ts";
import { mayColour } from "../output.ts";
import { addToPromptHistory, readPromptHistory } from "../prompt-history.ts";
import { systemClock } from "../system-clock.ts";

export const command: Action = {
  summary: "talk with the assistant: goes on with the latest conversation",
  options: {
    session: { type: "string", value: "S", summary: "go on with this one: its id, the beginning of it, or its title" },
    verbose: { type: "boolean", summary: "show what tools print" },
  },
  examples: ["surety chat", "surety chat --session holiday", "surety chat < questions.txt"],
  run: (context) => (canDraw(context) ? chatAtTerminal(context) : chatOverPipe(context)),
};

/** One message per line, each answered before the next is read. */
async function chatOverPipe(context: CommandContext): Promise<number> {
  const { streams, output } = context;
  const input = { isTTY: false, on: () => {}, off: () => {}, pause: () => {} };
  return await atTerminal(
    context,
    plainFace(context, input),
    { drives: true, isConversation: true },
    async (terminal) => {
      const conversation = new Conversation({
        terminal,
        session: await chosenSession(context, terminal),
        isUnattended: true,
        respond: output.text,
        onSession: () => {},
        onRuns: () => {},
        onTurn: () => {},
        leaving: new AbortController().signal,
      });
      for await (const line of createInterface({ input: streams.stdin as unknown as NodeJS.ReadableStream })) {
        if (line.trim() === "") continue;
        await conversation.send(line);
        await conversation.settled();
      }
      return conversation.exitCode;
    },
  );
}

async function chatAtTerminal(context: CommandContext): Promise<number> {
  const { home, streams, options, readVariable } = context;
  const leaving = new AbortController();
  // What is written before the home is open is sent then.
  const opened = Promise.withResolvers<Conversation>();
  let session: SessionRow | null = null;
  /** Written before the home was open. */
  const early: string[] = [];
  let runs: OpenRuns = { current: null, waiting: [] };
  let completions = commandCompletions([], []);
  let face = null as LiveTerminal | null;

  const send = (text: string): void => {
    // A message is shown below until it has its turn.
    if (isCommand(text)) face?.echo(text);
    else early.push(text);
    face?.refresh();
    addToPromptHistory(home, text).then(
      (messages) => face?.setHistory(messages),
      (error: unknown) => face?.remark(`The message is not in the history: ${wordsFor(error)}`),
    );
    opened.promise
      .then((conversation) => {
        early.length = 0;
        return conversation.send(text);
      })
      .catch((error: unknown) => face?.remark(`Not sent: ${wordsFor(error)} Your message: ${text}`));
  };
  const interrupt = (): void => {
    if (runs.current === null) {
      if (face?.discard() === false) face.remark("Nothing is going on. Ctrl-D leaves.");
      return;
    }
    face?.remark("Stopping the run.");
    opened.promise.then((conversation) => conversation.stop()).catch((error: unknown) => face?.remark(wordsFor(error)));
  };
  const history = await readPromptHistory(home);
  const openFace: Parameters<typeof atTerminal>[1] = (decide) => {
    face = openLiveTerminal({
      input: streams.stdin as unknown as NodeJS.ReadableStream,
      output: streams.stdout,
      style: styleFor(streams.stdout, mayColour(readVariable)),
      clock: systemClock,
      isVerbose: () => session?.config.verboseLevel ?? options.flag("verbose"),
      onInterrupt: interrupt,
      conversation: {
        history,
        waiting: () => [...runs.waiting, ...early],
        aside: () => (runs.current === null ? "" : "Ctrl-C stops"),
        complete: (line) => completions(line),
        onMessage: send,
        onEnd: () => leaving.abort(),
      },
      onDecision: decide,
    });
    return face;
  };
  return await atTerminal(context, openFace, { drives: true, isConversation: true }, async (terminal) => {
    const refresh = async (): Promise<void> => {
      const [sessions, config] = await Promise.all([listSessions(terminal.operations), loadConfig(home.configFile)]);
      completions = commandCompletions(sessions, configuredRefs(config));
    };
    session = await chosenSession(context, terminal);
    await refresh();
    const conversation = new Conversation({
      ...{ terminal, session, isUnattended: false, leaving: leaving.signal },
      respond: (text) => face?.respond(text),
      onSession: (now) => {
        session = now;
        refresh().catch(() => {});
      },
      onRuns: (now) => {
        runs = now;
        face?.refresh();
      },
      onTurn: (text) => face?.echo(text),
    });
    face?.respond(greeting(session, terminal.isRemote));
    if (terminal.isRemote && (await loadConfig(home.configFile)).shadow.enabled) {
      const { followGhosts } = await import("../ghost-notices.ts");
      const say = (line: string): void => face?.remark(line);
      followGhosts(terminal.operations, { clock: systemClock, signal: leaving.signal, say }).catch(() => {});
    }
    opened.resolve(conversation);
    if (!leaving.signal.aborted) await once(leaving.signal, "abort");
    await conversation.settled();
    return EXIT.success;
  });
}

function greeting(session: SessionRow | null, isRemote: boolean): string {
  const where = isRemote ? "through the gateway" : "no gateway runs, so this terminal does the work";
  const what =
    session === null
      ? "A new conversation"
      : session.title === null
        ? `Conversation ${session.id}`
        : `Conversation “${session.title}”`;
  return `${what}, ${where}. /help lists commands, Ctrl-D leaves.`;
}

type Complete = (line: string) => readonly string[];

function commandCompletions(sessions: readonly SessionRow[], models: readonly string[]): Complete {
  const values: Readonly<Record<string, readonly string[]>> = {
    "/resume": sessions.filter(({ channel }) => channel === "cli").map(({ id, title }) => title ?? id),
    "/model": [...models, AUTO, "default"],
    "/think": [...THINKING_LEVELS, "default"],
    "/verbose": ["on", "off"],
  };
  return (line) => {
    const [name = "", value] = line.split(/ (.*)/s, 2);
    const all =
      value === undefined
        ? Object.keys(CHAT_COMMANDS).map((each) => `${each} `)
        : (values[name] ?? []).map((each) => `${name} ${each}`);
    return line.startsWith("/") ? all.filter((each) => each.startsWith(line)) : [];
  };
}

async function chosenSession({ options }: CommandContext, { operations }: RunTerminal): Promise<SessionRow | null> {
  const named = options.text("session");
  return named === undefined ? await latestTerminalSession(operations) : await findSession(operations, named);
}
