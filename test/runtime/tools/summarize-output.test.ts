/** `tool_output_budget.summarizer_model` (M-4.1) in whole runs: what the model is shown, what it costs, what is kept. */
import { describe, expect, test } from "vitest";
import type { RunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import type { ModelReply } from "../../../src/runtime/ports/model-backend.ts";
import { contractOf, readBodiesOf } from "../../../src/runtime/run/read-run.ts";
import { replayRun } from "../../../src/runtime/run/replay-run.ts";
import { verifies } from "../../requirements.ts";
import { openTrial, storeOfFile, type Trial, type TrialOptions } from "../trial/open-trial.ts";
import { outsideWorld } from "../trial/outside-world.ts";
import { calls, fault, inTurns, type ModelScript, says, scriptedModel } from "../trial/scripted-model.ts";

const store = storeOfFile();

const LINES = Array.from({ length: 400 }, (_, n) => `row ${n}: ${(n * 7919).toString(36)} is fine`);
const LONG = [...LINES, "row 401: the disk of host pluto is FULL"].join("\n");
const MAX_BYTES = 1_000;
const MARKER = "[cut]";
const SUMMARY = "401 rows. All are fine but one: the disk of host pluto is full (row 401).";
const look = { id: "call_1", tool: "look.at", args: { thing: "log" } };
const open = { id: "call_1", tool: "door.open", args: { thing: "log" } };

function openSummarized(summarize: ModelScript, call = look, also: Partial<TrialOptions> = {}) {
  const world = outsideWorld();
  world.conduct = () => LONG;
  const model = scriptedModel(inTurns(calls([call]), says("Pluto's disk is full.")));
  const cheapModel = scriptedModel(summarize, { ref: "cheap:model", model: "small" });
  const trial = openTrial({ store: store(), model, cheapModel, world, ...also });
  return { trial, model, cheapModel };
}

async function run(trial: Trial, contract = {}) {
  const runId = await trial.submit("what is wrong?", {
    contract: {
      toolOutputBudget: { maxBytesPerCall: MAX_BYTES, truncationMarker: MARKER, summarizerModel: "auto" },
      ...contract,
    },
    approvedTools: ["door.open"],
  });
  const ended = await trial.ended(runId);
  return { ...(await resultOf(trial, runId)), ended, runId };
}

async function resultOf(trial: Trial, runId: RunId) {
  const entries = await trial.entries(runId);
  const stored = await trial.store.findRun(runId);
  if (stored === null) throw new Error("a run is missing");
  const bodies = await readBodiesOf(trial.store, stored, entries);
  const observed = entries.find((entry) => entry.kind === "OBSERVE");
  if (observed?.result?.type !== "tool.finished") throw new Error("no result");
  const { response, summary } = observed.result;
  const text = (ref: string | null | undefined) => bodies.get(ref as never)?.text ?? "";
  const commit = entries.findLast((entry) => entry.kind === "COMMIT");
  return { entries, stored, response, summary, labels: observed.labels, text, budget: commit?.decided.budget };
}

describe("an output over its budget", () => {
  verifies("M-4.1", "is summarised by the contract's summarizer, charged and journaled, and replays", async () => {
    const { trial, model, cheapModel } = openSummarized(() => says(SUMMARY, { inputTokens: 900, outputTokens: 30 }));
    const { entries, stored, response, summary, text, budget, runId } = await run(trial);
    const shown = text(response.outputRef);
    expect(shown).toBe(`[Summary of ${Buffer.byteLength(LONG)} bytes by cheap:model]\n${SUMMARY}`);
    expect(model.requests.at(-1)?.request.messages.at(-1)?.content).toContain("host pluto is full (row 401)");
    expect(summary).toMatchObject({
      model: "cheap:model",
      problem: null,
      usage: { inputTokens: 900, outputTokens: 30 },
    });
    // What truncation would have left stays readable, and is what repetition is compared by.
    expect(text(summary?.truncatedRef)).toMatch(/^row 0: .*\[cut\]$/s);
    expect(response).toMatchObject({ truncated: true, outputBytes: Buffer.byteLength(shown) });
    // Two inferences of 40 and 10 tokens, and the summary.
    expect(budget).toMatchObject({ inferences: 2, tokens: 2 * 50 + 930 });
    const [asked] = cheapModel.requests;
    expect(asked?.request).toMatchObject({ model: "small", tools: [], toolChoice: "none" });
    expect(asked?.request.messages.at(-1)?.content).toContain("host pluto is FULL");
    expect(contractOf(stored).toolOutputBudget.summarizerModel).toBe("cheap:model");
    expect(replayRun(runId, contractOf(stored), entries).isReproduced).toBe(true);
    await trial.stop();
  });

  const truncated: readonly (readonly [string, ModelScript, string | RegExp])[] = [
    ["the summarizer fails", () => fault("provider.http-500"), "provider.http-500"],
    ["it returns nonsense", () => says("…!?"), "it says nothing"],
    ["it repeats itself", () => says("all is fine ".repeat(60)), "it repeats itself"],
    ["it copies the output", () => says(LONG.slice(0, 400)), "it is a copy of what it condenses"],
    ["it is too long", () => says(LINES.map((line) => line.slice(0, 12)).join(" ")), /bytes|tokens/],
    ["its answer breaks off", () => brokenOff("401 rows, and all of"), "its answer broke off"],
  ];
  test.each(truncated)("is truncated with the marker when %s", async (_case, summarize, problem) => {
    const { trial } = openSummarized(summarize);
    const { response, summary, text, ended } = await run(trial);
    expect(ended.outcome).toBe("COMPLETED_WITH_TOOLS");
    expect(text(response.outputRef)).toMatch(/^row 0: .*\[cut\]$/s);
    expect(response.outputBytes).toBeLessThanOrEqual(MAX_BYTES);
    expect(summary).toMatchObject({ model: "cheap:model", truncatedRef: null });
    expect(summary?.problem).toMatch(problem);
    await trial.stop();
  });

  test("is truncated at once after a side effect, whose result must be durable first", async () => {
    const { trial, cheapModel } = openSummarized(() => says(SUMMARY), open);
    const { response, summary, text } = await run(trial);
    expect(text(response.outputRef)).toContain(MARKER);
    expect(summary).toBeUndefined();
    expect(cheapModel.requests).toEqual([]);
    await trial.stop();
  });

  test("is truncated when the call's time is over before the summary is there", async () => {
    const { trial } = openSummarized(() => new Promise(() => {}));
    const { response, summary, text } = await run(trial, { stepTimeoutMs: 1_800 });
    expect(text(response.outputRef)).toContain(MARKER);
    expect(summary).toMatchObject({ problem: "it took too long", usage: { isEstimate: true } });
    expect(summary?.usage.outputTokens).toBeGreaterThan(0);
    await trial.stop();
  });

  test("is truncated when the run's tokens have no room for a summary; nothing is sent", async () => {
    const { trial, cheapModel } = openSummarized(() => says(SUMMARY));
    const { summary } = await run(trial, { maxTokensConsumed: 4_000 });
    expect(summary).toMatchObject({ problem: "the run's token budget has no room for it", usage: { inputTokens: 0 } });
    expect(cheapModel.requests).toEqual([]);
    await trial.stop();
  });

  test("keeps its labels: a summary of what strangers wrote is theirs", async () => {
    const world = outsideWorld();
    world.conduct = () => LONG;
    world.labels = { integrity: "untrusted", confidentiality: "private" };
    const { trial } = openSummarized(() => says(SUMMARY), look, { world });
    const { labels, summary } = await run(trial);
    expect(summary?.problem).toBeNull();
    expect(labels).toEqual(world.labels);
    await trial.stop();
  });
});

verifies("X-6", "a summary is reserved and settled like an inference", async () => {
  const scope = { scope: "all", period: "2026-01-01", limitMicrousd: null, limitTokens: 1_000_000 };
  const also = { budgetScopes: { scopesFor: () => [scope] } };
  const { trial } = openSummarized(() => says(SUMMARY, { inputTokens: 900, outputTokens: 30 }), look, also);
  const before = await tokensOf(trial, scope.period);
  await run(trial);
  expect((await tokensOf(trial, scope.period)) - before).toBe(2 * 50 + 930);
  await trial.stop();
});

async function tokensOf(trial: Trial, period: string): Promise<number> {
  return (await trial.store.spendTotals(period)).find(({ scope }) => scope === "all")?.tokens ?? 0;
}

function brokenOff(content: string): ModelReply {
  const reply = says(content);
  return reply.ok ? { ...reply, raw: { ...reply.raw, complete: false } } : reply;
}
