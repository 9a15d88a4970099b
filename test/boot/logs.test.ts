/** What a gateway logs of real runs, and what it never logs (P-4.1, P-4.2); and `surety logs`. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { LogReader } from "../../src/adapters/logs/read-logs.ts";
import { main } from "../../src/boot/main.ts";
import { getBasePrompt } from "../../src/prompts/base-prompt.ts";
import { answer, json, startOpenAiServer } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { DOT_PNG } from "../runtime/sample-images.ts";
import { capturedStreams } from "./captured-streams.ts";
import { openLiveGateway } from "./live-gateway.ts";

const KEY = "canary-key-9f3b7d1e5a";
const SECRET = "canary-env-4c8e2a6f0b";
const AGENT_PROMPT = "Canary prompt: answer as the lighthouse keeper of Norderoog would.";
const SAID = "canary message about the pelican in the attic";
const ANSWER = "canary answer about the teapot on the roof";
const ARGUMENT = "canary-file-about-a-walrus.txt";
const OUTPUT = "canary output about a barometer";
const NAME = "canary_tool_of_the_model";
const STATED = "canary-words-of-the-provider";

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

async function openTalk() {
  const server = await startOpenAiServer(({ body }) => {
    const asked = String(body.messages.findLast(({ role }) => role === "user")?.["content"]);
    const results = body.messages.slice(body.messages.findLastIndex(({ role }) => role === "user") + 1);
    const step = results.filter(({ role }) => role === "tool").length;
    if (asked.includes("fail")) return json(400, { error: { message: `${STATED} ${KEY} ${asked}`, code: STATED } });
    if (asked.includes("write") && step === 0) {
      return answer({ calls: [{ name: "fs.write_text", arguments: { path: ARGUMENT, text: OUTPUT } }] });
    }
    if (asked.includes("use tools") && step === 0) {
      return answer({
        calls: [
          { name: "fs.read_text", arguments: { path: ARGUMENT } },
          { name: NAME, arguments: { canary: ARGUMENT } },
        ],
      });
    }
    return answer({ text: `${ANSWER} ${SECRET}`, finishReason: "stop", model: `m-${STATED}`, usage: USAGE });
  });
  onTestFinished(() => server.close());
  const models = { m: { contextWindow: 32_768, maxOutputTokens: 1024, supportsVision: true } };
  const providers = { loop: { baseUrl: server.baseUrl, models } };
  const config = { models: { default: "loop:m", providers }, agents: { main: { prompt: AGENT_PROMPT } } };
  const gateway = await openLiveGateway({
    config: JSON.stringify(config),
    env: `LOOP_API_KEY=${KEY}\nOTHER_TOKEN=${SECRET}\n`,
  });
  await writeFile(join(gateway.home.workspace, ARGUMENT), OUTPUT);
  const logged = async () => {
    await gateway.logs.flush();
    return await new LogReader(gateway.home.logsDirectory).next();
  };
  return {
    ...gateway,
    logged,
    run: async (message: string, more: object = {}) => {
      const id = await gateway.submit(message, more);
      await gateway.ended(id);
      return id;
    },
    /** Once they are durable and told. */
    requestsOf: (id: string, count: number) =>
      vi.waitFor(
        async () => {
          const found = (await logged()).filter(({ event, run_id }) => event === "model.request" && run_id === id);
          expect(found).toHaveLength(count);
          return found;
        },
        { timeout: 30_000, interval: 20 },
      ),
  };
}

const USAGE = { prompt_tokens: 321, completion_tokens: 12, total_tokens: 333 };

