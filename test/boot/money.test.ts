/** Money: limits that hold under load, receipts, and where it all went. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { RunRequest } from "../../src/assistant/runs/run-request.ts";
import { openHome } from "../../src/boot/home.ts";
import { main } from "../../src/boot/main.ts";
import { openSurety } from "../../src/boot/open-surety.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { systemRandomness } from "../../src/boot/system-randomness.ts";
import { noApprover } from "../../src/runtime/ports/approver.ts";
import { answer, type ServerScript, startOpenAiServer } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { capturedStreams } from "./captured-streams.ts";
import { readOk } from "./config/example-config.ts";
import { temporaryHome } from "./temporary-home.ts";

/** Millionths of a dollar: a token in costs one, a token out two. */
const PRICED = { contextWindow: 32_768, maxOutputTokens: 1024, costPer1kInput: 0.001, costPer1kOutput: 0.002 };
const usage = (input: number, output: number) => ({ prompt_tokens: input, completion_tokens: output });
const REQUEST: Omit<RunRequest, "message"> = {
  agentId: "main",
  sessionId: null,
  model: null,
  thinkingMode: null,
  contract: {},
  approvedTools: [],
  source: "test",
  principal: "operator",
  idempotencyKey: null,
};

interface Setting {
  readonly budgets?: object;
  readonly models?: Readonly<Record<string, object>>;
  readonly agents?: object;
}

/** The whole assistant on a home of its own, whose models are all of one server. */
async function open(script: ServerScript, { budgets = {}, models = { m: PRICED }, agents = {} }: Setting) {
  const server = await startOpenAiServer(script);
  onTestFinished(() => server.close());
  const providers = { paid: { baseUrl: server.baseUrl, local: true, models } };
  const text = JSON.stringify({ models: { default: "paid:m", providers }, budgets, agents });
  const home = await temporaryHome();
  await openHome(home);
  await writeFile(home.configFile, text);
  const defects: unknown[] = [];
  const surety = await openSurety({
    ...{ home, clock: systemClock, random: systemRandomness, token: null, approver: noApprover, workers: 64 },
    config: readOk(text),
    readVariable: () => undefined,
    onDefect: (_id, error) => defects.push(error),
  });
  onTestFinished(() => surety.close(1000));
  const { assistant } = surety;

  const run = async (message: string, also: Partial<RunRequest> = {}) => {
    const submitted = await assistant.submit({ ...REQUEST, message, ...also });
    if (!submitted.ok) throw new Error(submitted.message);
    const news = (await assistant.watch(submitted.runId, 0, new AbortController().signal)) ?? [];
    for await (const _ of news);
    const record = await assistant.run(submitted.runId);
    if (record === null) throw new Error("it is gone");
    return record;
  };
  const command = async (...words: readonly string[]) => {
    const streams = capturedStreams();
    const code = await main(["--home", home.directory, ...words], streams, () => undefined);
    return { code, ...streams.written() };
  };
  const spent = async (...words: readonly string[]) => JSON.parse((await command("budget", "--json", ...words)).stdout);
  const spentOn = async (scope: string) =>
    (await spent()).spent.find((row: { readonly scope: string }) => row.scope === scope);
  return { home, server, assistant, defects, run, command, spent, spentOn };
}

const FAILED = ["FAILED_BUDGET_EXHAUSTED", "budget.spend"];

