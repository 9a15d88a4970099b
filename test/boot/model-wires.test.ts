/**
 * The wires, end to end: a cancelled stream is closed, and a run is the same
 * whichever way a server spells its answers, streamed to a watcher or asked for as a whole.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, vi } from "vitest";
import type { Assistant } from "../../src/assistant/runs/open-assistant.ts";
import { openHome } from "../../src/boot/home.ts";
import { openSurety } from "../../src/boot/open-surety.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { systemRandomness } from "../../src/boot/system-randomness.ts";
import type { RunId } from "../../src/kernel/vocabulary/identifiers.ts";
import { noApprover } from "../../src/runtime/ports/approver.ts";
import type { Store } from "../../src/runtime/ports/store.ts";
import { readWholeJournal } from "../../src/runtime/run/read-run.ts";
import { startAnthropicServer } from "../loopback/anthropic-server.ts";
import type { ChatScript, ScriptedCall } from "../loopback/chat-wire.ts";
import { answer, type Reply, startOpenAiServer } from "../loopback/openai-server.ts";
import type { ScriptedRequest, ScriptedServer, ServerOptions } from "../loopback/scripted-server.ts";
import { verifies } from "../requirements.ts";
import { readOk } from "./config/example-config.ts";
import { temporaryHome } from "./temporary-home.ts";

/** Of each answer, by the loopback servers. */
const TOLD_TOKENS = 19;
const NOTE = 'Zoë said: "naïve → \\ 𝔘nicode\n\tand two lines", 50 %.';
const ANSWER = "Both are read, and the sum is written — ✓.";
const read = (path: string): ScriptedCall => ({ name: "fs.read_text", arguments: { path } });
const write = (path: string, text: string): ScriptedCall => ({ name: "fs.write_text", arguments: { path, text } });

const OPENING = "Let me look.";

/** Two calls at once, two that write, an answer. */
const turnsInto = (folder: string): readonly ChatScript[] => [
  { text: OPENING, calls: [read("a.txt"), read("b.txt")] },
  { calls: [write(`${folder}/sum.txt`, NOTE), write(`${folder}/empty.txt`, "")] },
  { text: ANSWER },
];

interface Spelling {
  readonly dialect?: ChatScript["dialect"];
  readonly usage?: null;
  /** What ids the calls of a turn have; absent: `call_1`, `call_2`, in every turn anew. */
  readonly ids?: (turn: number, call: number) => string | null;
}

const DIALECTS: Readonly<Record<string, Spelling>> = {
  "usage in a last chunk of its own": { dialect: { usageIn: "own-event" }, ids: (turn, call) => `call_${turn}${call}` },
  "usage with the finish reason": { dialect: { usageIn: "last-event" } },
  "no usage at all": { usage: null },
  "CRLF framing, comments and pings": { dialect: { newline: "\r\n", hasComments: true } },
  "CR framing": { dialect: { newline: "\r" } },
  "arguments in fragments of one character": { dialect: { pieceChars: 1 } },
  "no ids": { ids: () => null },
  "no indexes": { dialect: { hasIndexes: false } },
  "no word that it is done": { dialect: { saysDone: false } },
  "frames split within bytes": { dialect: { writeBytes: 3, newline: "\r\n" } },
};

type StartServer = (
  script: (request: Pick<ScriptedRequest<unknown>, "text">) => Reply,
  options: ServerOptions,
) => Promise<ScriptedServer<unknown>>;
const WIRES: Readonly<Record<string, StartServer>> = {
  openai_compatible: startOpenAiServer,
  anthropic: startAnthropicServer,
};

for (const [kind, start] of Object.entries(WIRES)) {
  describe(`over ${kind} the same run, streamed and not`, () => {
    for (const [name, spelling] of Object.entries(DIALECTS)) {
      verifies("S-7.1", name, async () => {
        const scene = await openAt(kind, start, ({ text }) => turnIn(text, spelling));
        for (const [isWatched, model] of [
          [true, "loop:m"],
          [false, "loop:whole"],
        ] as const) {
          const run = await runOnce(scene, isWatched, model);
          expect(run.record).toMatchObject({ status: "completed", outcome: "COMPLETED_WITH_TOOLS", reason: null });
          expect([run.answer, run.files]).toEqual([ANSWER, [NOTE, ""]]);
          expect(run.performed).toHaveLength(4);
          expect(new Set(run.performed).size).toBe(4);
          expect(run.heard).toBe(isWatched ? OPENING + ANSWER : "");
          // Told, or counted where nothing was.
          if (spelling.usage === null) expect(run.tokens).toBeGreaterThan(3 * TOLD_TOKENS);
          else expect(run.tokens).toBe(3 * TOLD_TOKENS);
        }
        const streamed = scene.server.requests.map(({ text }) => /"stream":\s*true/.test(text));
        expect(streamed).toEqual([true, true, true, false, false, false]);
      });
    }
  });
}

