import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type GatewayProcess, startGateway, VARIABLES } from "../../faults/gateway-process.ts";
import { answer, startOpenAiServer } from "../../loopback/openai-server.ts";
import type { Fate } from "../../loopback/scripted-server.ts";
import { normalised, openTmux } from "./tmux.ts";

const ENTRY = join(import.meta.dirname, "../../../src/boot/surety.ts");
const LIMIT_MS = 120_000;

const CALLS: Readonly<Record<string, { readonly name: string; readonly arguments: object }>> = {
  "what is here?": { name: "fs.list_dir", arguments: {} },
  "note it": { name: "fs.write_text", arguments: { path: "n.txt", text: "hi" } },
};

/** A home whose model calls what the message is for, and tells a story in which it stops after the first words. */
async function homeOf() {
  const pauses: PromiseWithResolvers<void>[] = [];
  const pause = (): NonNullable<Fate["pause"]> => {
    const gate = Promise.withResolvers<void>();
    pauses.push(gate);
    return { events: 3, until: gate.promise };
  };
  const server = await startOpenAiServer(({ body }) => {
    const { role, content } = body.messages.at(-1) ?? { role: "" };
    const asked = String(body.messages.findLast((message) => message.role === "user")?.["content"]);
    const call = CALLS[asked];
    if (role !== "tool" && call !== undefined) return answer({ calls: [call] });
    if (role === "tool")
      return answer({ text: String(content).includes('"ok":true') ? "It is **done**." : "Then not." });
    const story = "Once upon a time there was a gateway that answered for its agent, so people trusted it.";
    return asked.startsWith("tell")
      ? answer({ text: story, dialect: { pieceChars: 20 }, pause: pause() })
      : answer({ text: `You said: ${asked}` });
  });
  const base = await mkdtemp("/tmp/surety-chat-");
  onTestFinished(async () => {
    for (const gate of pauses) gate.resolve();
    await server.close();
    await rm(base, { recursive: true, force: true });
  });
  const directory = join(base, "home");
  await mkdir(join(directory, "workspace"), { recursive: true, mode: 0o700 });
  const models = { scripted: { contextWindow: 32_768, maxOutputTokens: 1024 } };
  const config = {
    models: { default: "loop:scripted", providers: { loop: { baseUrl: server.baseUrl, local: true, models } } },
  };
  await writeFile(join(directory, "surety.json5"), JSON.stringify(config));
  const words = [process.execPath, ENTRY, "--home", directory];
  const start = async (): Promise<GatewayProcess> => {
    const gateway = await startGateway([...words, "start", "--port", "0"]);
    onTestFinished(async () => {
      if (!gateway.isGone) await gateway.kill();
    });
    return gateway;
  };
  return { start, words, server, goOn: () => pauses.shift()?.resolve() };
}

const fixture = (name: string): string => join(import.meta.dirname, "../../fixtures/terminal", `${name}.txt`);

describe("surety chat in a terminal of 80 x 24", () => {
  test(
    "shows calls, asks, takes a no, queues, stops a run, and outlasts a gateway that is killed",
    async () => {
      const { start, words, goOn } = await homeOf();
      const first = await start();
      const chat = await openTmux([...words, "chat"], VARIABLES);
      const say = async (text: string): Promise<void> => {
        await chat.type(text);
        await chat.press("Enter");
      };
      const keeps = async (name: string, what: string | RegExp): Promise<void> => {
        await expect(normalised(await chat.shows(what))).toMatchFileSnapshot(fixture(name));
      };
      await chat.shows(/Ctrl-D leaves\.\n›$/);
      await say("what is here?");
      await keeps("tool-call", /COMPLETED_WITH_TOOLS[\s\S]*run_\w+\n›$/);
      await say("note it");
      await keeps("question", /\[Allow\] \[Deny\]/);
      await say("a");
      await keeps("allowed", /allowed by operator[\s\S]*COMPLETED_WITH_TOOLS[\s\S]*run_\w+\n›$/);
      await say("note it");
      await chat.shows(/n.txt\n\[Allow\] \[Deny\] \(a\/d\):$/);
      await say("d");
      await keeps("denied", /Then not\.[\s\S]*run_\w+\n›$/);
      // The first words are there before the model has finished; what is written meanwhile waits.
      await say("tell me a story");
      await chat.shows("Once upon a time");
      await say("and then?");
      await keeps("queued", /1 waiting/);
      await chat.press("C-c");
      await keeps("stopped", /INTERRUPTED[\s\S]*You said: and then\?[\s\S]*run_\w+\n›$/);
      await say("tell me another");
      await chat.shows(/another\nOnce upon/);
      await first.kill();
      await keeps("gateway-lost", /Lost the gateway[\s\S]*Waiting for it/);
      const second = await start();
      await chat.shows("The gateway is back.");
      await chat.type("half a li");
      goOn();
      goOn();
      goOn();
      await keeps("gateway-back", /COMPLETED_CHAT_ONLY[\s\S]*run_\w+\n› half a li$/);
      await chat.press("C-c");
      await chat.shows(/\n›$/);
      await chat.press("C-d");
      await chat.shows("exit code 0");
      await second.stop();
    },
    LIMIT_MS,
  );
});

test(
  "through a gateway, surety run shows the first words before the model has finished",
  async () => {
    const { start, words, goOn } = await homeOf();
    const gateway = await start();
    const run = await openTmux([...words, "run", "tell me a story"], VARIABLES);
    await run.shows(/\nOnce upon a time[^.]*$/);
    goOn();
    await run.shows(/so people [\s\S]*COMPLETED_CHAT_ONLY[\s\S]*exit code 0/);
    await gateway.stop();
  },
  LIMIT_MS,
);
