/** End to end: the command line against a real model server, a real gateway, real files. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { main } from "../../src/boot/main.ts";
import { answering, serve } from "../adapters/tools/http/gated-calls.ts";
import { answer, type OpenAiServer, type ServerScript, startOpenAiServer } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { capturedStreams } from "./captured-streams.ts";
import { temporaryDirectory } from "./temporary-home.ts";

const ENTRY = fileURLToPath(new URL("../../src/boot/surety.ts", import.meta.url));

interface Ending {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A home of its own, with commands on it in this process. */
async function homeFor(config: object = {}) {
  const directory = join(await temporaryDirectory(), "home");
  await mkdir(directory);
  await writeFile(join(directory, "surety.json5"), JSON.stringify(config));
  const surety = async (...words: readonly string[]): Promise<Ending> => {
    const streams = capturedStreams();
    const code = await main(["--home", directory, ...words], streams, () => undefined);
    return { code, ...streams.written() };
  };
  const run = async (...words: readonly string[]) => {
    const ending = await surety("run", "--json", ...words);
    return { ...ending, record: ending.stdout === "" ? null : JSON.parse(ending.stdout) };
  };
  return { directory, workspace: join(directory, "workspace"), surety, run };
}

/** The same, with a scripted server as its only model. */
async function homeWith(script: ServerScript) {
  const server = await startOpenAiServer(script);
  onTestFinished(() => server.close());
  return { server, ...(await homeFor(configOf(server))) };
}

function configOf({ baseUrl }: OpenAiServer) {
  return {
    models: {
      default: "loop:scripted",
      providers: {
        loop: { baseUrl, local: true, models: { scripted: { contextWindow: 32_768, maxOutputTokens: 1024 } } },
      },
    },
  };
}

const LIST = { name: "fs.list_dir", arguments: { path: "." } };

interface Process {
  readonly child: ChildProcessWithoutNullStreams;
  readonly ending: Promise<Ending>;
  /** Resolves with the first match in what it printed. */
  printed(pattern: RegExp): Promise<string>;
}

/** A process of its own. */
function start(directory: string, ...words: readonly string[]): Process {
  const env = { PATH: process.env["PATH"] ?? "", NO_COLOR: "1" };
  const child = spawn(process.execPath, [ENTRY, "--home", directory, ...words], { env });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  child.stdin.end();
  const written = { stdout: "", stderr: "" };
  const looking = new Set<() => void>();
  for (const name of ["stdout", "stderr"] as const) {
    child[name].on("data", (chunk: Buffer) => {
      written[name] += chunk.toString();
      for (const look of looking) look();
    });
  }
  const ending = new Promise<Ending>((resolve) => child.on("close", (code) => resolve({ code, ...written })));
  const printed = (pattern: RegExp): Promise<string> =>
    new Promise((resolve) => {
      const look = (): void => {
        const [found] = pattern.exec(written.stdout + written.stderr) ?? [];
        if (found === undefined) return;
        looking.delete(look);
        resolve(found);
      };
      looking.add(look);
      look();
    });
  return { child, ending, printed };
}

async function startGateway(directory: string, ...flags: readonly string[]) {
  const { child, ending, printed } = start(directory, "start", "--port", "0", ...flags);
  const url = (await printed(/http:\/\/\S+/)).replace(/\/$/, "");
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    expect(await ending).toMatchObject({ code: 0 });
  };
  return { url, printed, stop };
}

describe("a first run", () => {
  verifies("X-12", "lists, writes with approval, and is denied at once without anybody to ask", async () => {
    const { run, workspace } = await homeFor();
    const listed = await run("list files");
    expect([listed.code, listed.record.outcome, listed.stderr]).toEqual([0, "COMPLETED_WITH_TOOLS", ""]);
    const denied = await run("write hello to a.txt");
    expect(denied.record.trace.tool_execution_results).toMatchObject([
      { error: expect.stringMatching(/^policy\.denied/) },
    ]);
    expect(denied.record.output).toMatch(/denied/);
    expect(await readdir(workspace)).toEqual([]);
    const written = await run("write hello to a.txt", "--approve", "fs.write_text");
    expect([written.code, written.record.outcome]).toEqual([0, "COMPLETED_WITH_TOOLS"]);
    expect(await readFile(join(workspace, "a.txt"), "utf8")).toMatch(/^hello/);
  });
});

