/** Stored secrets: sealed on disk, shown as names, put into an allowed call and nowhere else. */
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test, vi } from "vitest";
import { main } from "../../src/boot/main.ts";
import { answer, type ServerScript } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { capturedStreams } from "./captured-streams.ts";
import { openSocketStage, type SocketStage } from "./socket-stage.ts";
import { temporaryDirectory } from "./temporary-home.ts";

const VALUE = "k7-Zq9.vLm2-Tx4wRb8";
const OTHER = "p3-Wd6.nHs1-Ky5cFv0";
const HANDLE = "⟦secret:crm-hook⟧";
const WAIT = { timeout: 30_000, interval: 50 };
const PATH = "/api/admin/secrets";

/** Everything that the home keeps, except what tools wrote. */
async function kept({ home }: SocketStage): Promise<string> {
  const names = await readdir(home.directory, { recursive: true, withFileTypes: true });
  const files = names.filter((each) => each.isFile() && !each.parentPath.includes("workspace"));
  const texts = await Promise.all(files.map((each) => readFile(join(each.parentPath, each.name), "latin1")));
  return texts.join("\n");
}

/** Allows the question that waits. */
async function allow(stage: SocketStage) {
  const card = await vi.waitFor(async () => {
    const { json } = await stage.ask("GET", "/api/approvals");
    const [first] = json["approvals"] as readonly Readonly<Record<string, string>>[];
    return first ?? expect.unreachable("nothing is asked yet");
  }, WAIT);
  const decision = { decision: "allow", plan_hash: card["plan_hash"] };
  expect((await stage.ask("POST", `/api/approvals/${card["id"]}`, decision)).status).toBe(200);
  return card;
}

async function runTo(stage: SocketStage, message: string, meanwhile?: () => Promise<unknown>) {
  const client = await stage.dial();
  client.say(message);
  await meanwhile?.();
  return (await client.untilType("agent.response.end")).payload;
}

describe("a stored secret", () => {
  verifies(
    ["O-6.2", "X-12"],
    "is put into the allowed call alone: model, journal, approval and files of the home hold its handle",
    async () => {
      const write = { name: "fs.write_text", arguments: { path: "key.txt", text: `key=${HANDLE}\n` } };
      const read = { name: "fs.read_text", arguments: { path: "key.txt" } };
      const script: ServerScript = (_, index) =>
        answer([{ calls: [write] }, { calls: [read] }][index] ?? { text: "ok" });
      const exceptions = [{ tool: "*", decision: "allow" }];
      const stage = await openSocketStage(script, { tools: { policy: { exceptions } } });
      const set = await stage.ask("POST", PATH, { name: "crm-hook", value: VALUE });
      expect(set).toMatchObject({ status: 200, json: { name: "crm-hook", updated_at: expect.any(String) } });
      expect((await stage.ask("GET", PATH)).json).toEqual({ secrets: [set.json] });
      expect((await stat(stage.home.secretsKeyFile)).mode & 0o777).toBe(0o600);

      let card: Readonly<Record<string, string>> = {};
      const end = await runTo(stage, `store ${VALUE} please`, async () => {
        card = await allow(stage);
      });
      expect(end["outcome"]).toBe("COMPLETED_WITH_TOOLS");
      expect(card).toMatchObject({
        why: expect.stringContaining("use a secret"),
        plan: expect.stringContaining(HANDLE),
      });
      expect(await readFile(join(stage.workspace, "key.txt"), "utf8")).toBe(`key=${VALUE}\n`);
      const sent = JSON.stringify(stage.model.requests.map(({ body }) => body));
      expect(sent).toContain(`store ${HANDLE} please`);
      expect(sent).toContain(`key=${HANDLE}`);
      // Its log is in the database by now.
      await stage.reopen();
      for (const spelled of [VALUE, Buffer.from(VALUE).toString("base64").slice(0, 20)]) {
        expect([sent.includes(spelled), (await kept(stage)).includes(spelled)]).toEqual([false, false]);
      }
      expect(stage.defects).toEqual([]);
    },
  );

  test("is replaced and removed at once, is the same after a restart, and the ledger has its name", async () => {
    const echo: ServerScript = ({ body }) =>
      answer({ text: String(body.messages.at(-1)?.["content"]).length.toString() });
    const stage = await openSocketStage(echo);
    for (const value of [VALUE, OTHER]) {
      expect((await stage.ask("POST", PATH, { name: "crm-hook", value })).status).toBe(200);
    }
    const again = await stage.reopen();
    await runTo(again, `say ${OTHER}`);
    expect(JSON.stringify(again.model.requests)).toContain(`say ${HANDLE}`);
    expect((await again.ask("DELETE", `${PATH}/crm-hook`)).status).toBe(200);
    expect((await again.ask("DELETE", `${PATH}/crm-hook`)).status).toBe(404);
    // It was one a moment ago.
    await runTo(again, `now ${OTHER}`);
    expect(JSON.stringify(again.model.requests)).not.toContain(OTHER);
    const ledger = await again.surety.store.readLedger(0, 100);
    const acts = ledger.filter(({ kind }) => kind.startsWith("secret.")).map(({ kind, data }) => [kind, data]);
    const named = { name: "crm-hook" };
    expect(acts).toEqual([
      ["secret.set", named],
      ["secret.set", named],
      ["secret.removed", named],
    ]);
  });

  test("must be usable, and nothing of a refused one is repeated", async () => {
    const stage = await openSocketStage(() => answer({ text: "no" }));
    const refused: readonly (readonly [object, number])[] = [
      [{ name: "crm-hook", value: "abc" }, 409],
      [{ name: "crm-hook", value: " " }, 400],
      [{ name: "crm hook", value: VALUE }, 400],
      [{ name: "../x", value: VALUE }, 400],
      [{ name: "gateway-token", value: VALUE }, 409],
      [{ name: "crm-hook", value: VALUE, more: 1 }, 400],
      [{ name: "crm-hook", value: "x1-".repeat(3000) }, 400],
    ];
    for (const [body, status] of refused) {
      const answered = await stage.ask("POST", PATH, body);
      expect([answered.status, JSON.stringify(answered.json).includes(VALUE)]).toEqual([status, false]);
    }
    expect((await stage.ask("GET", PATH)).json).toEqual({ secrets: [] });
  });

  test("does not open with another key, without one, or under another name", async () => {
    const stage = await openSocketStage(() => answer({ text: "no" }));
    await stage.ask("POST", PATH, { name: "one", value: VALUE });
    await stage.ask("POST", PATH, { name: "two", value: OTHER });
    const again = await stage.reopen();
    const key = await readFile(again.home.secretsKeyFile, "utf8");
    await rm(again.home.secretsKeyFile);
    await expect(again.reopen()).rejects.toMatchObject({ code: "secrets.key_missing" });
    await writeFile(again.home.secretsKeyFile, Buffer.alloc(32, 1).toString("base64url"), { mode: 0o600 });
    await expect(again.reopen()).rejects.toMatchObject({ code: "secrets.key_wrong" });
    await writeFile(again.home.secretsKeyFile, "short", { mode: 0o600 });
    await expect(again.reopen()).rejects.toMatchObject({ code: "secrets.key_unusable" });
    await writeFile(again.home.secretsKeyFile, key, { mode: 0o600 });
    const db = new DatabaseSync(again.home.database);
    db.exec("UPDATE secrets SET sealed = (SELECT sealed FROM secrets WHERE name = 'one') WHERE name = 'two'");
    db.close();
    await expect(again.reopen()).rejects.toMatchObject({ code: "secrets.key_wrong" });
  });
});

