/** How long an answer may be, from the config to the wire, and what is said where that was too short. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { main } from "../../src/boot/main.ts";
import { answer, type ServerScript, startOpenAiServer } from "../loopback/openai-server.ts";
import { capturedStreams } from "./captured-streams.ts";
import { temporaryDirectory } from "./temporary-home.ts";

/** Ten dollars a million tokens of output. */
const MODEL = { contextWindow: 1_000_000, maxOutputTokens: 20_000, costPer1kInput: 0.001, costPer1kOutput: 0.01 };

async function homeWith(script: ServerScript, budgets: object = {}) {
  const server = await startOpenAiServer(script);
  onTestFinished(() => server.close());
  const directory = join(await temporaryDirectory(), "home");
  await mkdir(directory);
  const providers = { loop: { baseUrl: server.baseUrl, local: true, models: { m: MODEL } } };
  await writeFile(
    join(directory, "surety.json5"),
    JSON.stringify({ models: { default: "loop:m", providers }, budgets }),
  );
  const surety = async (...words: readonly string[]) => {
    const streams = capturedStreams();
    const code = await main(["--home", directory, ...words], streams, () => undefined);
    return { code, ...streams.written() };
  };
  return { server, surety };
}

describe("an answer", () => {
  test.each([
    ["may be as long as its model is configured to give", {}, 20_000],
    ["may take a share of a limit in dollars", { perDayUsd: 1 }, 6_250],
    ["may take a share of a day's tokens", { perDayTokens: 160_000 }, 10_000],
  ])("%s", async (_, budgets, tokens) => {
    const { server, surety } = await homeWith(() => answer({ text: "Well." }), budgets);
    expect((await surety("run", "hello")).code).toBe(0);
    expect(server.requests.map(({ body }) => body.max_tokens)).toEqual([tokens]);
  });

  test("that was cut off at its limit is said to be, as it is made and later", async () => {
    const { surety } = await homeWith(() => answer({ text: "Once upon a", finishReason: "length" }));
    const { code, stdout, stderr } = await surety("run", "tell me a story");
    expect([code, stdout]).toEqual([0, "Once upon a\n"]);
    const words = "The answer was cut off at its limit of 20000 tokens (max_output_tokens).";
    expect(stderr).toContain(words);
    const { runs } = JSON.parse((await surety("runs", "ls", "--json")).stdout);
    expect((await surety("runs", "show", runs[0].id)).stdout).toContain(words);
  });

  test("whose call was cut off names the limit beside what was wrong", async () => {
    const { surety } = await homeWith(() =>
      answer({ calls: [{ name: "fs.list_dir", arguments: {} }], finishReason: "length" }),
    );
    const { code, stderr } = await surety("run", "list files");
    expect(code).toBe(1);
    expect(stderr).toContain("rejected: protocol.truncated. The answer was cut off at its limit of 20000 tokens");
  });
});

test("a message that is longer than a run has tokens by default is worked on where the operator allows it", async () => {
  const { surety } = await homeWith(() => answer({ text: "Read." }), { perRunTokens: 900_000 });
  // A digit is a token.
  expect((await surety("run", "7 ".repeat(250_000))).stderr).toContain("COMPLETED_CHAT_ONLY");
});