describe("the built-in model", () => {
  test("runs commands that only read without asking, and no others", async () => {
    const { run, workspace } = await homeFor();
    await mkdir(workspace);
    await writeFile(join(workspace, "notes.txt"), "buy milk");
    const listed = await run("run ls -la");
    expect([listed.code, listed.record.outcome]).toEqual([0, "COMPLETED_WITH_TOOLS"]);
    expect(listed.record.output).toMatch(/exit code 0:.+ notes\.txt/s);
    const denied = await run("run rm notes.txt");
    expect(denied.record.output).toMatch(/^shell\.exec was denied .*rm.*, so nothing was done/);
    expect(await readdir(workspace)).toEqual(["notes.txt"]);
  });

  verifies("S-4.4", "fetches what the operator granted to the session, and says how until then", async () => {
    const { url, place, requests } = await serve(answering("hello from the web"));
    const { run, surety } = await homeFor({ tools: { http: { allowAddresses: [place] } } });
    const denied = await run(`fetch ${url}`);
    expect(denied.record.output).toMatch(/^http\.get was denied .*surety caps grant net --session/);
    expect(requests).toHaveLength(0);
    const session = denied.record.session_id;
    expect((await surety("caps", "grant", "net", "--session", session)).code).toBe(0);
    const fetched = await run(`fetch ${url}`, "--session", session);
    expect([fetched.code, fetched.record.outcome]).toEqual([0, "COMPLETED_WITH_TOOLS"]);
    expect(fetched.record.output).toContain("hello from the web");
    expect(requests).toHaveLength(1);
  });
});

describe("a model that does not keep to its contract", () => {
  verifies(["X-1/claimed", "M-C"], "narrates: FAILED_PROTOCOL_NO_TOOLS, exit 1", async () => {
    const { run, server, workspace } = await homeWith(() => answer({ text: "Done! I wrote the file." }));
    const { code, record } = await run(
      "write hello to a.txt",
      "--require",
      "fs.write_text",
      "--approve",
      "fs.write_text",
    );
    expect([code, record.status, record.outcome]).toEqual([1, "failed", "FAILED_PROTOCOL_NO_TOOLS"]);
    expect(server.requests[0]?.body.tool_choice).toBe("required");
    expect(await readdir(workspace)).toEqual([]);
  });

  verifies("X-7/repeat", "repeats an identical call: stopped after three performed ones", async () => {
    const { run, server } = await homeWith(() => answer({ calls: [LIST] }));
    const { code, record } = await run("list files");
    expect([code, record.outcome, record.reason]).toEqual([1, "FAILED_BUDGET_EXHAUSTED", "cycle"]);
    expect([record.tool_calls, server.requests.length]).toEqual([3, 3]);
  });

  verifies(
    "M-P2b/exhaustion",
    "writes what nobody can read, twice: exactly two requests, FAILED_PROTOCOL_MALFORMED",
    async () => {
      const broken = { name: "fs.list_dir", arguments: '{"path": ' };
      const { run, server } = await homeWith(() => answer({ calls: [broken] }));
      const { code, record } = await run("list files");
      expect([code, record.outcome, record.tool_calls]).toEqual([1, "FAILED_PROTOCOL_MALFORMED", 0]);
      expect(server.requests).toHaveLength(2);
    },
  );

  test("calls a tool where none may be called: FAILED_CONTRACT_VIOLATION, not performed", async () => {
    const write = { name: "fs.write_text", arguments: { path: "a.txt", content: "x" } };
    const { run, server, workspace } = await homeWith(() => answer({ calls: [write] }));
    const { code, record } = await run("say hello", "--forbid-tools", "--approve", "fs.write_text");
    expect([code, record.outcome, record.tool_calls]).toEqual([1, "FAILED_CONTRACT_VIOLATION", 0]);
    expect([server.requests.length, server.requests[0]?.body.tools ?? []]).toEqual([1, []]);
    expect(await readdir(workspace)).toEqual([]);
  });
});

test("a strict run wants a tool called, unless none may be, and its help says so", async () => {
  const { run, surety } = await homeWith(() => answer({ text: "Well." }));
  expect((await run("hello", "--strict")).record.outcome).toBe("FAILED_PROTOCOL_NO_TOOLS");
  expect((await run("hello", "--strict", "--forbid-tools")).record.outcome).toBe("COMPLETED_CHAT_ONLY");
  expect((await surety("run", "--help")).stdout).toMatch(/--strict .*, and a tool must be called unless forbidden/);
});

