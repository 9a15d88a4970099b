/** Forgetting, on the real process: what was said and done is in no file of the home, and every chain still verifies. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, vi } from "vitest";
import { openHome } from "../../src/boot/home.ts";
import { main } from "../../src/boot/main.ts";
import { getSummaryPrompt } from "../../src/prompts/summary-prompt.ts";
import { type GatewayProcess, startGateway, TOKEN } from "../faults/gateway-process.ts";
import { answer, startOpenAiServer } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { png } from "../runtime/sample-images.ts";
import { capturedStreams } from "./captured-streams.ts";
import { temporaryDirectory, temporaryHome } from "./temporary-home.ts";

const ENTRY = fileURLToPath(new URL("../../src/boot/surety.ts", import.meta.url));
const LIMIT_MS = 120_000;
const WAIT = { timeout: 60_000, interval: 50 };
const IMAGE = png(8, 8);
const PDF = Buffer.from("%PDF-1.7\n1 0 obj\n<</Of (the-second-turn)>>\nendobj\n%%EOF\n");
const SUMMARY = "canary-summary";

const said = (turn: number): string => `canary-said-in-turn-${turn}`;
/** One for each place that a turn puts content in. */
const canaries = (turn: number): readonly string[] => [
  ...["thought", "decision", "wrote", "answered"].map((what) => `canary-${what}-in-turn-${turn}`),
  said(turn),
];
const FILES = [IMAGE, PDF].map((file) => file.toString("base64").slice(0, 40));