describe("surety secrets", () => {
  const KEY = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

  async function cli() {
    const home = join(await temporaryDirectory(), "home");
    await mkdir(home);
    const run = async (words: readonly string[], stdin: string | null = "") => {
      const streams = capturedStreams();
      streams.stdin.isTTY = stdin === null;
      streams.stdin.end(stdin ?? "");
      const code = await main(["--home", home, "secrets", ...words], streams, () => undefined);
      return { code, ...streams.written() };
    };
    return { home, run };
  }

  verifies("O-6.2", "set reads the value from standard input; ls shows names; rm removes", async () => {
    const { run } = await cli();
    expect(await run(["set", "crm-hook"], null)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("standard input"),
    });
    expect(await run(["set", "crm-hook"], `${VALUE}\n`)).toMatchObject({ code: 0 });
    const { stdout } = await run(["ls"]);
    expect([stdout.includes("crm-hook"), stdout.includes(VALUE)]).toEqual([true, false]);
    expect(await run(["rm", "crm-hook"])).toMatchObject({ code: 0 });
    expect(await run(["rm", "crm-hook"])).toMatchObject({ code: 1 });
  });

  test("gives a channel its secret, also where the home cannot begin without it; reset gives up lost ones", async () => {
    const { run, home } = await cli();
    expect((await run(["ls"])).code).toBe(0);
    const channels = { crm: { kind: "webhook", secretName: "crm-hook", url: "http://127.0.0.1:9/in" } };
    await writeFile(join(home, "surety.json5"), JSON.stringify({ models: { default: "builtin:demo" }, channels }));
    const missing = await run(["ls"]);
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining("surety secrets set crm-hook")]);
    expect((await run(["set", "crm-hook"], KEY)).code).toBe(0);
    expect((await run(["ls"])).stdout).toContain("crm-hook");
    expect(await run(["rm", "crm-hook"])).toMatchObject({ code: 1, stderr: expect.stringContaining("channel crm") });
    await rm(join(home, "keys", "secrets-key"));
    expect((await run(["ls"])).stderr).toContain("secrets.key_missing");
    expect(await run(["reset"])).toMatchObject({ code: 0, stdout: "removed: crm-hook\n" });
    expect((await run(["set", "crm-hook"], KEY)).code).toBe(0);
  });
});

verifies(
  "X-24/secrets",
  "an earlier sealed value that is put back, and one that is gone, are named by verify",
  async () => {
    const home = join(await temporaryDirectory(), "home");
    await mkdir(home);
    const surety = async (words: readonly string[], input = "") => {
      const streams = capturedStreams();
      streams.stdin.end(input);
      const code = await main(["--home", home, ...words], streams, () => undefined);
      return { code, ...streams.written() };
    };
    const inDatabase = (sql: string, ...values: readonly string[]) => {
      const db = new DatabaseSync(join(home, "surety.db"));
      const rows = db.prepare(sql).all(...values);
      db.close();
      return rows;
    };
    await surety(["secrets", "set", "crm-hook"], VALUE);
    const [before] = inDatabase("SELECT sealed FROM secrets");
    await surety(["secrets", "set", "crm-hook"], OTHER);
    expect(await surety(["verify"])).toMatchObject({ code: 0 });
    inDatabase("UPDATE secrets SET sealed = ?", String(before?.["sealed"]));
    expect(await surety(["verify"])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/row\.forged crm-hook in secrets/),
    });
    inDatabase("DELETE FROM secrets");
    expect((await surety(["verify"])).stderr).toMatch(/row\.missing crm-hook in secrets/);
  },
);
