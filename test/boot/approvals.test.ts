/** Approvals at a real gateway that is killed and started again: asked over HTTP, answered over HTTP. */
import { mkdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { main } from "../../src/boot/main.ts";
import { type GatewayProcess, startGateway, VARIABLES } from "../faults/gateway-process.ts";
import { answer, startOpenAiServer } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { capturedStreams } from "./captured-streams.ts";
import { temporaryDirectory } from "./temporary-home.ts";

const ENTRY = fileURLToPath(new URL("../../src/boot/surety.ts", import.meta.url));
/** Only against hanging: a gateway starts from source here. */
const LIMIT_MS = 120_000;
const WAIT = { timeout: 30_000, interval: 50 };

interface Card {
  readonly id: string;
  readonly plan: string;
  readonly plan_hash: string;
}

/** A home whose model makes the call that the user's message is, as JSON. */
async function homeOf(also: object = {}) {
  const server = await startOpenAiServer(({ body }) => {
    if (body.messages.at(-1)?.role === "tool") return answer({ text: "done" });
    const { tool, ...args } = JSON.parse(String(body.messages.findLast(({ role }) => role === "user")?.["content"]));
    return answer({ calls: [{ name: tool, arguments: args }] });
  });
  onTestFinished(() => server.close());
  const directory = join(await temporaryDirectory(), "home");
  const workspace = join(directory, "workspace");
  await mkdir(workspace, { recursive: true, mode: 0o700 });
  const models = { scripted: { contextWindow: 32_768, maxOutputTokens: 1024 } };
  const providers = { loop: { baseUrl: server.baseUrl, local: true, models } };
  const config = { models: { default: "loop:scripted", providers }, ...also };
  await writeFile(join(directory, "surety.json5"), JSON.stringify(config));
  const start = async (): Promise<GatewayProcess> => {
    const gateway = await startGateway([process.execPath, ENTRY, "--home", directory, "start", "--port", "0"]);
    onTestFinished(async () => {
      if (!gateway.isGone) await gateway.kill();
    });
    return gateway;
  };
  return { start, workspace, directory };
}

async function submit(gateway: GatewayProcess, call: object): Promise<string> {
  const reply = await gateway.ask("POST", "/v1/runs", { agent_id: "main", message: JSON.stringify(call) });
  expect(reply?.status).toBe(202);
  return ((reply?.body ?? {}) as { readonly id: string }).id;
}

async function cards(gateway: GatewayProcess): Promise<readonly Card[]> {
  const reply = await gateway.ask("GET", "/api/approvals");
  return ((reply?.body ?? {}) as { readonly approvals: readonly Card[] }).approvals;
}

/** The one question about this run. */
function cardOf(gateway: GatewayProcess, runId: string): Promise<Card> {
  return vi.waitFor(async () => {
    const [card, ...others] = (await cards(gateway)).filter((each) => "run_id" in each && each.run_id === runId);
    expect(others).toEqual([]);
    return card ?? expect.unreachable("nothing was asked yet");
  }, WAIT);
}

async function decide(gateway: GatewayProcess, { id, plan_hash }: Card, decision: "allow" | "deny") {
  return (await gateway.ask("POST", `/api/approvals/${id}`, { decision, plan_hash }))?.status;
}

/** What its only call came to, when it has ended. */
function endOf(gateway: GatewayProcess, runId: string) {
  return vi.waitFor(async () => {
    const reply = await gateway.ask("GET", `/v1/runs/${runId}`);
    const run = (reply?.body ?? {}) as {
      readonly outcome: string | null;
      readonly trace: { readonly tool_execution_results: readonly { readonly error: string }[] };
    };
    expect(run.outcome).not.toBeNull();
    return { outcome: run.outcome, error: run.trace.tool_execution_results[0]?.error };
  }, WAIT);
}

const WRITE = { tool: "fs.write_text", path: "a.txt", text: "one\ntwo" };

describe("an approval at a gateway", () => {
  verifies(
    ["X-12/durable", "T-4.2"],
    "says what, where, which bytes, why and whether it can be undone; survives kill -9; holds once, for its plan",
    async () => {
      const { start, workspace } = await homeOf();
      const first = await start();
      const runId = await submit(first, WRITE);
      const card = await cardOf(first, runId);
      expect(card).toMatchObject({
        ...{ run_id: runId, tool: "fs.write_text", kind: "approve", state: "pending" },
        session_id: expect.stringMatching(/^session_/),
        plan_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        why: expect.stringMatching(/^policy\.risk\.side_effect: .*asks first/),
        labels: { integrity: "user", confidentiality: "private" },
        created_at: expect.stringMatching(/Z$/),
        expires_at: expect.stringMatching(/Z$/),
        explain: {
          ...{ decision: "approve", rule: "policy.risk.side_effect" },
          facts: { channel_class: "cli_local", reaches: [], is_latched: false },
          changes: expect.arrayContaining([{ change: "risk", decision: "allow", words: expect.any(String) }]),
        },
        provenance: [],
      });
      expect(card.plan.split("\n")).toEqual([
        `Call: fs.write_text ${join(workspace, "a.txt")}`,
        "Can be undone: yes; the new file can be deleted",
        "Untrusted text in its context: none",
        "Write a new file",
        `  path:     ${JSON.stringify(join(workspace, "a.txt"))}`,
        "  bytes:    7",
        "  the whole text, each line behind a bar:",
        "| one",
        "| two",
      ]);
      await first.kill();

      const second = await start();
      expect(await cardOf(second, runId)).toEqual(card);
      expect(await decide(second, { ...card, plan_hash: "0".repeat(64) }, "allow")).toBe(409);
      await expect(readFile(join(workspace, "a.txt"))).rejects.toThrow("ENOENT");
      expect(await decide(second, card, "allow")).toBe(200);
      expect(await endOf(second, runId)).toEqual({ outcome: "COMPLETED_WITH_TOOLS", error: "" });
      expect(await readFile(join(workspace, "a.txt"), "utf8")).toBe("one\ntwo");
      expect(await decide(second, card, "allow")).toBe(409);
      const again = await second.ask("POST", `/api/approvals/${card.id}`, {
        decision: "deny",
        plan_hash: card.plan_hash,
      });
      expect(again?.status).toBe(409);
      expect(JSON.stringify(again?.body)).toMatch(/decided already: allowed by operator at [-0-9]+ [:0-9]+ UTC\./);
      expect(await cards(second)).toEqual([]);
      const decided = await second.ask("GET", "/api/approvals?state=decided");
      const { id, plan } = card;
      expect(decided?.body).toMatchObject({ approvals: [{ id, plan, state: "consumed", decided_by: "operator" }] });
      await second.stop();
    },
    LIMIT_MS,
  );

  verifies(
    ["X-12", "X-24/approvals"],
    "that was written into the database allows nothing at the next start, and verify names it",
    async () => {
      const { start, workspace, directory } = await homeOf();
      const first = await start();
      const runIds = [await submit(first, WRITE), await submit(first, { ...WRITE, path: "b.txt" })] as const;
      for (const runId of runIds) await cardOf(first, runId);
      await first.kill();
      const db = new DatabaseSync(join(directory, "surety.db"));
      db.exec(`UPDATE approvals SET state = 'allowed', decided_by = 'operator', decided_at_ms = created_at_ms + 1
        WHERE position = 1; UPDATE approvals SET state = 'consumed' WHERE position = 2`);
      db.close();

      const second = await start();
      for (const runId of runIds) expect((await endOf(second, runId)).outcome).toBe("COMPLETED_CHAT_ONLY");
      await second.stop();
      for (const name of ["a.txt", "b.txt"]) await expect(readFile(join(workspace, name))).rejects.toThrow("ENOENT");
      const streams = capturedStreams();
      expect(await main(["--home", directory, "verify"], streams, () => undefined)).toBe(1);
      expect(streams.written().stderr.match(/approval\.forged/g)).toHaveLength(2);
    },
    LIMIT_MS,
  );

  verifies(
    "X-12",
    "is withdrawn when its plan changes while the gateway is down, and covers nothing any more",
    async () => {
      const { start, workspace } = await homeOf();
      await mkdir(join(workspace, "dir"));
      await writeFile(join(workspace, "b.txt"), "before");
      const first = await start();
      const linked = await submit(first, { ...WRITE, path: "dir/a.txt" });
      const replacing = await submit(first, { ...WRITE, path: "b.txt", overwrite: true });
      const stale = [await cardOf(first, linked), await cardOf(first, replacing)] as const;
      await first.kill();
      await rename(join(workspace, "dir"), join(workspace, "was"));
      await symlink(join(workspace, "was"), join(workspace, "dir"));
      await writeFile(join(workspace, "b.txt"), "another");

      const second = await start();
      // A link is no place to write to: there is nothing to be asked about any more.
      expect(await endOf(second, linked)).toMatchObject({ error: expect.stringMatching(/^policy\.denied: .*link/) });
      const fresh = await vi.waitFor(async () => {
        const card = await cardOf(second, replacing);
        expect(card.plan_hash).not.toBe(stale[1].plan_hash);
        return card;
      }, WAIT);
      for (const card of stale) expect(await decide(second, card, "allow")).toBe(409);
      expect(await decide(second, fresh, "deny")).toBe(200);
      expect(await endOf(second, replacing)).toMatchObject({
        error: "policy.denied: Not run: denied by user (operator).",
      });
      expect(await readFile(join(workspace, "b.txt"), "utf8")).toBe("another");
      await expect(readFile(join(workspace, "was/a.txt"))).rejects.toThrow("ENOENT");
      await second.stop();
    },
    LIMIT_MS,
  );

  verifies(
    "X-12",
    "is denied by silence, also while no gateway runs",
    async () => {
      const { start, workspace } = await homeOf({ approvals: { timeoutS: 2 } });
      const first = await start();
      const runId = await submit(first, WRITE);
      expect(await endOf(first, runId)).toMatchObject({
        error: expect.stringContaining("Not run: it needs approval, and no one answered in time."),
      });
      const other = await submit(first, WRITE);
      const card = await cardOf(first, other);
      await first.kill();
      const second = await start();
      expect(await endOf(second, other)).toMatchObject({
        error: expect.stringContaining("Not run: it needs approval, and no one answered in time."),
      });
      expect(await decide(second, card, "allow")).toBe(409);
      await expect(readFile(join(workspace, "a.txt"))).rejects.toThrow("ENOENT");
      await second.stop();
    },
    LIMIT_MS,
  );

  test(
    "is neither read nor given without the token",
    async () => {
      const { start } = await homeOf();
      const gateway = await start();
      const runId = await submit(gateway, WRITE);
      const { id, plan_hash } = await cardOf(gateway, runId);
      const stranger = { authorization: "Bearer another-token-0123456789abcdef" };
      expect((await gateway.ask("GET", "/api/approvals", undefined, stranger))?.status).toBe(401);
      const given = { decision: "allow", plan_hash };
      expect((await gateway.ask("POST", `/api/approvals/${id}`, given, stranger))?.status).toBe(401);
      expect(await cardOf(gateway, runId)).toMatchObject({ id, state: "pending" });
      await gateway.stop();
    },
    LIMIT_MS,
  );

  test(
    "answered in a second terminal is taken back in the first, which goes on",
    async () => {
      const { start, directory } = await homeOf();
      const gateway = await start();
      const streams = capturedStreams(true);
      const variables: Readonly<Record<string, string>> = { ...VARIABLES, TERM: "dumb" };
      const variable = (name: string): string | undefined => variables[name];
      const ending = main(["--home", directory, "run", JSON.stringify(WRITE)], streams, variable);
      await vi.waitFor(() => expect(streams.written().stderr).toContain("[Allow] [Deny] (a/d): "), WAIT);
      const [card] = await cards(gateway);
      const second = capturedStreams();
      expect(await main(["--home", directory, "approvals", "allow", card?.id ?? ""], second, variable)).toBe(0);
      expect(await ending).toBe(0);
      const { stderr } = streams.written();
      expect(stderr).toContain("(no longer needs an answer: it was answered elsewhere, or its time is up)\n");
      expect(stderr).toContain("COMPLETED_WITH_TOOLS");
      await gateway.stop();
    },
    LIMIT_MS,
  );
});