describe("cancelling", () => {
  test("by an interrupt: INTERRUPTED, exit 130, and the server sees the socket close", async () => {
    const { server, directory } = await homeWith(() => ({ kind: "hang" }));
    const { child, ending } = start(directory, "run", "--json", "think long");
    const { closed } = await server.arrival(0);
    child.kill("SIGINT");
    expect(await closed).toBe("by-client");
    const { code, stdout } = await ending;
    expect([code, JSON.parse(stdout).outcome]).toEqual([130, "INTERRUPTED"]);
  });

  test("a run that is queued at a gateway says so with its id, and one interrupt ends it", async () => {
    const { server, directory } = await homeWith(() => ({ kind: "hang" }));
    await startGateway(directory, "--workers", "1");
    start(directory, "run", "think long");
    await server.arrival(0);
    const queued = start(directory, "run", "think, too");
    const [, runId] = (await queued.printed(/queued run_\w+/)).split(" ");
    queued.child.kill("SIGINT");
    const { code, stderr } = await queued.ending;
    expect([code, stderr]).toEqual([130, expect.stringMatching(`INTERRUPTED .*${runId}`)]);
  });

  verifies(
    "X-12",
    "beside a gateway, without a terminal: denied at once, or waited for where that is asked",
    async () => {
      const { directory, workspace, surety, run } = await homeFor();
      const { stop } = await startGateway(directory);
      const denied = await run("write hello to a.txt");
      expect([denied.code, denied.record.outcome]).toEqual([0, "COMPLETED_CHAT_ONLY"]);
      expect(denied.record.output).toContain("nobody can be asked");
      const waiting = start(directory, "run", "--wait", "--json", "write hello to a.txt");
      let pending: readonly { readonly id: string }[] = [];
      while (pending.length === 0) pending = JSON.parse((await surety("approvals", "ls", "--json")).stdout).approvals;
      expect((await surety("approvals", "allow", pending[0]?.id ?? "")).code).toBe(0);
      const { code, stdout } = await waiting.ending;
      expect([code, JSON.parse(stdout).outcome]).toEqual([0, "COMPLETED_WITH_TOOLS"]);
      expect(await readFile(join(workspace, "a.txt"), "utf8")).toContain("hello");
      await stop();
    },
  );

  verifies(
    "P-3.2",
    "the kill switch holds at a gateway that is running, and a broken config changes nothing",
    async () => {
      const { directory, workspace, surety, run } = await homeFor();
      const { printed, stop } = await startGateway(directory);
      const write = async (name: string) =>
        (await run(`write hello to ${name}`, "--approve", "fs.write_text")).record.outcome;
      expect(await write("before.txt")).toBe("COMPLETED_WITH_TOOLS");
      const set = await surety("config", "set", "tools.policy.sideEffects", "disabled");
      expect([set.code, set.stderr]).toEqual([0, expect.stringContaining("applies it within a second")]);
      await printed(/applies from now on: tools\.policy\.sideEffects/);
      expect(await write("after.txt")).toBe("COMPLETED_CHAT_ONLY");
      await writeFile(join(directory, "surety.json5"), "{ tools: ");
      await printed(/cannot be used .*; they stay as they were/);
      await writeFile(
        join(directory, "surety.json5"),
        JSON.stringify({ tools: { policy: { sideEffects: "disabled" } } }),
      );
      expect(await write("later.txt")).toBe("COMPLETED_CHAT_ONLY");
      expect(await readdir(workspace)).toEqual(["before.txt"]);
      await stop();
    },
  );

  test("at a running gateway, which no second one can run beside", async () => {
    const { server, directory, surety } = await homeWith(() => ({ kind: "hang", withHead: true }));
    const { url, stop } = await startGateway(directory);
    const second = await surety("start", "--port", "0");
    expect(second.code).toBe(1);
    expect(second.stderr).toMatch(/^error store\.in-use: [^\n]+\n([^\n]+\n)?$/);

    const following = surety("run", "--json", "think long");
    const { closed } = await server.arrival(0);
    const token = (await readFile(join(directory, "token"), "utf8")).trim();
    const headers = { authorization: `Bearer ${token}` };
    const { runs } = (await (await fetch(`${url}/v1/runs`, { headers })).json()) as { runs: readonly { id: string }[] };
    const cancelled = await fetch(`${url}/v1/runs/${runs[0]?.id}/cancel`, { method: "POST", headers });
    expect(cancelled.status).toBe(202);
    expect(await closed).toBe("by-client");
    const { code, stdout } = await following;
    expect([code, JSON.parse(stdout).outcome]).toEqual([130, "INTERRUPTED"]);
    await stop();
  });
});

