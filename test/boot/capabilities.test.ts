/** What a newcomer does about a denied fetch: asked, hinted at, granted and taken back; without a gateway and beside one. */
import { spawn } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { openSqliteStore } from "../../src/adapters/store-sqlite/open-sqlite-store.ts";
import { main } from "../../src/boot/main.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { systemRandomness } from "../../src/boot/system-randomness.ts";
import { asRunId, asSessionId } from "../../src/kernel/vocabulary/identifiers.ts";
import { verifies } from "../requirements.ts";
import { asksFor, newRun, newSession } from "../runtime/store-samples.ts";
import { capturedStreams } from "./captured-streams.ts";
import { temporaryDirectory } from "./temporary-home.ts";

const ENTRY = fileURLToPath(new URL("../../src/boot/surety.ts", import.meta.url));

/** A home whose operator lists a server on loopback, and commands on it in this process. */
async function homeWithPage() {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    response.writeHead(200, { "content-type": "text/plain" }).end("the page");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
  const place = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const directory = join(await temporaryDirectory(), "home");
  await mkdir(directory);
  const config = { tools: { http: { allowAddresses: [place], ttlS: 0 } } };
  await writeFile(join(directory, "surety.json5"), JSON.stringify(config));
  const surety = async (...words: readonly string[]) => {
    const streams = capturedStreams();
    const code = await main(["--home", directory, ...words], streams, () => undefined);
    return { code, ...streams.written() };
  };
  const run = async (...words: readonly string[]) => JSON.parse((await surety("run", "--json", ...words)).stdout);
  return { directory, asked, url: `http://${place}/page`, surety, run };
}

async function startGateway(directory: string) {
  const env = { PATH: process.env["PATH"] ?? "", NO_COLOR: "1" };
  const child = spawn(process.execPath, [ENTRY, "--home", directory, "start", "--port", "0"], { env });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  const url = await new Promise<string>((resolve) => {
    let printed = "";
    child.stdout.on("data", (chunk: Buffer) => {
      printed += chunk.toString();
      const found = /http:\/\/\S+\n/.exec(printed)?.[0].trim();
      if (found !== undefined) resolve(found);
    });
  });
  const token = (await readFile(join(directory, "token"), "utf8")).trim();
  const ask = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const answer = await fetch(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    return { status: answer.status, body: await answer.json() };
  };
  const stop = () => new Promise<void>((resolve) => child.once("close", () => resolve()) && child.kill("SIGTERM"));
  return { ask, stop };
}