describe("a day's limit", () => {
  verifies(
    "X-6",
    "of a cent, under 64 runs at once: settled within it, and the rest never reach the network",
    async () => {
      // Less than is reserved for it, which is the prompt and 1024 tokens of answer.
      const script: ServerScript = () => answer({ text: "done", usage: usage(900, 900) });
      const { server, run, spentOn, defects } = await open(script, { budgets: { perDayUsd: 0.01 } });
      const records = await Promise.all(Array.from({ length: 64 }, (_, index) => run(`job ${index}.`)));
      const paid = records.flatMap(({ status }, index) => (status === "completed" ? [`job ${index}.`] : []));
      const refused = records.filter(({ status }) => status !== "completed");
      expect(refused.map(({ outcome, reason }) => [outcome, reason])).toEqual(refused.map(() => FAILED));
      expect(paid.length).toBeGreaterThan(0);
      expect(refused.length).toBeGreaterThan(56);
      // One request each for those that could pay, and none for any other.
      const asked = server.requests.map(
        ({ body }) => body.messages.findLast(({ role }) => role === "user")?.["content"],
      );
      expect(asked.sort()).toEqual(paid.sort());
      const { usd, limit_usd: limit } = await spentOn("all");
      expect(limit).toBe(0.01);
      expect(usd).toBeLessThanOrEqual(limit);
      expect(usd).toBeCloseTo(paid.length * 0.0027, 9);
      expect(defects).toEqual([]);
    },
  );

  verifies("X-6", "that an answer overran stops what follows, and is shown as overrun", async () => {
    const script: ServerScript = () => answer({ text: "done", usage: usage(900, 40_000) });
    const { server, run, spentOn, command } = await open(script, { budgets: { perDayUsd: 0.01 } });
    expect((await run("first")).status).toBe("completed");
    expect(await spentOn("all")).toMatchObject({ usd: 0.0809, limit_usd: 0.01, left_usd: 0, over: true });
    const second = await run("second");
    expect([second.outcome, second.reason, server.requests.length]).toEqual([...FAILED, 1]);
    expect((await command("budget")).stdout).toMatch(/all +\$0\.0809 +\$0\.01 +\$0\.00 .*over its limit: stopped/);
  });

  verifies("X-6", "of one agent stops that agent and no other", async () => {
    const script: ServerScript = () => answer({ text: "done", usage: usage(900, 900) });
    const agents = { scout: { prompt: "You look around." } };
    const { server, run, spentOn } = await open(script, { budgets: { perAgentDayUsd: 0.006 }, agents });
    await run("one");
    const stopped = await run("two");
    expect([stopped.outcome, stopped.reason]).toEqual(FAILED);
    expect((await run("three", { agentId: "scout" })).status).toBe("completed");
    expect(server.requests.length).toBe(2);
    expect(await spentOn("agent:main")).toMatchObject({ usd: 0.0027, limit_usd: 0.006, over: false });
    expect(await spentOn("agent:scout")).toMatchObject({ usd: 0.0027 });
    expect(await spentOn("model:paid:m")).toMatchObject({ usd: 0.0054, tokens: 3600, limit_usd: null });
  });

  verifies("X-6", "of one job stops that job and no other", async () => {
    const script: ServerScript = () => answer({ text: "done", usage: usage(900, 900) });
    const { server, run, spentOn } = await open(script, { budgets: { perJobDayUsd: 0.006 } });
    await run("one", { source: "job:news" });
    const stopped = await run("two", { source: "job:news" });
    expect([stopped.outcome, stopped.reason]).toEqual(FAILED);
    expect((await run("three", { source: "job:mail" })).status).toBe("completed");
    expect((await run("four")).status).toBe("completed");
    expect(server.requests.length).toBe(3);
    expect(await spentOn("job:news")).toMatchObject({ usd: 0.0027, limit_usd: 0.006 });
  });

  verifies("X-6", "of one run ends it before the inference it cannot pay", async () => {
    const list = { calls: [{ name: "fs.list_dir", arguments: { path: "." } }], usage: usage(900, 900) };
    const { server, run } = await open(() => answer(list), { budgets: { perRunUsd: 0.006 } });
    const record = await run("list");
    expect([record.outcome, record.reason, server.requests.length]).toEqual([...FAILED, 1]);
    expect(record.receipt?.cost_usd).toBe(0.0027);
  });

  verifies("X-6", "that was refused by is named to whoever looks, with what was left and where it is set", async () => {
    for (const [budgets, name] of [
      [{ perDayUsd: 0.001 }, "The day's limit in USD (budgets.perDayUsd)"],
      [{ perDayTokens: 100 }, "The day's limit in tokens (budgets.perDayTokens)"],
      [{ perAgentDayUsd: 0.001 }, "The limit in USD of agent main for a day (budgets.perAgentDayUsd)"],
      [{ perJobDayUsd: 0.001 }, "The limit in USD of job news for a day (budgets.perJobDayUsd)"],
      [{ perRunUsd: 0.001 }, "The run's own limit in USD (max_spend_microusd, or budgets.perRunUsd)"],
    ] as const) {
      const { run, command } = await open(() => answer({ text: "hi" }), { budgets });
      const { id } = await run("hello", { source: "job:news" });
      const { stdout } = await command("runs", "show", id);
      const left = "perDayTokens" in budgets ? "100 tokens" : "$0.001";
      expect(stdout).toContain(`${name} does not cover it: the next inference needs `);
      expect(stdout).toContain(`, with ${left} left.`);
      expect(stdout).not.toContain("max_tokens_consumed");
    }
  });

  verifies("X-6", "refuses a model without a price, unless it is declared free", async () => {
    const { costPer1kInput: _in, costPer1kOutput: _out, ...unpriced } = PRICED;
    const models = { m: PRICED, gift: { ...unpriced, free: true }, riddle: unpriced };
    const { server, run } = await open(() => answer({ text: "hi" }), { budgets: { perDayUsd: 1 }, models });
    await expect(run("x", { model: "paid:riddle" })).rejects.toThrow(/^paid:riddle has no price/);
    expect(server.requests.length).toBe(0);
    expect((await run("x", { model: "paid:gift" })).status).toBe("completed");
  });
});