describe.each(Object.entries(WIRES))("over %s a run that is cancelled in the middle of a stream", (kind, start) => {
  verifies("S-7.1/cancel", "ends INTERRUPTED, and the server sees its socket close", async () => {
    // Four events are one of text on the one wire, and more than one on the other.
    const cut = { events: 4, by: "end", after: new Promise<never>(() => {}) } as const;
    const text = "Once upon a time there was a king. ".repeat(4);
    const scene = await openAt(kind, start, () => answer({ text, cut }));
    const { assistant, server } = scene;
    const runId = await submit(scene, "Tell me a story.");
    let heard = "";
    for await (const text of textOf(scene, runId)) {
      if (heard === "") expect(await assistant.cancel(runId, "operator")).toMatchObject({ ok: true });
      heard += text;
    }
    expect(heard).toMatch(/^Once upon/);
    expect(await server.requests[0]?.closed).toBe("by-client");
    expect(await ended(assistant, runId)).toMatchObject({ status: "cancelled", outcome: "INTERRUPTED" });
    expect(server.requests).toHaveLength(1);
  });
});

/** By how many results are in the conversation already. */
function turnIn(request: string, { dialect = {}, usage, ids }: Spelling): Reply {
  const results = request.split(/"role":"tool"|"type":"tool_result"/).length - 1;
  const turn = results / 2;
  const { calls = [], ...script } = turnsInto(/Write into (\w+)/.exec(request)?.[1] ?? "")[turn] ?? {
    text: `there were ${results} results`,
  };
  const named = ids === undefined ? calls : calls.map((call, at) => ({ ...call, id: ids(turn, at) }));
  return answer({ ...script, calls: named, dialect, ...(usage === null ? { usage } : null) });
}

interface WireScene {
  readonly server: ScriptedServer<unknown>;
  readonly workspace: string;
  readonly assistant: Assistant;
  readonly store: Store;
  /** Until then no model is asked for anything. */
  readonly begin: () => void;
}

async function openAt(kind: string, start: StartServer, script: Parameters<StartServer>[0]): Promise<WireScene> {
  const { promise: after, resolve: begin } = Promise.withResolvers<void>();
  const server = await start(script, { models: () => ({ kind: "http", status: 200, body: "{}", after }) });
  onTestFinished(() => server.close());
  const { baseUrl } = server;
  const home = await temporaryHome();
  await openHome(home);
  for (const name of ["a.txt", "b.txt"]) await writeFile(join(home.workspace, name), `this is ${name}\n`);
  const m = { contextWindow: 32_768, maxOutputTokens: 1024 };
  const models = { m, whole: { ...m, supportsStreaming: false } };
  const providers = { loop: { kind, baseUrl, local: true, models } };
  const surety = await openSurety({
    ...{ home, clock: systemClock, random: systemRandomness, token: null, approver: noApprover },
    config: readOk(JSON.stringify({ models: { default: "loop:m", providers } })),
    readVariable: () => undefined,
    onDefect: (_, error) => {
      throw error;
    },
  });
  onTestFinished(() => surety.close(1_000));
  const { assistant, store } = surety;
  return { server, workspace: home.workspace, assistant, store, begin };
}

async function submit({ assistant }: WireScene, message: string, model = "loop:m"): Promise<RunId> {
  const submitted = await assistant.submit({
    ...{ agentId: "main", message, sessionId: null, model, thinkingMode: null, contract: {} },
    ...{ approvedTools: ["fs.write_text"], source: "test", principal: "operator", idempotencyKey: null },
  });
  if (!submitted.ok) throw new Error(submitted.message);
  return submitted.runId;
}

async function runOnce(scene: WireScene, isWatched: boolean, model: string) {
  const { assistant, store, workspace } = scene;
  const folder = isWatched ? "watched" : "alone";
  const runId = await submit(scene, `Write into ${folder}.`, model);
  let heard = "";
  if (isWatched) for await (const text of textOf(scene, runId)) heard += text;
  const record = await ended(assistant, runId);
  const { entries } = await readWholeJournal(store, runId);
  return {
    ...{ heard, record, answer: record.output, tokens: record.receipt?.tokens },
    // A server may number its calls anew in every turn: a call is named by its step and its id.
    performed: entries.flatMap(({ kind, stepId, decided }) =>
      kind === "OBSERVE" ? [`${stepId} ${decided.callId}`] : [],
    ),
    files: await Promise.all(["sum.txt", "empty.txt"].map((name) => readFile(join(workspace, folder, name), "utf8"))),
  };
}

/** What a watcher hears who was there before the model was. */
async function* textOf({ assistant, begin }: WireScene, runId: RunId): AsyncGenerator<string> {
  const news = await assistant.watch(runId, 0, new AbortController().signal);
  if (news === null) throw new Error("there is no such run");
  const items = news[Symbol.asyncIterator]();
  let next = items.next();
  begin();
  for (;;) {
    const { done, value } = await next;
    if (done === true) return;
    if (value.kind === "delta") yield value.text;
    next = items.next();
  }
}

async function ended(assistant: Assistant, runId: RunId) {
  return await vi.waitFor(
    async () => {
      const record = await assistant.run(runId);
      if (record === null || record.outcome === null) throw new Error("not yet");
      return record;
    },
    { timeout: 20_000, interval: 5 },
  );
}
