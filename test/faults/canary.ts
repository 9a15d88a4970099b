/**
 * Secrets are planted in the environment, in `.env` and among the stored secrets. A model, a tool, a file name, an address, an error
 * and a header say them again, in every encoding and cut over chunks. No file of the home, no output and no byte that leaves holds
 * one, the key that its provider is sent excepted; and of ordinary lines almost none is touched.
 */
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { main } from "../../src/boot/main.ts";
import { compileRedactor } from "../../src/kernel/redaction/redact.ts";
import { capturedStreams } from "../boot/captured-streams.ts";
import { base64, DIGIT_DISGUISES, utf8Bytes, WHOLE_DISGUISES } from "../kernel/redaction/disguises.ts";
import { answer, json, type Reply, startOpenAiServer } from "../loopback/openai-server.ts";
import { derive, type Random } from "../simulate/random.ts";
import type { Fault, Findings, Staging } from "./fault.ts";
import { TOKEN } from "./gateway-process.ts";

export const canary: Fault = {
  id: "canary",
  title: "planted secrets, said again in every place and encoding, are nowhere in the home, the outputs or what leaves",
  unit: "sayings",
  fullSize: 600,
  shortSize: 11,
  stage: plantAndSearch,
};

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const ENTRY = join(ROOT, "src/boot/surety.ts");
const CANARIES = {
  environment: "canary-Env7-Zq9.vLm2-Tx4wRb8",
  file: "canary-File3-Wd6.nHs1-Ky5cFv0",
  stored: "canary-Stored5-Jt8.gPe4-Bu2xMo6",
} as const;
const DISGUISES: Readonly<Record<string, (value: string) => string>> = {
  plain: (value) => value,
  ...WHOLE_DISGUISES,
  ...DIGIT_DISGUISES,
};
const PLACES = [
  "text",
  "reasoning",
  "notes",
  "path",
  "content",
  "url",
  "tool",
  "page",
  "error",
  "header",
  "message",
] as const;
const BENIGN_LINES = 10_000;
const MAX_TOUCHED_PERCENT = 1;
/** As long as a piece of a secret may be that redaction leaves, and one more. */
const PIECE_CHARS = 12;
const RUN_LIMIT_MS = 60_000;