describe("a gateway's logs", () => {
  verifies(
    ["P-4.1/request", "P-4.1/manifest", "P-4.1/gate", "P-4.3", "P-6/log-hashes"],
    "hold one record of each request to a model: what was sent by id and hash, what it took, what policy decided",
    async () => {
      const { run, requestsOf, home } = await openTalk();
      const id = await run(`use tools: ${SAID}`);
      const [first, second] = await requestsOf(id, 2);
      const { versionId, content } = getBasePrompt();
      const manifest = {
        base_prompt: { id: versionId, sha256: sha256(content) },
        agent_prompt: { id: "agent:main", sha256: sha256(AGENT_PROMPT) },
        channel_policy: { id: "CHANNEL_CLI_LOCAL_V1" },
        user_message_sha256: sha256(`use tools: ${SAID}`),
      };
      expect(first).toMatchObject({
        ...{ level: "info", request_id: `${id}:1`, agent_id: "main", provider: "loop", model: "m", purpose: "answer" },
        ...{ prompt: manifest, outcome: "answered", code: null },
        gate: {
          channel: "cli_local",
          calls: [
            { tool: "fs.read_text", risk: "read_only", policy_id: expect.any(String), decision: "allow" },
            { tool: null, risk: null, policy_id: expect.any(String), decision: "deny" },
          ],
        },
      });
      expect(second).toMatchObject({ request_id: `${id}:2`, prompt: manifest, gate: { calls: [] } });
      expect(second).toMatchObject({
        ...{ time: expect.stringMatching(/^2\d{3}-\d\d-\d\dT[\d:.]+Z$/), latency_ms: expect.any(Number) },
        tokens: { estimated_input: expect.any(Number), max_output: 1024, input: 321, output: 12 },
      });
      expect(await readdir(join(home.logsDirectory, "loop"))).toEqual(["requests.jsonl"]);
    },
  );

  verifies("P-4.1/gate", "say at once that a person is asked, and later what was decided", async () => {
    const { submit, ended, requestsOf, logged, ask } = await openTalk();
    const id = await submit("write");
    const [first] = await requestsOf(id, 1);
    expect(first).toMatchObject({ gate: { calls: [{ tool: "fs.write_text", risk: "side_effect", decision: "ask" }] } });
    const { approvals } = (await ask("GET", "/api/approvals")).json;
    await ask("POST", `/api/approvals/${approvals[0].id}`, { decision: "deny", plan_hash: approvals[0].plan_hash });
    await ended(id);
    await requestsOf(id, 2);
    const decided = (await logged()).find(({ event }) => event === "gate.decided");
    expect(decided).toMatchObject({ request_id: `${id}:1`, run_id: id });
    expect(decided).toMatchObject({ gate: { calls: [{ tool: "fs.write_text", decision: "deny" }] } });
  });

  verifies(
    ["P-4.2/keys", "P-4.2/prompts", "P-4.2/bodies", "P-4.2/attachments", "P-6/log-prompts"],
    "hold nothing of keys, prompts, messages, arguments, outputs, answers and attachments, in no encoding",
    async () => {
      const { run, requestsOf, patch, url, home, logged } = await openTalk();
      const media = [{ type: "image", mime_type: "image/png", data: DOT_PNG.toString("base64") }];
      await requestsOf(await run(`${SAID} ${SECRET}`, { media }), 1);
      await requestsOf(await run(`use tools: ${SAID}`), 2);
      const [failed] = await requestsOf(await run(`fail: ${SAID}`), 1);
      expect(failed).toMatchObject({ level: "warn", outcome: "failed", code: "provider.http-400" });
      await fetch(`${url}/v1/runs/${ARGUMENT}?token=${SECRET}`, {
        headers: { authorization: `Bearer ${SECRET}`, "user-agent": SAID, "x-canary": SECRET },
      });
      await patch({ agents: { main: { prompt: `${AGENT_PROMPT} ${SAID}` } }, logging: { maxFiles: 4 } });
      const events = await vi.waitFor(async () => {
        const seen = await logged();
        expect(seen.find(({ event }) => event === "config.changed")).toMatchObject({
          paths: expect.arrayContaining(["agents.main.prompt"]),
        });
        return seen;
      });
      const names = new Set(events.map(({ event }) => event));
      expect([...names].toSorted()).toEqual(["config.changed", "model.request", "request.refused", "run.ended"]);
      expect(events.find(({ event }) => event === "request.refused")).toMatchObject({
        ...{ level: "warn", code: "auth.required", address: "127.0.0.1" },
      });
      const text = await textIn(home.logsDirectory);
      const canaries = { KEY, SECRET, AGENT_PROMPT, SAID, ANSWER, ARGUMENT, OUTPUT, NAME, STATED };
      const base = getBasePrompt().content.slice(0, 60);
      for (const [name, canary] of Object.entries({ ...canaries, base, image: DOT_PNG.toString("latin1") })) {
        const bytes = Buffer.from(canary, name === "image" ? "latin1" : "utf8");
        for (const form of formsOf(bytes)) expect(text.includes(form), `${name} as ${form}`).toBe(false);
      }
      expect(text).toContain("loop");
    },
  );
});