describe("a run that waits", () => {
  const DAMAGE = {
    "the last entry":
      "UPDATE appends SET lines = '{' || substr(lines, 2) WHERE place = (SELECT max(place) FROM appends)",
    "all of the last entry": "UPDATE appends SET lines = 'zz' WHERE place = (SELECT max(place) FROM appends)",
    "the first entry":
      "UPDATE appends SET lines = '{' || substr(lines, 2) WHERE place = (SELECT min(place) FROM appends)",
    "its contract": "UPDATE runs SET contract = 'null'",
  };

  for (const [what, sql] of Object.entries(DAMAGE)) {
    verifies("X-2", `of which ${what} was damaged is not gone on with; the gateway works on`, async () => {
      const { directory, surety, run } = await homeFor();
      const before = await startGateway(directory);
      const waiting = start(directory, "run", "write hello to a.txt", "--wait");
      await waiting.printed(/waiting for approval/);
      waiting.child.kill("SIGKILL");
      await before.stop();
      const db = new DatabaseSync(join(directory, "surety.db"));
      db.exec(sql);
      db.close();

      const after = await startGateway(directory);
      expect((await run("list files")).record.outcome).toBe("COMPLETED_WITH_TOOLS");
      const { runs } = JSON.parse((await surety("runs", "ls", "--json")).stdout);
      expect(runs).toMatchObject([{ outcome: "COMPLETED_WITH_TOOLS" }, { reason: "machine.diverged" }]);
      await after.stop();
      const { code, stderr } = await surety("verify", "--home");
      expect([code, stderr]).toEqual([1, expect.stringContaining(runs[1].id)]);
    });
  }
});

