/** The thinking level of a run's model, its cost, and the reasoning that is sent back. */
import { describe, expect, test } from "vitest";
import type { RunRequest } from "../../src/assistant/runs/run-request.ts";
import { childRunId } from "../../src/kernel/contract/child-contract.ts";
import type { ThinkingLevel } from "../../src/kernel/vocabulary/thinking-level.ts";
import { estimateTokens } from "../../src/runtime/model/estimate-tokens.ts";
import type { ConfiguredModel, ModelReply, Thoughts } from "../../src/runtime/ports/model-backend.ts";
import { contractOf } from "../../src/runtime/run/read-run.ts";
import { openTrial, storeOfFile, type Trial } from "./trial/open-trial.ts";
import { outsideWorld } from "./trial/outside-world.ts";
import { askedFor, calls, inTurns, type ModelScript, says, scriptedModel } from "./trial/scripted-model.ts";

const store = storeOfFile();
const look = { id: "call_1", tool: "look.at", args: { thing: "a" } };

async function submit(trial: Trial, also: Partial<RunRequest> = {}) {
  const submitted = await trial.assistant.submit({
    ...{ agentId: "main", message: "think", sessionId: null, model: null, thinkingMode: null, contract: {} },
    ...{ approvedTools: [], source: "test", principal: "tester", idempotencyKey: null, ...also },
  });
  if (!submitted.ok) throw new Error(submitted.message);
  return submitted.runId;
}

interface Circumstances {
  readonly thinking?: ConfiguredModel["thinking"];
  readonly wished?: ThinkingLevel;
  readonly agents?: ThinkingLevel;
  readonly also?: Partial<RunRequest>;
}

async function run(script: ModelScript, { thinking, wished, agents, also }: Circumstances) {
  const model = scriptedModel(script, { maxOutputTokens: 32_000, ...(thinking === undefined ? {} : { thinking }) });
  const trial = openTrial({ store: store(), model, world: outsideWorld(), agentThinking: agents ?? null });
  const runId = await submit(trial, { ...(wished === undefined ? {} : { thinkingLevel: wished }), ...also });
  const ended = await trial.ended(runId);
  expect([ended.status, trial.defects]).toEqual(["completed", []]);
  const answers = (await trial.entries(runId)).flatMap(({ result }) =>
    result?.type === "model.answered" ? [result] : [],
  );
  await trial.stop();
  return { model, answers, contract: contractOf(ended) };
}

describe("a model with a thinking level", () => {
  test.each<[string, Circumstances, ThinkingLevel | undefined]>([
    ["nothing by default", {}, undefined],
    ["what it is configured with", { thinking: { level: "low" } }, "low"],
    ["what its agent is", { thinking: { level: "low" }, agents: "medium" }, "medium"],
    ["what the request says", { thinking: { level: "low" }, agents: "medium", wished: "high" }, "high"],
    ["not to, which is a wish as well", { thinking: { level: "low" }, wished: "off" }, "off"],
  ])("is sent %s, at every turn", async (_, circumstances, expected) => {
    const thinking = { thinking: { level: null }, ...circumstances };
    const { model } = await run(inTurns(calls([look]), says("done")), thinking);
    expect(model.requests.map(({ request }) => request.effort)).toEqual([expected, expected]);
  });

  test("has the whole output limit of its model, unless a limit is set", async () => {
    const room = async (wished: ThinkingLevel, maxOutputTokens?: number): Promise<number | undefined> => {
      const contract = maxOutputTokens === undefined ? {} : { maxOutputTokens };
      const { model, contract: sealed } = await run(() => says("done"), {
        ...{ thinking: { level: null }, wished, also: { contract } },
      });
      expect(model.requests[0]?.request.maxOutputTokens).toBe(sealed.maxOutputTokens);
      return sealed.maxOutputTokens;
    };
    expect([await room("off"), await room("low"), await room("high")]).toEqual([32_000, 32_000, 32_000]);
    expect(await room("high", 4_000)).toBe(4_000);
  });
});