describe("surety logs", () => {
  test("prints what was logged of one run or level, without a gateway", async () => {
    const { run, requestsOf, home } = await openTalk();
    const one = await run(SAID);
    const other = await run(`fail: ${SAID}`);
    await requestsOf(one, 1);
    await requestsOf(other, 1);
    const surety = async (...words: readonly string[]) => {
      const streams = capturedStreams();
      const code = await main(["--home", home.directory, "logs", ...words], streams, () => undefined);
      return { code, ...streams.written() };
    };
    const whole = await surety();
    expect(whole.stdout).toContain(`model.request request_id=${one}:1 run_id=${one}`);
    expect(whole.stdout).toContain("outcome=failed code=provider.http-400");
    const { records } = JSON.parse((await surety("--run", one.slice(4), "--json")).stdout);
    expect(records.map(({ event }: { readonly event: string }) => event).toSorted()).toEqual([
      "model.request",
      "run.ended",
    ]);
    const warned = (await surety("--level", "warn")).stdout.trim().split("\n");
    expect(warned).toEqual([expect.stringContaining(`run_id=${other}`)]);
    expect(await surety("--level", "loud")).toMatchObject({ code: 2 });
    expect((await surety("--help")).stdout).toContain("-f");
  });

  test("-f goes on with what a gateway logs, until it is interrupted", async () => {
    const { run, home, logs } = await openTalk();
    const words = ["src/boot/surety.ts", "logs", "-f", "--json", "--home", home.directory];
    const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => {
      child.kill("SIGKILL");
    });
    const closed = new Promise((resolve) => child.on("close", resolve));
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const id = await run(SAID);
    await logs.flush();
    const next = async () => JSON.parse((await lines.next()).value ?? "null");
    const seen = [await next(), await next()];
    expect(seen.map(({ event }) => event).toSorted()).toEqual(["model.request", "run.ended"]);
    expect(seen.map(({ run_id }) => run_id)).toEqual([id, id]);
    child.kill("SIGINT");
    expect(await closed).toBe(0);
  });
});

async function textIn(directory: string): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  expect(files.length).toBeGreaterThan(1);
  return (await Promise.all(files.map((file) => readFile(join(file.parentPath, file.name), "latin1")))).join("\n");
}

/** As it is, in hex, base64 at each offset, percent-encoded, as UTF-16 and as JSON has it. */
function formsOf(bytes: Buffer): readonly string[] {
  const text = bytes.toString("utf8");
  const base64 = [0, 1, 2].map((offset) =>
    // The first and last characters also hold bits of what is around it.
    Buffer.concat([Buffer.alloc(offset), bytes])
      .toString("base64")
      .slice(4, -4),
  );
  const escaped = [...bytes].map((byte) => `\\u00${byte.toString(16).padStart(2, "0")}`).join("");
  return [
    ...[text, bytes.toString("latin1"), bytes.toString("hex"), bytes.toString("hex").toUpperCase(), escaped],
    ...[...base64, ...base64.map((form) => form.replaceAll("+", "-").replaceAll("/", "_"))],
    ...[encodeURIComponent(bytes.toString("latin1")), JSON.stringify(text).slice(1, -1)],
    Buffer.from(text, "utf16le").toString("latin1"),
  ];
}