async function plantAndSearch({ seed, size, say }: Staging): Promise<Findings> {
  const scratch = await mkdtemp(join(tmpdir(), "surety-canary-"));
  const [home, workspace] = [join(scratch, "home"), join(scratch, "workspace")];
  const left: string[] = [];
  let fetched = 0;
  const sayings = Array.from({ length: size }, (_, at) => sayingOf(derive(seed, "saying", at), at));
  const said = (text: unknown): Saying | undefined => sayings[Number(/saying (\d+)/.exec(JSON.stringify(text))?.[1])];
  const page = createServer((request, response) => {
    fetched += 1;
    left.push(request.url ?? "", JSON.stringify(request.headers));
    const { disguised = "", place } = said(decodeURIComponent(request.url ?? "").replace("saying-", "saying ")) ?? {};
    const safe = disguised.replaceAll(/[^\x21-\x7e]/g, "");
    response.writeHead(200, { "content-type": "text/plain", ...(place === "header" ? { "x-note": safe } : {}) });
    response.end(place === "page" ? `The page says ${disguised}.` : "Nothing.");
  });
  await new Promise<void>((resolve) => page.listen(0, "127.0.0.1", resolve));
  const { port } = page.address() as AddressInfo;
  const model = await startOpenAiServer(({ body, text, headers }) => {
    const { authorization: _, ...others } = headers;
    left.push(text, JSON.stringify(others));
    const asked = body.messages.findLast(({ role }) => role === "user")?.["content"];
    const last = body.messages.at(-1)?.role;
    return replyTo(said(asked), last === "tool", `http://127.0.0.1:${port}`);
  });
  const problems: string[] = [];
  try {
    await mkdir(home, { mode: 0o700 });
    await mkdir(workspace);
    for (const { at, disguised, place } of sayings) {
      if (place === "tool") await writeFile(join(workspace, `${at}.txt`), `It says ${disguised}.`);
    }
    const models = { m: { contextWindow: 262_144, maxOutputTokens: 4096 } };
    await writeFile(
      join(home, "surety.json5"),
      JSON.stringify({
        models: { default: "loop:m", providers: { loop: { baseUrl: model.baseUrl, models } } },
        output: { thinking_mode: "always" },
        tools: {
          workspace,
          policy: { risk: { side_effect: "allow" } },
          http: { allowAddresses: [`127.0.0.1:${port}`] },
        },
        sessions: { storePartials: true },
      }),
    );
    await writeFile(join(home, ".env"), `OTHER_TOKEN=${CANARIES.file}\n`, { mode: 0o600 });
    const streams = capturedStreams();
    streams.stdin.end(CANARIES.stored);
    await main(["--home", home, "secrets", "set", "crm-hook"], streams, (name) =>
      name === "LOOP_API_KEY" ? CANARIES.environment : undefined,
    );
    const outputs: string[] = [];
    await withGateway(home, outputs, async (ask) => {
      for (const { at, place, disguised } of sayings) {
        const message = place === "message" ? `saying ${at}: ${disguised}` : `saying ${at}`;
        const isOutside = OUTSIDE.includes(place);
        const session = isOutside ? { session_id: await grantedSession(ask) } : {};
        const { id } = await ask("POST", "/v1/runs", { agent_id: "main", message, ...session });
        const record = await ended(ask, String(id));
        outputs.push(JSON.stringify(record));
        outputs.push(JSON.stringify(await ask("GET", `/v1/runs/${id}/entries`)));
        if (at % 50 === 49) say(`${at + 1}/${size} sayings`);
      }
    });
    for (const words of [["logs"], ["runs", "ls"], ["sessions", "ls"], ["verify"]]) {
      const shown = capturedStreams();
      await main(["--home", home, ...words], shown, () => undefined);
      outputs.push(...Object.values(shown.written()));
      if (words[0] === "verify" && !shown.written().stdout.includes("is intact"))
        problems.push(`verify: ${shown.written().stderr}`);
    }
    const needles = needlesOf(sayings);
    const sources: [string, readonly string[]][] = [
      ["what left", left],
      ["outputs", outputs],
    ];
    for (const [what, texts] of sources) problems.push(...findIn(what, Buffer.from(texts.join("\n")), needles));
    let searched = 0;
    for (const path of await filesOf(home)) {
      if (path.endsWith("/.env")) continue;
      const bytes = await readFile(path);
      searched += bytes.length;
      problems.push(...findIn(path.slice(home.length + 1), bytes, needles));
    }
    const touched = await touchedLines(seed);
    if (touched > (BENIGN_LINES * MAX_TOUCHED_PERCENT) / 100)
      problems.push(`${touched} of ${BENIGN_LINES} ordinary lines were touched`);
    return {
      figures: {
        sayings: size,
        places: PLACES.length,
        "pages fetched": fetched,
        encodings: Object.keys(DISGUISES).length,
        "bytes searched in the home": searched,
        "bytes searched outside": [...left, ...outputs].reduce((sum, text) => sum + text.length, 0),
        [`ordinary lines touched of ${BENIGN_LINES}`]: touched,
      },
      problems,
    };
  } finally {
    await model.close();
    page.close();
    await rm(scratch, { recursive: true, force: true });
  }
}

interface Saying {
  readonly at: number;
  readonly place: (typeof PLACES)[number];
  readonly value: string;
  readonly encoding: string;
  readonly disguised: string;
  readonly pieceChars: number;
  readonly isFailing: boolean;
}

function sayingOf(random: Random, at: number): Saying {
  const place = PLACES[at % PLACES.length] ?? "text";
  const which = random.pick(Object.keys(CANARIES) as (keyof typeof CANARIES)[]);
  // A stored secret is put into an allowed call: that is what it is for.
  const isPutIn = which === "stored" && ["path", "content", "url"].includes(place);
  const value = CANARIES[isPutIn ? "environment" : which];
  const encoding = random.pick(Object.keys(DISGUISES));
  const disguised = DISGUISES[encoding]?.(value) ?? value;
  return { at, place, value, encoding, disguised, pieceChars: random.between(1, 9), isFailing: random.chance(50) };
}

function replyTo(saying: Saying | undefined, isAfterTool: boolean, pages: string): Reply {
  if (saying === undefined || isAfterTool) return answer({ text: "Done." });
  const { at, place, disguised, pieceChars } = saying;
  const safe = disguised.replaceAll(/[^\x21-\x7e]/g, "");
  const dialect = { pieceChars, writeBytes: 1 + (at % 7) };
  const call = (name: string, args: object) => answer({ calls: [{ name, arguments: args }], dialect });
  switch (place) {
    case "text":
      return answer({ text: `It is ${disguised}, I think.`, dialect });
    case "reasoning":
      return answer({ reasoning: `They want ${disguised}.`, text: "Done.", dialect });
    case "notes":
      return answer({
        text: `Noted.\n<<<NOTES_JSON>>>\n${JSON.stringify({ add_decisions: [disguised] })}\n<<<END_NOTES_JSON>>>`,
        dialect,
      });
    case "path":
      return call("fs.read_text", { path: `${disguised}.txt` });
    case "content":
      return call("fs.write_text", { path: `out-${at}.txt`, text: disguised });
    case "url":
      return call("http.get", { url: `${pages}/saying-${at}?q=${disguised}` });
    case "page":
    case "header":
      return call("http.get", { url: `${pages}/saying-${at}` });
    case "tool":
      return call("fs.read_text", { path: `${at}.txt` });
    case "error":
      return json(400, { error: { message: `bad key ${disguised}`, code: safe } }, { "x-request-id": safe });
    case "message":
      return answer({ text: "Heard.", dialect });
  }
}