describe("a recorded run", () => {
  verifies("X-3", "whose texts were changed in the database is not shown with them, and is named", async () => {
    const { surety, run, directory } = await homeFor();
    const { record } = await run("list files");
    const db = new DatabaseSync(join(directory, "surety.db"));
    db.exec("UPDATE bodies SET text = replace(text, 'empty', 'full')");
    db.exec("UPDATE appends SET bodies = replace(bodies, 'empty', 'full')");
    db.close();
    for (const words of [
      ["runs", "show", record.id],
      ["runs", "ls", "--json"],
      ["runs", "show", record.id, "--json"],
    ]) {
      const { code, stdout } = await surety(...words);
      expect([code, stdout]).toEqual([0, expect.not.stringContaining("full")]);
    }
    for (const words of [
      ["verify", record.id],
      ["verify", "--home"],
    ]) {
      const { code, stderr } = await surety(...words);
      expect([code, stderr]).toEqual([1, expect.stringMatching(/entry \d+: a text it names was changed/)]);
    }
    const exported = await surety("runs", "export", record.id);
    expect([exported.code, exported.stderr]).toEqual([1, expect.stringContaining(`surety verify ${record.id}`)]);
  });

  const CHANGES = {
    "its contract": `UPDATE runs SET contract = replace(contract, '"max_inferences":10', '"max_inferences":99')`,
    "how it ended": "UPDATE run_states SET outcome = 'COMPLETED_CHAT_ONLY'",
    "how much it did": "UPDATE run_states SET tool_calls = 7",
  };

  for (const [what, sql] of Object.entries(CHANGES)) {
    verifies("X-24", `of which ${what} was changed in the database is named`, async () => {
      const { surety, run, directory } = await homeFor();
      const { record } = await run("list files");
      const db = new DatabaseSync(join(directory, "surety.db"));
      db.exec(sql);
      db.close();
      for (const words of [
        ["verify", record.id],
        ["verify", "--home"],
      ]) {
        const { code, stderr } = await surety(...words);
        expect([code, stderr]).toEqual([
          1,
          expect.stringMatching(/^error verify\.failed: run_\w+: entry \d+: [^\n]+\n$/),
        ]);
      }
      expect((await surety("replay", record.id)).stderr).not.toContain("internal.error");
    });
  }

  verifies("X-24", "that the database has, and does not find any more, is noticed", async () => {
    const { surety, run, directory } = await homeFor();
    await run("list files");
    const file = join(directory, "surety.db");
    const undo = await loseLastCell(file, "runs_by_status");
    const verified = await surety("verify", "--home");
    expect([verified.code, verified.stderr]).toEqual([1, expect.stringMatching(/^error verify\.failed: database: /)]);
    await undo();
    await loseLastCell(file, "appends_by_place");
    const { code, stderr } = await run("list files");
    expect([code, stderr]).toEqual([1, expect.stringContaining("store.corrupt")]);
  });

  /** As a page that went bad: the index knows less than its table has. Gives back what undoes it. */
  async function loseLastCell(file: string, index: string): Promise<() => Promise<void>> {
    const db = new DatabaseSync(file);
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    const root = Number(db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = ?").get(index)?.["rootpage"]);
    const size = Number(db.prepare("PRAGMA page_size").get()?.["page_size"]);
    db.close();
    const [before, bytes] = [await readFile(file), await readFile(file)];
    const cellCount = (root - 1) * size + 3;
    bytes.writeUInt16BE(bytes.readUInt16BE(cellCount) - 1, cellCount);
    await writeFile(file, bytes);
    return () => writeFile(file, before);
  }

  verifies("X-3", "whose bundle lacks texts is verified as such", async () => {
    const { surety, run, directory } = await homeFor();
    const { record } = await run("list files");
    const file = join(directory, "bundle.json");
    await surety("runs", "export", record.id, "--out", file);
    expect((await surety("verify", file)).stdout).not.toContain("without");
    await writeFile(file, (await readFile(file, "utf8")).replace(/"bodies":\{.*?\}\}/, '"bodies":{}'));
    const { code, stdout } = await surety("verify", file);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/, without \d+ of its texts, signed/)]);
  });

  verifies(
    ["X-3/offline", "X-3/named", "X-4/replay"],
    "is exported, verified and replayed with no model; any flipped byte is named",
    async () => {
      const { server, surety, run, directory } = await homeWith((_request, index) =>
        index === 0 ? answer({ calls: [LIST] }) : answer({ text: "Nothing there." }),
      );
      const { record } = await run("list files");
      await server.close();
      const replayed = await surety("replay", record.id, "--json");
      expect(replayed.code).toBe(0);
      expect(JSON.parse(replayed.stdout)).toMatchObject({
        outcome: record.outcome,
        head_hash: record.head_hash,
        diverged_at: null,
      });

      const file = join(directory, "bundle.json");
      expect((await surety("runs", "export", record.id, "--out", file)).code).toBe(0);
      const good = await surety("verify", file);
      expect([good.code, good.stdout]).toEqual([0, expect.stringContaining(record.head_hash)]);

      const bytes = await readFile(file);
      const text = bytes.toString();
      const entries = [...text.matchAll(/"action_hash"/g)].map(({ index }) => index);
      expect(entries.length).toBeGreaterThan(5);
      const flipped = join(directory, "flipped.json");
      // Inside a hash of every entry: a letter for a letter, so that it still parses.
      for (const [index, at] of entries.entries()) {
        const copy = Buffer.from(bytes);
        const place = at + '"action_hash":"'.length + 3;
        copy[place] = copy[place] === 0x61 ? 0x62 : 0x61;
        await writeFile(flipped, copy);
        const verdict = await surety("verify", flipped);
        expect([verdict.code, verdict.stderr]).toEqual([1, expect.stringContaining(`entry ${index + 1}: `)]);
      }
      // And one bit anywhere.
      for (let at = 0; at < bytes.length; at += Math.ceil(bytes.length / 60)) {
        const copy = Buffer.from(bytes);
        copy[at] = (copy[at] ?? 0) ^ 1;
        await writeFile(flipped, copy);
        const { code, stderr } = await surety("verify", flipped);
        expect([at, code, stderr.split("\n").length]).toEqual([at, 1, 2]);
      }
      expect((await surety("verify", "--home")).code).toBe(0);
    },
  );

  verifies("X-4/policy", "another policy: the calls it decides otherwise", async () => {
    const { surety, run, directory } = await homeFor();
    const { record } = await run("list files");
    const policy = join(directory, "policy.json5");
    await writeFile(policy, '{ exceptions: [{ tool: "fs.*", decision: "deny" }] }');
    const asked = await surety("replay", record.id, "--policy", policy, "--json");
    expect(JSON.stringify(JSON.parse(asked.stdout))).toContain("fs.list_dir");
  });
});

