/** The script that records fixtures, against servers that say what they should. */
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { scrubberFor } from "../../scripts/scrub-answer.ts";
import { AnswerReader } from "../../src/adapters/models/answer-reader.ts";
import { MESSAGE_ANSWER } from "../../src/adapters/models/anthropic-messages/message-answer.ts";
import { CHAT_ANSWER } from "../../src/adapters/models/openai-chat/chat-answer.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { startAnthropicServer } from "../loopback/anthropic-server.ts";
import { type ChatScript, encodeEvents as chatEvents } from "../loopback/chat-wire.ts";
import { encodeEvents as messageEvents } from "../loopback/messages-wire.ts";
import { answer, json, type Reply, startOpenAiServer } from "../loopback/openai-server.ts";

const SCRIPT = join(import.meta.dirname, "../../scripts/record-fixtures.ts");
const KEY = "sk-Kq7ZpX2mVb9RtYw4NcHs6LdJf8Ga3Eu1";
const NAMES = [
  ...["after-result-stream", "cut-stream", "parallel-calls-stream", "text-document", "text-stream"],
  ...["tool-call-document", "tool-call-stream"],
];

const SAID: ChatScript = {
  text: "Hello, dear — Zoë ✓",
  dialect: { newline: "\r\n", hasComments: true },
};
const CALLED: ChatScript = {
  reasoning: "Hm.",
  calls: ["a", "b"].map((name) => ({ ...callOf(`${name}.txt`), id: `call_${name}Zw34Xy12` })),
};

function callOf(path: string) {
  return { name: "fs.read_text", arguments: { path } };
}

/** It is offered a tool and has used none. */
function replyTo(text: string): Reply {
  return answer(/"tools":/.test(text) && !/"tool_call_id"|"tool_use_id"/.test(text) ? CALLED : SAID);
}

async function record(provider: string, key: string | null, ...words: readonly string[]) {
  const out = await mkdtemp(join(tmpdir(), "surety-fixtures-"));
  onTestFinished(() => rm(out, { recursive: true, force: true }));
  const env = {
    PATH: process.env["PATH"] ?? "",
    ...(key === null ? {} : { [`${provider.toUpperCase()}_API_KEY`]: key }),
  };
  const args = [SCRIPT, "--provider", provider, "--out", out, ...words];
  const { code, stdout, stderr } = await promisify(execFile)(process.execPath, args, { env }).then(
    (output) => ({ code: 0, ...output }),
    (failure: { readonly code: number; readonly stdout: string; readonly stderr: string }) => failure,
  );
  const files = await readdir(out, { recursive: true, withFileTypes: true });
  const paths = files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name));
  const texts = await Promise.all(paths.sort().map((path) => readFile(path, "utf8")));
  return { code, stdout, stderr, names: paths.map((path) => path.slice(out.length + 1)), texts };
}

for (const [provider, protocol, start, encodeEvents] of [
  ["moonshot", "openai-chat", startOpenAiServer, chatEvents],
  ["anthropic", "anthropic-messages", startAnthropicServer, messageEvents],
] as const) {
  test(`answers of ${provider} are kept as they came, with their source and without ids or the key`, async () => {
    const server = await start(({ text }) => replyTo(text));
    onTestFinished(() => server.close());
    const { code, stderr, names, texts } = await record(provider, KEY, "--base-url", server.baseUrl, "--model", "m-1");
    expect([code, stderr]).toEqual([0, ""]);
    expect(names).toEqual(NAMES.map((name) => join(protocol, `recorded-${provider}-${name}.json`)));
    expect(server.requests.every(({ text }) => JSON.parse(text).model === "m-1")).toBe(true);
    const fixtures = texts.map((text) => JSON.parse(text));
    for (const [at, fixture] of fixtures.entries()) {
      expect(fixture).toMatchObject({ protocol, source: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/v1\/\w+/) });
      expect(fixture.built).toMatch(/^recorded \d{4}-\d\d-\d\d from m-1; /);
      expect(texts[at]).not.toMatch(/sk-|Zw34Xy12/);
      expect(fixture.body.join("")).not.toMatch(/"signature":"(?!"|c2lnbmVk")/);
      expect(readAgain(fixture)).toMatchObject(fixture.reply);
    }
    const [, , called, , said] = fixtures;
    expect(said.body.join("\n")).toBe(encodeEvents(SAID).join(""));
    expect(called.reply.raw.toolCalls.map(({ id }: { readonly id: string }) => id)).toEqual(["call_1", "call_2"]);
    expect(said.reply.raw.content).toBe(SAID.text);
  });
}