describe("a provider that did not answer", () => {
  verifies("X-6", "is not paid: an error alone, a web page or anything but its protocol costs nothing", async () => {
    const told = [
      { error: { message: "The engine is currently overloaded", type: "server_error" } },
      { detail: "Not Found" },
      "<html><body>Sign in to this network</body></html>",
    ];
    for (const budgets of [{ perDayUsd: 1 }, {}]) {
      const script: ServerScript = (_, index) => ({
        ...{ kind: "http", status: 200, headers: {} },
        body: typeof told[index] === "string" ? told[index] : JSON.stringify(told[index]),
      });
      const { server, run, spentOn } = await open(script, { budgets });
      for (const [index] of told.entries()) {
        const { reason, receipt } = await run("hello");
        expect([index, reason, receipt?.tokens]).toEqual([index, "provider.unavailable", 0]);
      }
      expect(server.requests.length).toBe(told.length);
      expect((await spentOn("all"))?.tokens ?? 0).toBe(0);
    }
  });
});

describe("surety budget", () => {
  test("shows days gone by, newest first, and of each what was spent on what", async () => {
    const { run, spent, command } = await open(() => answer({ text: "hi", usage: usage(10, 5) }), {});
    await run("hello");
    const { days } = await spent("--days", "3");
    expect(days).toHaveLength(3);
    const [today, yesterday] = days;
    expect(today.day > yesterday.day).toBe(true);
    expect(today.spent.map(({ scope }: { readonly scope: string }) => scope)).toEqual([
      "agent:main",
      "all",
      "model:paid:m",
    ]);
    expect(today.spent[1]).toMatchObject({ usd: 0.00002, tokens: 15, limit_usd: null, left_usd: null, over: false });
    expect(yesterday.spent).toEqual([]);
    const { stdout } = await command("budget", "--days", "2");
    expect(stdout).toContain(`${yesterday.day}: nothing spent`);
    expect(await spent("--day", yesterday.day)).toEqual({
      ...{ day: yesterday.day, spent: [] },
      per_run: { limit_usd: null, limit_tokens: null },
    });
    expect((await command("budget", "--days", "0")).code).toBe(2);
  });

  test("shows each limit and what is left of it, before anything is spent too", async () => {
    const budgets = { perDayUsd: 1, perDayTokens: 5_000, perAgentDayUsd: 0.5, perRunUsd: 0.25, perRunTokens: 9_000 };
    const { run, command, spent } = await open(() => answer({ text: "hi", usage: usage(900, 900) }), { budgets });
    const table = async () => {
      const [, ...lines] = (await command("budget")).stdout.trimEnd().split("\n");
      return lines.map((line) => line.split(/ {2,}/));
    };
    const headings = ["ON", "USD", "USD LIMIT", "USD LEFT", "TOKENS", "TOKEN LIMIT", "TOKENS LEFT"];
    const ofRuns = [
      ["each run: at most $0.25 (budgets.perRunUsd)"],
      ["each run: at most 9000 tokens (budgets.perRunTokens)"],
    ];
    const unspent = ["all", "$0.00", "$1.00", "$1.00", "0", "5000", "5000"];
    expect(await table()).toEqual([headings, unspent, ...ofRuns]);
    await run("hello");
    expect(await table()).toEqual([
      headings,
      ["agent:main", "$0.0027", "$0.50", "$0.4973", "1800", "-", "-"],
      ["all", "$0.0027", "$1.00", "$0.9973", "1800", "5000", "3200"],
      ["model:paid:m", "$0.0027", "-", "-", "1800", "-", "-"],
      ...ofRuns,
    ]);
    expect(await spent()).toMatchObject({ per_run: { limit_usd: 0.25, limit_tokens: 9_000 } });
  });

  test("shows what is reserved for an inference under way", async () => {
    const script: ServerScript = () => answer({ text: "late", cut: { by: "reset", after: new Promise(() => {}) } });
    const { server, assistant, command, spentOn } = await open(script, { budgets: { perDayUsd: 1 } });
    const submitted = await assistant.submit({ ...REQUEST, message: "hello" });
    if (!submitted.ok) throw new Error(submitted.message);
    while (server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const { usd, tokens, reserved_usd, reserved_tokens } = await spentOn("all");
    expect([reserved_usd, reserved_tokens]).toEqual([usd, tokens]);
    expect(reserved_tokens).toBeGreaterThan(1024);
    expect((await command("budget")).stdout).toMatch(/all .* including \$0\.\d+ and \d+ tokens reserved\n/);
    await assistant.cancel(submitted.runId, "operator");
    for await (const _ of (await assistant.watch(submitted.runId, 0, new AbortController().signal)) ?? []);
    expect(await spentOn("all")).toMatchObject({ usd, tokens, reserved_usd: 0, reserved_tokens: 0 });
  });

  test("refuses a day that there is not", async () => {
    const { command } = await open(() => answer({ text: "hi" }), {});
    for (const day of ["2026-02-30", "2026-04-31", "2025-02-29", "2026-13-01", "2026-00-10", "0000-01-01", "today"]) {
      const { code, stdout, stderr } = await command("budget", "--day", day, "--days", "2");
      expect([day, code, stdout]).toEqual([day, 2, ""]);
      expect(stderr).toContain("--day must be a date");
    }
    expect((await command("budget", "--day", "2028-02-29")).stdout).toBe("2028-02-29: nothing spent\n");
    expect((await command("budget", "--day", "1970-01-01", "--days", "2")).stdout).toContain("1969-12-31");
  });
});

describe("a model without a price", () => {
  test("is not shown as costing nothing; one that is free is", async () => {
    const { costPer1kInput: _in, costPer1kOutput: _out, ...riddle } = PRICED;
    const models = { m: PRICED, gift: { ...riddle, free: true }, riddle };
    const { run, command } = await open(() => answer({ text: "hi", usage: usage(10, 5) }), { models });
    const shown = async (model: string) => {
      const { id } = await run("hello", { model });
      return (await command("runs", "show", id)).stdout;
    };
    expect(await shown("paid:riddle")).toContain("15 tokens, price unknown\n");
    expect(await shown("paid:gift")).toContain("15 tokens, $0.00\n");
    expect(await shown("paid:m")).toContain("15 tokens, $0.00002\n");
  });

  verifies("X-10/cost", "has a signed receipt that says the price is unknown", async () => {
    const { costPer1kInput: _in, costPer1kOutput: _out, ...riddle } = PRICED;
    const { home, run, command } = await open(() => answer({ text: "hi", usage: usage(10, 5) }), {
      models: { m: riddle },
    });
    const { id, receipt } = await run("hello");
    expect(receipt).toMatchObject({ tokens: 15, cost_usd: null, signature: expect.any(String) });
    const file = join(home.directory, "receipt.json");
    await command("runs", "export", id, "--receipt", "--out", file);
    expect(await command("verify", file)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("15 tokens, price unknown, "),
    });
  });

  verifies("X-10/estimate", "whose provider reports no usage has a receipt that says it is an estimate", async () => {
    const { run, command } = await open(() => answer({ text: "hi", usage: null }), {});
    const { id, receipt } = await run("hello");
    expect(receipt).toMatchObject({ is_estimate: true, cost_usd: expect.any(Number) });
    expect((await command("runs", "show", id)).stdout).toContain("(an estimate: some usage was not reported)");
  });
});

