/** What a model, a file or a stored run says must not reach a terminal as anything but text. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { main } from "../../src/boot/main.ts";
import { outputTo } from "../../src/boot/output.ts";
import { answer, startOpenAiServer } from "../loopback/openai-server.ts";
import { capturedStreams } from "./captured-streams.ts";
import { temporaryDirectory } from "./temporary-home.ts";

const HOSTILE = "a\u001b]0;owned\u0007\u009b2J\u202eb\r";
/** Everything that moves a cursor but line ends. */
const MOVING = /(?!\n)[\p{Cc}\u202a-\u202e\u2066-\u2069]/u;
/** How live lines of a run are drawn again. No text of others holds an escape character, so none can write these. */
const REDRAWN = /(?<=^|\n|\u001b\[[?\d]*[AJhl])\r+|\u001b\[(?:\d+[AC]|J|\?2004[hl])/g;

describe("what commands print", () => {
  test("to a terminal, nothing moves its cursor, whichever way it is printed", () => {
    const streams = capturedStreams(true);
    const output = outputTo(streams, false, false);
    output.line(HOSTILE);
    output.text(HOSTILE);
    output.remark(HOSTILE);
    output.field(HOSTILE.slice(0, 1), HOSTILE);
    output.table(["A"], [[HOSTILE]]);
    output.json({ [HOSTILE]: HOSTILE });
    output.jsonText(JSON.stringify([HOSTILE]));
    const { stdout, stderr } = streams.written();
    expect(`${stdout}${stderr}`).not.toMatch(MOVING);
  });

  test("a line is one line everywhere; JSON keeps its value, and text in a file is as it was", () => {
    const streams = capturedStreams(false);
    const output = outputTo(streams, true, false);
    output.line("one\nerror forged: two");
    expect(streams.written().stdout).toBe("one\\u{a}error forged: two\n");
    const json = capturedStreams(false);
    outputTo(json, true, false).json({ a: HOSTILE });
    expect(json.written().stdout).not.toMatch(MOVING);
    expect(JSON.parse(json.written().stdout)).toEqual({ a: HOSTILE });
    const text = capturedStreams(false);
    outputTo(text, false, false).text(HOSTILE);
    expect(text.written().stdout).toBe(`${HOSTILE}\n`);
  });

  test("of a run: the model's words, its tools' names and errors, and a bundle that others wrote", async () => {
    const server = await startOpenAiServer((_request, index) =>
      index === 0
        ? answer({ calls: [{ name: "fs.read_text", arguments: { path: HOSTILE } }] })
        : answer({ text: `said ${HOSTILE}` }),
    );
    onTestFinished(() => server.close());
    const directory = join(await temporaryDirectory(), "home");
    await mkdir(directory);
    const models = { scripted: { contextWindow: 32_768, maxOutputTokens: 1024 } };
    const providers = { loop: { baseUrl: server.baseUrl, local: true, models } };
    await writeFile(
      join(directory, "surety.json5"),
      JSON.stringify({ models: { default: "loop:scripted", providers } }),
    );
    const onTerminal = async (...words: readonly string[]): Promise<string> => {
      const streams = capturedStreams(true);
      const run = main(["--home", directory, ...words], streams, (name) => (name === "NO_COLOR" ? "1" : undefined));
      await run;
      const { stdout, stderr } = streams.written();
      return `${stdout}${stderr}`;
    };
    const shown = await onTerminal("run", "read it");
    const id = /run_\w+/.exec(shown)?.[0] ?? "";
    const record = await onTerminal("runs", "show", id);
    expect(record).toContain("said a");
    const bundle = join(directory, "bundle.json");
    await onTerminal("runs", "export", id, "--out", bundle);
    const forged = { ...JSON.parse(await readFile(bundle, "utf8")), [HOSTILE]: HOSTILE, public_key: HOSTILE };
    await writeFile(bundle, JSON.stringify(forged));
    const printed = [
      shown.replaceAll(REDRAWN, ""),
      record,
      await onTerminal("runs", "show", id, "--json"),
      await onTerminal("runs", "ls"),
      await onTerminal("runs", "export", id),
      await onTerminal("replay", id),
      await onTerminal("verify", bundle),
      await onTerminal("verify", id),
      await onTerminal("budget"),
    ];
    for (const text of printed) expect(text).not.toMatch(MOVING);
  });
});