async function openTalk() {
  const server = await startOpenAiServer(({ body: { messages } }) => {
    if (messages[0]?.["content"] === getSummaryPrompt().content) return answer({ text: SUMMARY });
    const asked = JSON.stringify(messages.findLast(({ role }) => role === "user")?.["content"]);
    if (asked.includes("wait")) return { kind: "hang" };
    const turn = Number(/in-turn-(\d)/.exec(asked)?.[1]);
    const [thought = "", decision = "", wrote = "", answered = ""] = canaries(turn);
    const notes = `<<<NOTES_JSON>>>\n{"add_decisions":["${decision}"]}\n<<<END_NOTES_JSON>>>`;
    if (messages.at(-1)?.role === "tool") return answer({ text: `${answered}\n${notes}` });
    const content = `${wrote} ${"x".repeat(1_000)}`;
    return answer({
      reasoning: thought,
      calls: [{ name: "fs.write_text", arguments: { path: `${turn}.txt`, content } }],
    });
  });
  onTestFinished(() => server.close());
  const home = await temporaryHome();
  await openHome(home);
  // What tools write is not the home's.
  const workspace = await temporaryDirectory();
  const model = { contextWindow: 32_768, maxOutputTokens: 1024, supportsVision: true };
  const config = {
    models: { default: "loop:m", providers: { loop: { baseUrl: server.baseUrl, local: true, models: { m: model } } } },
    tools: { workspace, policy: { allow: ["fs.*"], risk: { side_effect: "allow" } } },
    output: { thinking_mode: "always" },
  };
  await writeFile(home.configFile, JSON.stringify(config));
  const variable = (name: string): string | undefined => (name === "SURETY_TOKEN" ? TOKEN : undefined);
  const surety = async (...words: readonly string[]) => {
    const streams = capturedStreams();
    const code = await main(["--home", home.directory, ...words], streams, variable);
    return { code, ...streams.written() };
  };
  const start = async (): Promise<GatewayProcess> => {
    const gateway = await startGateway([process.execPath, ENTRY, "start", "--home", home.directory, "--port", "0"]);
    onTestFinished(() => gateway.kill().then(() => {}));
    return gateway;
  };
  const find = async (wanted: readonly string[]): Promise<readonly string[]> => {
    const entries = await readdir(home.directory, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
    const bytes = await Promise.all(files.map((file) => readFile(file)));
    return wanted.filter((each) => bytes.some((file) => file.includes(each)));
  };
  return { home, surety, start, find };
}

type Json = Readonly<Record<string, string>>;

function talker(gateway: GatewayProcess) {
  const ask = async (method: "GET" | "POST" | "DELETE", path: string, body?: unknown) => {
    const reply = await gateway.ask(method, path, body);
    return { status: reply?.status, json: reply?.body as Json };
  };
  const ended = (id: string): Promise<void> =>
    vi.waitFor(async () => {
      const { json } = await ask("GET", `/v1/runs/${id}`);
      expect(json["outcome"], JSON.stringify(json)).toMatch(/^COMPLETED/);
    }, WAIT);
  const upload = async (file: Buffer, name: string): Promise<string> => {
    const headers = { authorization: `Bearer ${TOKEN}` };
    const body = new Uint8Array(file);
    const url = `http://127.0.0.1:${gateway.port}/api/media?name=${name}`;
    return ((await (await fetch(url, { method: "POST", headers, body })).json()) as { ref: string }).ref;
  };
  const say = async (turn: number, more: object = {}) => {
    const { json } = await ask("POST", "/v1/chat/messages", { user_id: "anna", message: said(turn), ...more });
    await ended(String(json["id"]));
    return { runId: String(json["id"]), sessionId: String(json["session_id"]) };
  };
  return { ask, ended, upload, say };
}

verifies(
  ["X-25/home", "X-25/derived", "X-25/chains", "X-25/limits"],
  "a forgotten run, then its whole session, leave no byte in the home; every chain verifies and shows erased",
  async () => {
    const { home, surety, start, find } = await openTalk();
    const gateway = await start();
    const { ask, ended, upload, say } = talker(gateway);
    const first = await say(1);
    const media = [{ ref: await upload(IMAGE, "dot.png") }, { ref: await upload(PDF, "paper.pdf") }];
    const second = await say(2, { media });
    const third = await say(3);
    expect(new Set([first, second, third].map(({ sessionId }) => sessionId)).size).toBe(1);
    const typed = [1, 2, 3].map((turn) => `${JSON.stringify(said(turn))}\n`).join("");
    await writeFile(home.historyFile, typed);
    const recorded = async (name: string): Promise<void> => {
      const files = await readdir(home.agentsDirectory, { recursive: true });
      const texts = files.filter((file) => file.includes(name) && file.endsWith(".jsonl"));
      const read = await Promise.all(texts.map((file) => readFile(join(home.agentsDirectory, file), "utf8")));
      expect(read.join("")).toContain("in-turn-3");
    };
    await vi.waitFor(() => recorded("audit"), WAIT);
    await vi.waitFor(() => recorded("sessions"), WAIT);
    const all = [1, 2, 3].flatMap(canaries);
    expect(await find([...all, ...FILES])).toEqual([...all, ...FILES]);

    const forgotten = await ask("DELETE", `/v1/runs/${second.runId}`);
    expect(forgotten.json).toMatchObject({ runs: [second.runId], is_complete: true });
    expect(forgotten.json["not_reached"]).toContain("backups and exported bundles");
    expect(await find([...all, ...FILES])).toEqual([...canaries(1), ...canaries(3)]);
    expect(await surety("verify", "--home")).toMatchObject({ code: 0 });
    expect((await surety("verify", second.runId)).stdout).toMatch(/ is intact: .*, \d+ texts erased/);
    expect((await surety("runs", "show", second.runId)).stdout).toMatch(/^prompt +\[erased\]$(?:.|\n)*^erased +2/m);
    const bundle = join(home.directory, "..", "bundle.json");
    expect(await surety("runs", "export", second.runId, "--out", bundle)).toMatchObject({ code: 0 });
    expect((await surety("verify", bundle)).stdout).toMatch(/without \d+ of its texts/);
    const { json: session } = await ask("GET", `/api/sessions/${second.sessionId}`);
    expect(JSON.stringify(session)).toContain("[erased]");

    // The summary is made of the first turn, so it goes with it.
    const { json: compaction } = await ask("POST", `/api/sessions/${first.sessionId}/compact`);
    await ended(String(compaction["id"]));
    expect(await find([SUMMARY])).toEqual([SUMMARY]);
    const { json: again } = await ask("DELETE", `/v1/runs/${first.runId}`);
    expect(again["runs"]).toEqual([first.runId, compaction["id"]]);
    expect(await find([...all, SUMMARY])).toEqual(canaries(3));

    const whole = await surety("forget", third.sessionId);
    expect(whole).toMatchObject({ code: 0, stdout: expect.stringContaining("backups and exported bundles") });
    await gateway.kill();
    expect(await find([...all, ...FILES, SUMMARY])).toEqual([]);
    expect(await surety("verify", "--home")).toMatchObject({ code: 0, stdout: expect.stringContaining("4 runs") });
    expect((await surety("sessions", "ls", "--json")).stdout).toContain('"total": 0');
    expect((await surety("forget", third.sessionId)).stdout).toContain("nothing was left of it");
  },
  LIMIT_MS,
);

verifies(
  "X-25/at-work",
  "a run that has not ended refuses, and so does its session; another one is forgotten",
  async () => {
    const { start } = await openTalk();
    const { ask, say } = talker(await start());
    const first = await say(1);
    const { json } = await ask("POST", `/api/sessions/${first.sessionId}/send`, { text: `wait ${said(2)}` });
    const open = String(json["id"]);
    for (const path of [`/v1/runs/${open}`, `/v1/runs/${first.runId}`, `/api/sessions/${first.sessionId}`]) {
      const refused = await ask("DELETE", path);
      expect(refused.status).toBe(409);
      expect(JSON.stringify(refused.json)).toContain(`${open} has not ended, so nothing was forgotten`);
    }
    expect((await ask("DELETE", "/v1/runs/run_of_nobody")).status).toBe(404);
    await ask("POST", `/v1/runs/${open}/cancel`);
    await vi.waitFor(
      async () => expect((await ask("GET", `/v1/runs/${open}`)).json["outcome"]).toBe("INTERRUPTED"),
      WAIT,
    );
    expect((await ask("DELETE", `/v1/runs/${open}`)).status).toBe(200);
  },
  LIMIT_MS,
);

verifies(
  "X-25/interrupted",
  "a gateway that is killed while it forgets has forgotten all or nothing, and finishes at its start",
  async () => {
    const { surety, start, find } = await openTalk();
    let gateway = await start();
    for (let turn = 1; turn <= 2; turn += 1) {
      const { ask, say } = talker(gateway);
      const { runId, sessionId } = await say(turn);
      const forgetting = ask("DELETE", `/api/sessions/${sessionId}`);
      // Killed with the request on its way, and once the database has lost the content.
      if (turn > 1)
        await vi.waitFor(
          async () => expect((await ask("GET", `/v1/runs/${runId}`)).json["erased_at"]).toBeDefined(),
          WAIT,
        );
      await gateway.kill();
      // Unanswered, where it was killed before.
      await forgetting;
      gateway = await start();
      const { json } = await talker(gateway).ask("GET", `/v1/runs/${runId}`);
      const left = json["erased_at"] === undefined ? canaries(turn) : [];
      await vi.waitFor(async () => expect(await find(canaries(turn))).toEqual(left), WAIT);
      if (turn > 1) expect(left).toEqual([]);
    }
    expect(await surety("verify", "--home")).toMatchObject({ code: 0 });
  },
  LIMIT_MS,
);

verifies(
  "X-25/memory",
  "a forgotten memory, and the one it replaced, leave no byte in the home; every chain verifies",
  async () => {
    const { surety, start, find } = await openTalk();
    const gateway = await start();
    const { ask } = talker(gateway);
    const [old, kept, now] = ["canary-old-memory", "canary-other-memory", "canary-new-memory"];
    const { json: first } = await ask("POST", "/api/memory", { text: old });
    await ask("POST", "/api/memory", { text: kept });
    const { json: second } = await ask("POST", "/api/memory", { text: now, replaces: first["id"] });
    expect(second["id"]).toMatch(/^mem_/);
    expect(await find([old, kept, now])).toEqual([old, kept, now]);
    expect(await surety("forget", String(second["id"]))).toMatchObject({ code: 0 });
    expect(await find([old, kept, now])).toEqual([kept]);
    expect((await surety("memory", "search", "canary", "--json")).stdout).not.toContain("new-memory");
    await gateway.kill();
    expect(await find([old, kept, now])).toEqual([kept]);
    expect(await surety("verify", "--home")).toMatchObject({ code: 0 });
  },
  LIMIT_MS,
);