test("without a key one line says which, and nobody is asked", async () => {
  const server = await startOpenAiServer(() => answer({ text: "hi" }));
  onTestFinished(() => server.close());
  const { code, stderr, names } = await record("openai", null, "--base-url", server.baseUrl);
  expect({ code, stderr, names }).toEqual({
    code: 2,
    stderr: "No key for provider openai: put OPENAI_API_KEY=… in the environment\n",
    names: [],
  });
  expect(server.connections).toBe(0);
});

const HELD = "text-document: the answer holds the key, and is not kept\n";
const encoded = (text: string, encoding: BufferEncoding): string => Buffer.from(text).toString(encoding);

test.each<[string, Reply, string]>([
  ...[
    ["the key", KEY],
    ["the header's value in Base64", encoded(`Bearer ${KEY}`, "base64")],
    ["the key in Base64, at another offset", encoded(`x${KEY}`, "base64")],
    ["the key in Base64 for addresses", encoded(`??>${KEY}`, "base64url")],
    ["the key in upper-case hexadecimal", encoded(KEY, "hex").toUpperCase()],
    ["the key in percent signs", encoded(KEY, "hex").replace(/../g, "%$&")],
  ].map(([name = "", text = ""]): [string, Reply, string] => [name, answer({ text: `It is ${text}` }), HELD]),
  ["a refusal", json(401, { error: { message: KEY } }), "text-document: provider.http-401\n"],
  ["a call that holds the key", answer({ calls: [callOf(KEY)] }), HELD],
  ["a thought that holds the key", answer({ reasoning: KEY, text: "Hi" }), HELD],
])("%s is not kept", async (_, reply, line) => {
  const server = await startOpenAiServer(() => reply);
  onTestFinished(() => server.close());
  const { code, stderr, names } = await record("openai", KEY, "--base-url", server.baseUrl);
  expect({ code, stderr, names }).toEqual({ code: 1, stderr: line, names: [] });
});

test("a key that comes in pieces is found where they are put together", async () => {
  const server = await startOpenAiServer(({ text }) =>
    answer(/"stream":true/.test(text) ? { text: KEY, dialect: { pieceChars: 3 } } : SAID),
  );
  onTestFinished(() => server.close());
  const { code, stderr, texts } = await record("openai", KEY, "--base-url", server.baseUrl);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/-stream: the answer holds the key, and is not kept\n$/)]);
  expect(texts.some((text) => text.includes(KEY.slice(0, 3)))).toBe(false);
});

test("nothing is recorded with a key that could not be found again", async () => {
  const server = await startOpenAiServer(() => answer({ text: "hi" }));
  onTestFinished(() => server.close());
  const { code, names } = await record("openai", "abc", "--base-url", server.baseUrl);
  expect([code, names, server.connections]).toEqual([2, [], 0]);
});

test("owners and what is encrypted are replaced", () => {
  const answered = JSON.stringify({
    ...{ user_id: "user-Zw34Xy12", organization: "org-Zw34Xy12", system_fingerprint: "fp_Zw34Xy12ab" },
    content: [{ type: "redacted_thinking", data: "EmwKAhgBEgy3" }],
    reasoning_details: [{ type: "reasoning.encrypted", data: "gAAAAABo", id: "rs_Zw34Xy12ab" }],
    tool_calls: [{ extra_content: { google: { thought_signature: "CiQB" } }, arguments: '{"data":"a.txt"}' }],
  });
  const scrubbed = scrubberFor(answered)(answered);
  expect(scrubbed).not.toMatch(/Zw34|EmwKAh|gAAAA|CiQB/);
  expect(JSON.parse(scrubbed)).toMatchObject({
    ...{ user_id: "owner", organization: "owner", content: [{ type: "redacted_thinking", data: "c2lnbmVk" }] },
    tool_calls: [{ arguments: '{"data":"a.txt"}' }],
  });
});

interface Recorded {
  readonly protocol: string;
  readonly contentType: string;
  readonly body: readonly string[];
}

function readAgain({ protocol, contentType, body }: Recorded): unknown {
  const reader =
    protocol === "openai-chat"
      ? new AnswerReader(CHAT_ANSWER, systemClock, null, 1_024)
      : new AnswerReader(MESSAGE_ANSWER, systemClock, null, 1_024);
  reader.onHead({ status: 200, header: (name) => (name === "content-type" ? contentType : null) });
  reader.onBytes(Buffer.from(body.join("\n")));
  return reader.replyAt("complete");
}