describe("a receipt", () => {
  verifies(
    ["X-10/record", "X-10/receipt"],
    "stands in the record, is shown, and verifies offline without anything else",
    async () => {
      const script: ServerScript = () => answer({ text: "hi", usage: usage(10, 5), model: "m-2026" });
      const { home, run, command } = await open(script, {});
      const { id, receipt, contract_hash, head_hash } = await run("hello");
      expect(receipt).toMatchObject({
        ...{ run_id: id, model: "paid:m", model_fingerprint: "m-2026", tokens: 15, cost_usd: 0.00002 },
        ...{ outcome: "COMPLETED_CHAT_ONLY", contract_hash, head_hash },
      });
      const shown = (await command("runs", "show", id)).stdout;
      for (const words of ["by m-2026", "15 tokens, $0.00002", `signed by ${receipt?.public_key}`]) {
        expect(shown).toContain(words);
      }
      const file = join(home.directory, "receipt.json");
      expect((await command("runs", "export", id, "--receipt", "--out", file)).code).toBe(0);
      const elsewhere = (...words: readonly string[]) => command("--home", "/nonexistent", "verify", file, ...words);
      expect(await elsewhere()).toMatchObject({ code: 0, stdout: expect.stringContaining("15 tokens, $0.00002") });
      expect((await elsewhere("--key", receipt?.public_key ?? "")).code).toBe(0);
      expect(await elsewhere("--key", "another")).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("another key"),
      });
      const named = await elsewhere("--json", "--key", "another");
      const key = receipt?.public_key;
      expect(JSON.parse(named.stdout)).toMatchObject({ ok: false, public_key: key, signer: "unknown", home_key: null });
      await writeFile(file, JSON.stringify({ ...receipt, tokens: 14 }));
      expect(await elsewhere()).toMatchObject({ code: 1, stderr: expect.stringContaining("signature does not match") });
    },
  );
});