describe("a delegated run has the output limit", () => {
  const roomOf = async (also: Partial<ConfiguredModel>, child: Partial<ConfiguredModel>, maxOutputTokens?: number) => {
    const task = calls([{ id: "call_1", tool: "agent.delegate", args: { thing: "task" } }]);
    const model = scriptedModel(inTurns(task, says("done")), { maxOutputTokens: 32_000, ...also });
    const cheapModel = scriptedModel(() => says("by the child"), { ref: "cheap:model", ...child });
    const trial = openTrial({ store: store(), model, cheapModel, world: outsideWorld() });
    await trial.ended(await submit(trial, maxOutputTokens === undefined ? {} : { contract: { maxOutputTokens } }));
    await trial.stop();
    return cheapModel.requests.map(({ request }) => request.maxOutputTokens);
  };
  const high = { thinking: { level: "high" as const } };

  test("of its own model, more or less than its parent's", async () => {
    expect(await roomOf({}, { maxOutputTokens: 48_000 })).toEqual([48_000]);
    expect(await roomOf({}, { maxOutputTokens: 5_000 })).toEqual([5_000]);
  });

  test("that was set for its parent, if one was", async () => {
    expect(await roomOf({}, { ...high, maxOutputTokens: 32_000 }, 1_500)).toEqual([1_500]);
    expect(await roomOf(high, { maxOutputTokens: 32_000 }, 3_000)).toEqual([3_000]);
  });
});

test("a model without a thinking level gets none, which is no error", async () => {
  const { model, contract } = await run(() => says("done"), { wished: "high", agents: "low" });
  expect(model.requests[0]?.request).not.toHaveProperty("effort");
  expect(contract.maxOutputTokens).toBe(32_000);
});

test.each<[string, { readonly level: ThinkingLevel | null } | null, ThinkingLevel | undefined]>([
  ["as its parent, where its model can be told", { level: null }, "medium"],
  ["as its parent, whatever its model is configured with", { level: "low" }, "medium"],
  ["nothing, where its model cannot", null, undefined],
])("a delegated run is sent %s", async (_, thinking, expected) => {
  const task = calls([{ id: "call_1", tool: "agent.delegate", args: { thing: "task" } }]);
  const model = scriptedModel(inTurns(task, says("done")), { thinking: { level: null } });
  const cheap = { ref: "cheap:model", ...(thinking === null ? {} : { thinking }) };
  const cheapModel = scriptedModel(() => says("by the child"), cheap);
  const trial = openTrial({ store: store(), model, cheapModel, world: outsideWorld() });
  const runId = await submit(trial, { thinkingLevel: "medium" });
  await trial.ended(runId);
  expect(await trial.store.findRun(childRunId(runId, "step-1", 0))).toMatchObject({ status: "completed" });
  expect(cheapModel.requests.map(({ request }) => [askedFor(request), request.effort])).toEqual([["task", expected]]);
  await trial.stop();
});

describe("where the provider reports no usage,", () => {
  const signed: Thoughts = { kept: ["…"], isSigned: true };
  const plain: Thoughts = { kept: { reasoning: "Hm, hm." }, isSigned: false };
  const silent = says("done", null);
  const all = "all";
  const WORD = estimateTokens("done");
  const THOUGHT = estimateTokens("Hm, hm.");
  test.each<[string, Partial<Extract<ModelReply, { ok: true }>>, ThinkingLevel | null, number | typeof all]>([
    ["an answer costs its tokens", {}, null, WORD],
    ["what was thought costs too", { reasoning: "Hm, hm.", thoughts: plain }, null, WORD + THOUGHT],
    ["what was only summarised costs all it may have", { reasoning: "Hm, hm.", thoughts: signed }, null, all],
    ["what was asked for and not shown costs all it may have", {}, "low", all],
    ["what was asked not to be thought costs nothing", {}, "off", WORD],
    ["what was asked for and shown costs its tokens", { reasoning: "Hm, hm." }, "low", WORD + THOUGHT],
  ])("%s", async (_, more, level, tokens) => {
    const { answers, contract } = await run(() => ({ ...silent, ...more }) as ModelReply, { thinking: { level } });
    expect(answers[0]?.usage.outputTokens).toBe(tokens === all ? contract.maxOutputTokens : tokens);
  });
});