describe("bad input", () => {
  async function isBegun(directory: string): Promise<boolean> {
    return (await readdir(directory)).includes("surety.db");
  }

  const oneLine = (code: string) => new RegExp(`^error ${code.replaceAll(".", "\\.")}: [^\\n]+\\n([^\\n]+\\n)?$`);

  test.each([
    [["run", "hello", "--tulz"], 2, "usage"],
    [["start", "--port", "99999999999"], 2, "usage"],
    [["start", "--port", "-1"], 2, "usage"],
    [["start", "--port", "1e999"], 2, "usage"],
    [["run", "hello", "--require", "fs.read_text", "--forbid-tools"], 2, "usage"],
    [["run", "hello", "--model", "nobody:nothing"], 1, "invalid.request"],
    // As Node hands on bytes that are no UTF-8.
    [["run", "caf\u{fffd}"], 1, "invalid.request"],
    [["run", "hello", "--agent", "nobody"], 1, "not_found"],
    [["verify", "nowhere.json"], 1, "not_found"],
    [["run", "hello", "--session", "session_none"], 1, "not_found"],
    [["run", "   "], 2, "usage"],
    [["run", "x".repeat(10_000_000)], 1, "payload.too_large"],
    [["approvals", "allow", "approval_none"], 1, "not_found"],
  ] as const)("%#: one line with a code, and nothing is left behind", async (words, code, name) => {
    const { surety, directory } = await homeFor();
    const ending = await surety(...words);
    expect(ending.stderr).toMatch(oneLine(name));
    expect([ending.code, ending.stdout]).toEqual([code, ""]);
    if (await isBegun(directory)) expect(JSON.parse((await surety("runs", "ls", "--json")).stdout).total).toBe(0);
  });

  test("about runs: what is not there, and what is no number", async () => {
    const { surety, run } = await homeFor();
    await run("hello");
    for (const [words, code, name] of [
      [["runs", "ls", "--limit", "0"], 2, "usage"],
      [["runs", "ls", "--limit", "NaN"], 2, "usage"],
      [["runs", "ls", "--status", "lost"], 2, "usage"],
      [["runs", "show", "run_none"], 1, "not_found"],
      [["runs", "cancel", "run_none"], 1, "not_found"],
      [["runs", "export", "run_none"], 1, "not_found"],
      [["replay", "run_none"], 1, "not_found"],
      [["verify", "no-such-file-or-run"], 1, "not_found"],
      [["budget", "--day", "yesterday"], 2, "usage"],
    ] as const) {
      const ending = await surety(...words);
      expect([words, ending.code, ending.stdout]).toEqual([words, code, ""]);
      expect(ending.stderr).toMatch(oneLine(name));
    }
  });

  test.each([
    ["an unknown key", "{ gatewya: { port: 1 } }", "config.unknown-key"],
    ["an absurd number", "{ gateway: { port: 1e99 } }", "config.invalid"],
    ["no JSON5", "{ gateway: ", "config.syntax"],
    [
      "a secret",
      '{ models: { providers: { x: { baseUrl: "http://127.0.0.1:1", apiKey: "sk-abcdefghijklmnop" } } } }',
      "config",
    ],
    ["invalid UTF-8", Buffer.from([0x7b, 0xff, 0x7d]), "config"],
  ])("a config with %s: one line, and no home is begun", async (_what, config, name) => {
    const { surety, directory } = await homeFor();
    await writeFile(join(directory, "surety.json5"), config);
    const { code, stdout, stderr } = await surety("run", "hello");
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(new RegExp(`^error ${name}[a-z.-]*: [^\\n]+\\n([^\\n]+\\n)?$`));
    expect(await isBegun(directory)).toBe(false);
  });

  test("a home that is a file", async () => {
    const file = join(await temporaryDirectory(), "home");
    await writeFile(file, "not a directory");
    const streams = capturedStreams();
    expect(await main(["--home", file, "run", "hello"], streams, () => undefined)).toBe(1);
    expect(streams.written().stderr).toMatch(oneLine("home.unusable"));
    expect(await readFile(file, "utf8")).toBe("not a directory");
  });

  test("a database that is damaged, or of a newer version: refused, and left as it is", async () => {
    const { surety, run, directory } = await homeFor();
    await run("hello");
    const file = join(directory, "surety.db");
    const good = await readFile(file);
    const database = new DatabaseSync(file);
    database.exec("PRAGMA user_version = 999");
    database.close();
    const newer = await readFile(file);
    const refused = await surety("run", "hello");
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(oneLine("store.newer-schema"))]);
    expect(await readFile(file)).toEqual(newer);
    const damaged = Buffer.concat([Buffer.from("this is no database, and never was"), good.subarray(34)]);
    await writeFile(file, damaged);
    const corrupt = await surety("run", "hello");
    expect([corrupt.code, corrupt.stderr]).toEqual([1, expect.stringMatching(oneLine("store.corrupt"))]);
    expect(await readFile(file)).toEqual(damaged);
  });
});