describe("auto", () => {
  const models = {
    m: PRICED,
    small: { ...PRICED, tier: "cheap" },
    dear: { ...PRICED, tier: "mid", costPer1kInput: 0.5 },
    fair: { ...PRICED, tier: "mid" },
    mute: { ...PRICED, tier: "premium", supportsTools: false },
    deep: { ...PRICED, tier: "premium", costPer1kInput: 0.5 },
  };

  verifies("T-3a/select", "takes the tier's cheapest model; contract and journal say which and why", async () => {
    const { server, assistant, run } = await open(() => answer({ text: "hi" }), { models });
    const routed = await run("hello", { model: "auto" });
    expect([routed.status, `${routed.provider}:${routed.model}`]).toEqual(["completed", "paid:fair"]);
    const quiet = await run("hello", { model: "auto", contract: { toolPolicy: "forbidden" } });
    expect(quiet.model).toBe("small");
    const hard = await run("hello", { model: "auto", thinkingLevel: "high" });
    expect(hard.model).toBe("deep");
    expect(server.requests.map(({ body }) => body.model)).toEqual(["fair", "small", "deep"]);
    const bundle = await assistant.bundle(routed.id as Parameters<typeof assistant.bundle>[0]);
    const { contract, entries } = JSON.parse(bundle.ok ? bundle.text : "{}");
    const routing = {
      task: "orchestration",
      tier: "mid",
      reason: "orchestration goes to mid: paid:fair costs least there",
    };
    expect(contract).toMatchObject({ model: "paid:fair", routing });
    expect(entries[0].decided.heard[0]).toMatchObject({ type: "run.accepted", routing });
  });

  verifies(["T-3a", "P-0"], "means the default where its tier is empty, and says so", async () => {
    const { assistant, run } = await open(() => answer({ text: "hi" }), { agents: { scout: { model: "auto" } } });
    const record = await run("hello", { agentId: "scout" });
    expect(record.model).toBe("m");
    const bundle = await assistant.bundle(record.id as Parameters<typeof assistant.bundle>[0]);
    expect(JSON.parse(bundle.ok ? bundle.text : "{}").contract.routing.reason).toBe(
      "orchestration goes to mid, but no model is configured as mid: the default paid:m",
    );
  });

  test("is not asked where a model is named", async () => {
    const { assistant, run } = await open(() => answer({ text: "hi" }), { models });
    for (const model of [null, "paid:small"]) {
      const record = await run("hello", { model });
      expect(record.model).toBe(model === null ? "m" : "small");
      const bundle = await assistant.bundle(record.id as Parameters<typeof assistant.bundle>[0]);
      expect(JSON.parse(bundle.ok ? bundle.text : "{}").contract).not.toHaveProperty("routing");
    }
  });
});