describe("surety caps", () => {
  verifies(
    ["S-4.4/denied", "S-4.4/capability"],
    "without a gateway: denied, granted, reached, revoked, denied",
    async () => {
      const { surety, run, url, asked } = await homeWithPage();
      const first = await run(`fetch ${url}`);
      expect(first.output).toMatch(/^http\.get was denied/);
      const session = first.session_id;

      const granted = await surety("caps", "grant", "net", "--session", session);
      expect([granted.code, granted.stdout]).toEqual([
        0,
        expect.stringMatching(/^granted {2}net {2}by operator at .*\n/),
      ]);
      expect((await run(`fetch ${url}`, "--session", session)).output).toContain("the page");
      expect(asked).toEqual(["/page"]);
      expect((await run(`fetch ${url}`)).output).toMatch(/^http\.get was denied/);

      const listed = await surety("caps", "ls", "--session", session, "--json");
      expect(JSON.parse(listed.stdout)).toMatchObject({ session_id: session, granted: ["net"], pending: [] });
      expect((await surety("caps", "revoke", "net", "--session", session)).code).toBe(0);
      expect((await run(`fetch ${url}`, "--session", session)).output).toMatch(/^http\.get was denied/);
      expect(asked).toEqual(["/page"]);
      expect(await surety("verify")).toMatchObject({ code: 0 });
    },
  );

  verifies("S-2.4", "the demo model asks for what it was denied, and the command says how to grant it", async () => {
    const { surety } = await homeWithPage();
    const { stderr, stdout } = await surety("run", "fetch http://site.example/");
    expect(stdout).not.toContain("NOTES");
    const [, session = ""] = /surety caps grant net:site\.example --session (\w+)\n/.exec(stderr) ?? [];
    expect(stderr).toContain(`surety run "…" --session ${session}\n`);
    const { stdout: listed } = await surety("caps", "ls", "--session", session);
    expect(listed).toMatch(/^pending {2}net:site\.example {2}asked for by run_\w+\n$/);
    await surety("caps", "deny", "net:site.example", "--session", session);
    expect((await surety("caps", "ls", "--session", session)).stdout).toMatch(/no capabilities/);
  });

  verifies("S-2.4", "what a session neither has nor asks for cannot be taken, and that is said", async () => {
    const { surety, run } = await homeWithPage();
    const { session_id: session } = await run("hello");
    for (const [act, what] of [
      ["revoke", "is neither granted nor asked for"],
      ["deny", "is not asked for"],
    ] as const) {
      const { code, stdout, stderr } = await surety("caps", act, "net:site.example", "--session", session);
      expect([code, stdout, stderr]).toEqual([
        1,
        "",
        `error not_found: net:site.example ${what} in this session\nSee surety caps ls --session ${session}.\n`,
      ]);
    }
  });

  verifies("S-2.4", "under the latch the way out is named, and not --approve, which does not count there", async () => {
    const { surety, run, url } = await homeWithPage();
    const { session_id: session } = await run("hello");
    await surety("caps", "grant", "net", "--session", session);
    const fetchIt = ["run", `fetch ${url}`, "--session", session, "--approve", "http.get"];
    expect((await surety(...fetchIt)).stdout).toContain("the page");
    const latched = await surety(...fetchIt);
    expect(latched.stderr).toMatch(
      /^ {2}Not run: it needs approval.* private and untrusted data, so --approve does not count: answer at a terminal, or start a new session\.$/m,
    );
    expect(latched.stdout + latched.stderr).not.toContain("--approve http.get");
  });

  verifies("S-2.4", "all that sessions ask for is listed, however much", async () => {
    const { directory, surety } = await homeWithPage();
    await surety("run", "hello");
    const store = await openSqliteStore({ home: directory, clock: systemClock, random: systemRandomness });
    const sessions = Array.from({ length: 70 }, (_, index) => index);
    for (const index of sessions) {
      const sessionId = asSessionId(`session_many${index}`);
      const runId = asRunId(`run_many${index}`);
      const asked = Array.from({ length: 10 }, (__, at) => asksFor(sessionId, `net:h${at}.example`, runId));
      await store.commit([newSession(sessionId), newRun(runId, sessionId), ...asked], "barrier");
    }
    await store.close();
    const { pending } = JSON.parse((await surety("caps", "ls", "--json")).stdout);
    const listed = new Set(
      pending.map((row: { session_id: string; capability: string }) => row.session_id + row.capability),
    );
    expect([pending.length, listed.size]).toEqual([700, 700]);
  });

  verifies(
    "S-2.4",
    "what any session asks for is listed, without a gateway and beside one, until it is decided",
    async () => {
      const { directory, surety } = await homeWithPage();
      const listed = async () => JSON.parse((await surety("caps", "ls", "--json")).stdout).pending;
      await surety("run", "list files");
      expect((await surety("caps", "ls")).stdout).toBe("no session asks for anything\n");
      for (const host of ["one", "two"]) await surety("run", `fetch http://${host}.example/`);
      const [first, second, ...rest] = await listed();
      const asked = { state: "pending", by: "model", expires_at: null, run_id: expect.stringMatching(/^run_/) };
      expect([first, second, rest]).toMatchObject([
        { capability: "net:one.example", ...asked },
        { capability: "net:two.example", ...asked },
        [],
      ]);
      expect(first.session_id).not.toBe(second.session_id);
      const { stdout } = await surety("caps", "ls");
      expect(stdout).toMatch(new RegExp(`^net:one\\.example +${first.session_id} +${first.run_id} `, "m"));
      await surety("caps", "grant", "net:one.example", "--session", first.session_id);
      expect(await listed()).toEqual([second]);

      const gateway = await startGateway(directory);
      expect(await listed()).toEqual([second]);
      expect(await gateway.ask("GET", "/api/capabilities")).toMatchObject({ status: 200, body: { pending: [second] } });
      expect((await gateway.ask("GET", "/api/capabilities?offset=1")).body).toEqual({ pending: [] });
      await surety("caps", "deny", "net:two.example", "--session", second.session_id);
      expect(await listed()).toEqual([]);
      await gateway.stop();
    },
  );

  verifies("X-24", "verify finds every capability that the table and the ledger tell differently", async () => {
    const { directory, surety } = await homeWithPage();
    for (const host of ["one", "two"]) await surety("run", `fetch http://${host}.example/`);
    const { pending } = JSON.parse((await surety("caps", "ls", "--json")).stdout);
    const [{ session_id: first }, { session_id: second }] = pending;
    await surety("caps", "grant", "net", "--session", first);
    await surety("caps", "revoke", "net", "--session", first);
    expect(await surety("verify")).toMatchObject({ code: 0, stderr: "" });
    const database = new DatabaseSync(join(directory, "surety.db"));
    database.exec(`
      UPDATE capabilities SET state = 'granted' WHERE capability = 'net';
      INSERT INTO capabilities SELECT session, 'net:made.up', 'granted', 1 FROM capabilities LIMIT 1;
      DELETE FROM capabilities WHERE capability = 'net:two.example';`);
    database.close();
    const { code, stderr } = await surety("verify");
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error verify\.failed: home: capability\.forged net of session_\w+ ledger entry \d+; /);
    const { findings } = JSON.parse((await surety("verify", "--json")).stdout);
    expect(findings).toEqual([
      { code: "capability.forged", sessionId: first, capability: "net", ledgerSeq: expect.any(Number) },
      { code: "capability.forged", sessionId: first, capability: "net:made.up", ledgerSeq: null },
      { code: "capability.missing", sessionId: second, capability: "net:two.example", ledgerSeq: expect.any(Number) },
    ]);
    expect((await surety("caps", "ls", "--session", first)).stdout).not.toContain("granted");
  });

  test("where nothing was asked for, the command still says how a host is opened", async () => {
    const { surety, url } = await homeWithPage();
    const { stderr } = await surety("run", `fetch ${url}`);
    expect(stderr).toMatch(
      /Not run: 127\.0\.0\.1 is blocked\. Allow it: surety caps grant net --session session_\w+\n/,
    );
    expect((await surety("run", "list files")).stderr).not.toContain("caps");
  });

  test.each([
    [["ls", "--session", ""], 2, /^error usage: --session needs a value\n/],
    [["ls", "--session", "session_none"], 1, /^error not_found: there is no such session/],
    [["grant", "net"], 2, /^error usage: --session is required\n/],
    [["grant", "net", "--session", "session_none"], 1, /^error not_found: there is no such session.*\nA run begins/],
    [["grant", "net:127.0.0.1", "--session", "session_none"], 1, /^error invalid\.request: a capability is net, or/],
    [["grant", "net", "--session", "s", "--expires-in", "0"], 2, /^error usage: --expires-in must be/],
  ])("%j is refused with what to do", async (words, code, message) => {
    const { surety } = await homeWithPage();
    await surety("run", "list files");
    const ending = await surety("caps", ...words);
    expect([ending.code, ending.stderr]).toEqual([code, expect.stringMatching(message)]);
  });

  verifies("S-2.4/operator", "beside a gateway: by HTTP and by command alike, and across a restart", async () => {
    const { directory, surety, run, url, asked } = await homeWithPage();
    const gateway = await startGateway(directory);
    const { session_id } = await run(`fetch ${url}`);
    const listing = `/api/capabilities?session_id=${session_id}`;
    const bad = await gateway.ask("POST", "/api/capabilities", { session_id, grant: "net:*" });
    expect([bad.status, bad.body]).toMatchObject([400, { error: { code: "invalid.request" } }]);
    expect((await gateway.ask("GET", "/api/capabilities?session_id=session_none")).status).toBe(404);

    const granted = await surety("caps", "grant", "net", "--session", session_id, "--expires-in", "3600", "--json");
    expect(JSON.parse(granted.stdout)).toMatchObject({ granted: ["net"], details: [{ by: "operator" }] });
    expect((await gateway.ask("GET", listing)).body).toEqual(JSON.parse(granted.stdout));
    expect((await run(`fetch ${url}`, "--session", session_id)).output).toContain("the page");
    await gateway.stop();

    const second = await startGateway(directory);
    expect((await second.ask("GET", listing)).body).toEqual(JSON.parse(granted.stdout));
    const revoked = await second.ask("POST", "/api/capabilities", { session_id, revoke: "net" });
    expect(revoked).toMatchObject({ status: 200, body: { granted: [], pending: [] } });
    expect((await run(`fetch ${url}`, "--session", session_id)).output).toMatch(/^http\.get was denied/);
    expect(asked).toEqual(["/page"]);
    await second.stop();
  });
});