test("what was thought is kept for the provider's own calls, and not for those in a text", async () => {
  const block = '<<<TOOL_CALLS_JSON>>>[{"id":"t1","tool":"look.at","args":{"thing":"a"}}]<<<END_TOOL_CALLS_JSON>>>';
  const thoughts: Thoughts = { kept: { reasoning: "Hm." }, isSigned: false };
  const profile = { supportsTools: true, holdsRequired: false, grammarProfiles: [] };
  const native = { ...profile, id: "native-tools", adapterVersion: "native-tools@2" };
  const marker = { ...profile, id: "marker-json", adapterVersion: "marker-json@2" };
  const recalled = async (reply: ModelReply, also: Partial<ConfiguredModel>) => {
    const model = scriptedModel(inTurns({ ...reply, thoughts } as ModelReply, says("done")), also);
    const trial = openTrial({ store: store(), model, world: outsideWorld() });
    await trial.ended(await submit(trial));
    await trial.stop();
    return model.requests[1]?.request.messages.flatMap((message) =>
      message.role === "assistant" ? [message.thoughts] : [],
    );
  };
  expect(await recalled(calls([look]), { profile: native })).toEqual([thoughts.kept]);
  expect(await recalled(says(block), { profile: marker })).toEqual([undefined]);
});

describe("a call that the model only thought of", () => {
  const block = '<<<TOOL_CALLS_JSON>>>[{"id":"t1","tool":"look.at","args":{"thing":"a"}}]<<<END_TOOL_CALLS_JSON>>>';
  const notes = '<<<NOTES_JSON>>>{"set_goals":["nothing"]}<<<END_NOTES_JSON>>>';

  test.each([
    ["native-tools", "native-tools@2"],
    ["marker-json", "marker-json@2"],
  ])("is not made under %s, and the thought is neither streamed nor answered", async (id, adapterVersion) => {
    const profile = { id, adapterVersion, supportsTools: true, holdsRequired: false, grammarProfiles: [] };
    const { promise: watching, resolve: watch } = Promise.withResolvers<void>();
    const content = `\n<think>I might ${block} ${notes}</think>\n\nAll is well.`;
    const model = scriptedModel(() => watching.then(() => says(content)), { profile });
    const world = outsideWorld();
    const trial = openTrial({ store: store(), model, world });
    const runId = await submit(trial);
    const shown: string[] = [];
    const ignore = { entries: () => {}, output: () => {}, broken: () => {} };
    trial.runtime.watch(runId, { ...ignore, delta: ({ text }) => shown.push(text) });
    watch();
    await trial.ended(runId);
    expect(await trial.assistant.run(runId)).toMatchObject({
      outcome: "COMPLETED_CHAT_ONLY",
      output: "All is well.",
      tool_calls: 0,
    });
    expect(shown.join("")).toBe("All is well.");
    const entries = await trial.entries(runId);
    expect(entries.find(({ kind }) => kind === "INFER")?.result).toMatchObject({ calls: [], notes: null });
    await trial.stop();
  });
});

test("what was thought before a call counts among the tokens of the prompt from then on", async () => {
  const before = calls([look]);
  const kept = { reasoning: "word ".repeat(300) };
  const thinking: ModelReply = before.ok ? { ...before, thoughts: { kept, isSigned: true } } : before;
  const tokens = async (reply: ModelReply): Promise<number> =>
    (await run(inTurns(reply, says("done")), {})).answers[0]?.tokens ?? 0;
  expect((await tokens(thinking)) - (await tokens(before))).toBeGreaterThanOrEqual(300);
});