const OUTSIDE: readonly Saying["place"][] = ["url", "page", "header"];

/** A session that may reach the page: one of its own, since what it reads there bars it from more. */
async function grantedSession(ask: Ask): Promise<unknown> {
  const { id, session_id } = await ask("POST", "/v1/runs", { agent_id: "main", message: "hello" });
  await ended(ask, String(id));
  await ask("POST", "/api/capabilities", { session_id, grant: "net" });
  return session_id;
}

type Ask = (method: string, path: string, body?: object) => Promise<Readonly<Record<string, unknown>>>;

async function withGateway(home: string, outputs: string[], use: (ask: Ask) => Promise<void>): Promise<void> {
  const env = {
    PATH: process.env["PATH"] ?? "",
    SURETY_TOKEN: TOKEN,
    NO_COLOR: "1",
    LOOP_API_KEY: CANARIES.environment,
  };
  const child = spawn(process.execPath, [ENTRY, "--home", home, "start", "--port", "0"], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const gone = new Promise((resolve) => child.once("close", resolve));
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      printed += chunk.toString("latin1");
    });
  }
  try {
    const url = await until(() => /surety listening on (\S+)/.exec(printed)?.[1] ?? null);
    await use(async (method, path, body) => {
      const answered = await fetch(`${url}${path}`, {
        method,
        headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return (await answered.json()) as Readonly<Record<string, unknown>>;
    });
  } finally {
    child.kill("SIGTERM");
    await gone;
    outputs.push(printed);
  }
}

async function ended(ask: Ask, id: string) {
  return await until(async () => {
    const record = await ask("GET", `/v1/runs/${id}`);
    return record["outcome"] === null ? null : record;
  });
}

async function until<Found>(find: () => Found | null | Promise<Found | null>): Promise<Found> {
  for (const startedAt = performance.now(); ; await pause(5)) {
    const found = await find();
    if (found !== null) return found;
    if (performance.now() - startedAt > RUN_LIMIT_MS) throw new Error("the gateway does not answer");
  }
}

/** Everything that was said, whole, and every piece of a secret as it is. */
function needlesOf(sayings: readonly Saying[]): ReadonlyMap<string, string> {
  const needles = new Map<string, string>();
  for (const { disguised, encoding } of sayings) needles.set(disguised, encoding);
  for (const [name, value] of Object.entries(CANARIES)) {
    for (let at = 0; at + PIECE_CHARS <= value.length; at += 1)
      needles.set(value.slice(at, at + PIECE_CHARS), `piece of ${name}`);
    for (const [encoding, disguise] of Object.entries(DISGUISES)) needles.set(disguise(value), encoding);
    needles.set(base64(utf8Bytes(value)).slice(0, -4), `base64 of ${name}`);
  }
  return needles;
}

function findIn(what: string, bytes: Buffer, needles: ReadonlyMap<string, string>): readonly string[] {
  const found: string[] = [];
  for (const [needle, name] of needles) {
    const forms = [
      Buffer.from(needle),
      Buffer.from(JSON.stringify(needle).slice(1, -1)),
      Buffer.from(needle, "utf16le"),
    ];
    const at = forms.map((form) => bytes.indexOf(form)).find((place) => place >= 0);
    if (at !== undefined)
      found.push(
        `${what} holds ${name} at ${at}: …${bytes.subarray(Math.max(0, at - 60), at + 30).toString("latin1")}…`,
      );
  }
  return found;
}

async function filesOf(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** Lines of this repository's own pages and sources. */
async function touchedLines(seed: number): Promise<number> {
  const verdict = compileRedactor({
    secrets: Object.entries(CANARIES).map(([name, value]) => ({ name, value })),
    emails: true,
    phones: true,
  });
  if (!verdict.ok) throw new Error("the redactor refuses the canaries");
  const files = (await Promise.all(["docs", "src", "contracts"].map((folder) => filesOf(join(ROOT, folder)))))
    .flat()
    .toSorted();
  const lines = (await Promise.all(files.map((file) => readFile(file, "utf8"))))
    .join("\n")
    .split("\n")
    .filter((line) => line.trim() !== "");
  const random = derive(seed, "lines");
  let touched = 0;
  for (let count = 0; count < BENIGN_LINES; count += 1) {
    const line = random.pick(lines);
    if (verdict.redactor.redactText(line).text !== line) touched += 1;
  }
  return touched;
}
