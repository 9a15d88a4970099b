/** A corpus has a store of its own, and spends from the home it was started in. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { openSqliteStore } from "../../src/adapters/store-sqlite/open-sqlite-store.ts";
import { main } from "../../src/boot/main.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { systemRandomness } from "../../src/boot/system-randomness.ts";
import { asRunId } from "../../src/kernel/vocabulary/identifiers.ts";
import type { Store } from "../../src/runtime/ports/store.ts";
import { openDailyBudget } from "../../src/runtime/spend/daily-budget.ts";
import { answer, type Reply, startOpenAiServer } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { capturedStreams } from "./captured-streams.ts";
import { temporaryDirectory } from "./temporary-home.ts";

const ENTRY = fileURLToPath(new URL("../../src/boot/surety.ts", import.meta.url));
/** Millionths of a dollar: a token in costs one, a token out two. */
const PRICED = { contextWindow: 32_768, maxOutputTokens: 1024, costPer1kInput: 0.001, costPer1kOutput: 0.002 };
/** Each answer costs 1,500. */
const says = (): Reply => answer({ text: "No.", usage: { prompt_tokens: 500, completion_tokens: 500 } });
const ANSWER_USD = 0.0015;

async function open(budgets: object, reply: () => Reply = says, model: object = PRICED) {
  const server = await startOpenAiServer(reply);
  onTestFinished(() => server.close());
  const directory = join(await temporaryDirectory(), "home");
  await mkdir(directory);
  const providers = { paid: { baseUrl: server.baseUrl, local: true, models: { m: model } } };
  const config = { models: { default: "paid:m", providers }, budgets };
  await writeFile(join(directory, "surety.json5"), JSON.stringify(config));
  const surety = async (...words: readonly string[]) => {
    const streams = capturedStreams();
    const code = await main(["--home", directory, ...words], streams, () => undefined);
    return { code, ...streams.written() };
  };
  const spent = async () => {
    const { spent } = JSON.parse((await surety("budget", "--json")).stdout);
    return Object.fromEntries(spent.map(({ scope, usd }: { scope: string; usd: number }) => [scope, usd]));
  };
  const kept = () => readdir(join(directory, "conformance"));
  return { server, directory, surety, spent, kept };
}

describe("what a corpus costs", () => {
  test("is told, or that nobody knows", async () => {
    const { costPer1kInput: _in, costPer1kOutput: _out, ...riddle } = PRICED;
    const last = async (model: object) => (await (await open({}, says, model)).surety("conformance")).stdout;
    expect(await last(PRICED)).toMatch(/\nspent \d+ tokens, \$0\.\d+\n$/);
    expect(await last(riddle)).toMatch(/\nspent \d+ tokens, price unknown\n$/);
  });

  for (const [name, budgets] of [
    ["without limits", {}],
    ["within them", { perDayUsd: 1, perAgentDayUsd: 1, perRunUsd: 1, perDayTokens: 1_000_000 }],
  ] as const) {
    verifies("X-6", `counts in its home, ${name}, beside what runs cost there`, async () => {
      const { server, surety, spent, kept } = await open(budgets);
      await surety("run", "hello");
      const before = server.requests.length;
      expect((await surety("conformance")).stdout).not.toContain("not counted");
      expect(await kept()).toEqual(["paid%3Am.json"]);
      const total = expect.closeTo(server.requests.length * ANSWER_USD, 9);
      expect(server.requests.length).toBeGreaterThan(before + 10);
      expect(await spent()).toEqual({ all: total, "agent:main": total, "model:paid:m": total });
    });
  }

  for (const budgets of [{ perDayUsd: 0.02 }, { perAgentDayUsd: 0.02 }, { perDayTokens: 12_000 }]) {
    verifies(
      "X-6",
      `stays within ${JSON.stringify(budgets)}: the case it does not cover ends the corpus, unsaved`,
      async () => {
        const { server, surety, spent, kept } = await open(budgets);
        await surety("run", "hello");
        const { code, stderr } = await surety("conformance");
        expect(code).toBe(1);
        expect(stderr).toMatch(
          /no budget left for \S+\. The .*limit .*\(budgets\.per.* left\.\n.*See surety budget\.\n$/,
        );
        expect(await kept()).toEqual([]);
        expect(server.requests.length).toBeGreaterThan(2);
        const { all } = await spent();
        expect(all).toBeCloseTo(server.requests.length * ANSWER_USD, 9);
        expect(all).toBeLessThanOrEqual(0.02);
        // There is too little left for another one: nothing at all is sent.
        const asked = server.requests.length;
        expect((await surety("conformance")).code).toBe(1);
        expect(server.requests.length).toBe(asked);
      },
    );
  }

  verifies("X-6", "counts as reserved when nobody lived to settle it", async () => {
    const { server, directory, spent } = await open({ perDayUsd: 1 }, () => ({ kind: "hang" }));
    const child = spawn(process.execPath, [ENTRY, "--home", directory, "conformance"]);
    const ended = once(child, "close");
    await server.arrival(0);
    child.kill("SIGKILL");
    await ended;
    // The prompt, and every token the answer might have had.
    expect((await spent())["all"]).toBeGreaterThan(0);
  });
});

verifies("X-6", "what a reservation is raised by counts too, and once", async () => {
  const { directory } = await open({});
  const store = await openSqliteStore({ home: directory, clock: systemClock, random: systemRandomness });
  onTestFinished(() => store.close());
  const budget = await openDailyBudget(store, {}, "main", "2026-01-01");
  const granted: Store["commit"] = () => Promise.resolve({ spend: { granted: true } });
  const apart = await openSqliteStore({
    home: await temporaryDirectory(),
    clock: systemClock,
    random: systemRandomness,
  });
  onTestFinished(() => apart.close());
  const counting = budget.countingIn({ ...apart, commit: granted });
  const owner = { runId: asRunId("run_1"), epoch: 0, attempt: 1 };
  const scopes = [{ scope: "all", period: "2026-01-01", limitMicrousd: 1_000, limitTokens: null }];
  const reserve = (microusd: number, tokens: number) =>
    counting.commit([{ type: "reserve-spend", ...owner, amount: { microusd, tokens }, scopes }], "barrier");
  for (const [microusd, tokens] of [
    [100, 10],
    [90, 30],
    [150, 20],
    [150, 30],
  ] as const)
    await reserve(microusd, tokens);
  expect(await store.spendTotals("2026-01-01")).toMatchObject([{ scope: "all", microusd: 150, tokens: 30 }]);
});

describe("while another process has the home", () => {
  const locked = async (budgets: object) => {
    const opened = await open(budgets);
    const store = await openSqliteStore({ home: opened.directory, clock: systemClock, random: systemRandomness });
    onTestFinished(() => store.close());
    return opened;
  };

  verifies("X-6", "nothing is spent under a limit of its day", async () => {
    const { server, surety } = await locked({ perDayTokens: 1_000_000 });
    const { code, stderr } = await surety("conformance");
    expect([code, server.connections]).toEqual([1, 0]);
    expect(stderr).toContain("another surety process works on this home");
  });

  test("a corpus without limits is run, and says that it is not counted", async () => {
    const { server, surety, spent } = await locked({});
    expect((await surety("conformance")).stdout).toContain("not counted in this home");
    expect(server.requests.length).toBeGreaterThan(10);
    expect(await spent()).toEqual({});
  });
});
