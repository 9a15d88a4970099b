/** Delegated runs: inserted with their intent, paid from the parent's budget, awaited by the parent. */
import { describe, expect, test } from "vitest";
import { childRunId } from "../../../src/kernel/contract/child-contract.ts";
import type { RunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { contractOf } from "../../../src/runtime/run/read-run.ts";
import { verifies } from "../../requirements.ts";
import { auditTrial } from "../trial/audit-trial.ts";
import { openTrial, storeOfFile } from "../trial/open-trial.ts";
import { outsideWorld } from "../trial/outside-world.ts";
import { askedFor, calls, inTurns, type ModelScript, says, scriptedModel } from "../trial/scripted-model.ts";

const store = storeOfFile();

const delegate = (...tasks: readonly string[]) =>
  calls(tasks.map((thing, index) => ({ id: `call_${index}`, tool: "agent.delegate", args: { thing } })));

/** The parent delegates once; what a child does follows from its task. */
function family(tasks: readonly string[], child: ModelScript) {
  const parent = inTurns(delegate(...tasks), says("the family is done"));
  return scriptedModel((request, signal) => (askedFor(request) === "parent" ? parent : child)(request, signal));
}

const childOf = (runId: RunId, index = 0): RunId => childRunId(runId, "step-1", index);

describe("a delegated run", () => {
  test("answers its parent, which holds no worker meanwhile, out of the parent's budget", async () => {
    const model = family(["task a", "task b"], (request) => says(`result of ${askedFor(request)}`));
    const trial = openTrial({ store: store(), model, world: outsideWorld(), workers: 1 });
    const runId = await trial.submit("parent", { contract: { maxInferences: 8, maxTokensConsumed: 40_000 } });
    const ended = await trial.ended(runId);
    expect(trial.defects).toEqual([]);
    expect(ended.outcome).toBe("COMPLETED_WITH_TOOLS");
    const parent = await trial.store.findRun(runId);
    const child = await trial.store.findRun(childOf(runId));
    expect(child).toMatchObject({ parentRunId: runId, source: "run", lane: `run:${runId}:0`, agentId: "main" });
    if (parent === null || child === null) throw new Error("a run is missing");
    const terms = contractOf(child);
    expect(terms.parentContractHash).toBe(parent.contractHash);
    expect(terms.depth).toBe(1);
    expect(terms.maxInferences).toBeLessThanOrEqual(7);
    const record = await trial.assistant.run(runId);
    expect(record?.trace.tool_execution_results.map(({ output }) => output)).toEqual([
      "result of task a",
      "result of task b",
    ]);
    // What the children did not use has come back: 50 tokens an answer, four answers.
    const entries = await trial.entries(runId);
    const commit = entries.findLast((entry) => entry.kind === "COMMIT");
    expect(commit?.kind === "COMMIT" && commit.decided.budget).toMatchObject({ inferences: 4, tokens: 200 });
    // It sees its task and nothing of its parent's history.
    const seen = model.requests.find(({ request }) => askedFor(request) === "task a")?.request.messages;
    expect(seen?.filter(({ role }) => role !== "system")).toEqual([{ role: "user", content: "task a" }]);
    await trial.stop();
    await auditTrial(trial);
  });

  verifies(
    "T-3a",
    "works with the model that the router chose for it, and its contract and journal say why",
    async () => {
      const model = family(["task"], () => says("never asked"));
      const cheapModel = scriptedModel(() => says("by the cheap one"), {
        ref: "cheap:model",
        contextWindow: 9_000,
        maxOutputTokens: 300,
      });
      const trial = openTrial({ store: store(), model, cheapModel, world: outsideWorld() });
      const runId = await trial.submit("parent");
      await trial.ended(runId);
      const child = await trial.store.findRun(childOf(runId));
      expect(child).toMatchObject({ outcome: "COMPLETED_CHAT_ONLY", model: "cheap:model" });
      expect(cheapModel.requests.map(({ request }) => askedFor(request))).toEqual(["task"]);
      expect(model.requests.map(({ request }) => askedFor(request))).not.toContain("task");
      const routing = { task: "subagent", tier: "cheap", reason: "cheap:model is cheap" };
      const contract = JSON.parse(child?.contract ?? "{}");
      expect(contract).toMatchObject({ model: "cheap:model", routing, max_output_tokens: 300 });
      expect(contract.context_budget.context_window).toBe(9_000);
      const [created] = await trial.entries(childOf(runId));
      expect(created?.kind === "run.created" && created.decided.heard).toMatchObject([{ routing }, {}]);
      // The parent was given its model by name.
      expect(JSON.parse((await trial.store.findRun(runId))?.contract ?? "{}")).not.toHaveProperty("routing");
      await trial.stop();
      await auditTrial(trial);
    },
  );

  verifies("X-12", "asks no operator if its parent is unattended", async () => {
    const open = calls([{ id: "call_0", tool: "door.open", args: { thing: "door" } }]);
    const model = family(["task"], inTurns(open, says("it stays shut")));
    const world = outsideWorld();
    const trial = openTrial({ store: store(), model, world });
    const runId = await trial.submit("parent", { isUnattended: true });
    expect((await trial.ended(runId)).outcome).toBe("COMPLETED_WITH_TOOLS");
    expect([await trial.store.approvalsOf(childOf(runId)), world.performed]).toEqual([[], []]);
    await trial.stop();
  });

  test("that fails gives its parent a failed result", async () => {
    const model = family(["task"], () => calls([{ id: "call_1", tool: "look.at", args: { thing: "same" } }]));
    const trial = openTrial({ store: store(), model, world: outsideWorld() });
    const runId = await trial.submit("parent");
    await trial.ended(runId);
    expect((await trial.store.findRun(childOf(runId)))?.outcome).toBe("FAILED_BUDGET_EXHAUSTED");
    expect((await trial.assistant.run(runId))?.trace.tool_execution_results).toMatchObject([
      { output: "", error: expect.stringContaining("FAILED_BUDGET_EXHAUSTED") },
    ]);
    await trial.stop();
  });

  test("may delegate itself, up to a limit", async () => {
    const model = scriptedModel((request, signal) => {
      const depth = askedFor(request).split("+").length;
      return inTurns(delegate(`${askedFor(request)}+`), says(`depth ${depth}`))(request, signal);
    });
    const trial = openTrial({ store: store(), model, world: outsideWorld(), workers: 1 });
    const runId = await trial.submit("p", { contract: { maxInferences: 64 } });
    expect((await trial.ended(runId)).outcome).toBe("COMPLETED_WITH_TOOLS");
    const tasks = new Set(model.requests.map(({ request }) => askedFor(request)));
    expect([...tasks]).toEqual(["p", "p+", "p++", "p+++"]);
    await trial.stop();
  });

  verifies("T-3b/cancel", "is cancelled with its parent, and both end", async () => {
    const { promise: asked, resolve: ask } = Promise.withResolvers<AbortSignal>();
    const model = family(["task a", "task b"], (_request, signal) => {
      ask(signal);
      return new Promise(() => {});
    });
    const trial = openTrial({ store: store(), model, world: outsideWorld() });
    const runId = await trial.submit("parent");
    const signal = await asked;
    await trial.runtime.cancel(runId, "operator");
    expect(await trial.ended(runId)).toMatchObject({ outcome: "INTERRUPTED", reason: "run.cancelled" });
    expect(signal.aborted).toBe(true);
    expect(await trial.store.findRun(childOf(runId))).toMatchObject({
      outcome: "INTERRUPTED",
      cancelledBy: `run:${runId}`,
    });
    expect(await trial.store.findRun(childOf(runId, 1))).toMatchObject({ outcome: "INTERRUPTED" });
    await trial.stop();
    expect(trial.defects).toEqual([]);
    await auditTrial(trial);
  });

  test("is found again after a restart, also by a parent that was cancelled meanwhile", async () => {
    const whole = store();
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
    const model = family(["task"], () => {
      ask();
      return new Promise(() => {});
    });
    const world = outsideWorld();
    const first = openTrial({ store: whole, model, world });
    const runId = await first.submit("parent");
    await asked;
    await first.stop();
    await whole.commit([{ type: "request-cancel", runId, by: "operator" }], "barrier");
    const next = openTrial({ store: whole, model, world });
    expect((await next.runtime.recover()).resumed).toBe(2);
    expect((await next.ended(runId)).outcome).toBe("INTERRUPTED");
    expect((await next.store.findRun(childOf(runId)))?.outcome).toBe("INTERRUPTED");
    await next.stop();
  });
});
