/** A graceful stop and the next start: effects report first, everything else is repeated. */
import { describe, expect, test } from "vitest";
import { DEFAULT_POLICY } from "../../src/kernel/contract/default-terms.ts";
import { verifies } from "../requirements.ts";
import { openTrial, storeOfFile } from "./trial/open-trial.ts";
import { outsideWorld, PACES } from "./trial/outside-world.ts";
import { calls, inTurns, says, scriptedModel } from "./trial/scripted-model.ts";

const store = storeOfFile();
const APPROVED = { approvedTools: ["door.open", "note.put"] };
const open = (id: string, thing: string) => ({ id, tool: "door.open", args: { thing } });

describe("a graceful stop", () => {
  test("aborts the model request and repeats it after the restart", async () => {
    const world = outsideWorld();
    const { promise: asked, resolve: ask } = Promise.withResolvers<AbortSignal>();
    const silent = scriptedModel((_request, signal) => {
      ask(signal);
      return new Promise(() => {});
    });
    const first = openTrial({ store: store(), model: silent, world });
    const runId = await first.submit("think");
    const signal = await asked;
    await first.stop();
    expect(signal.aborted).toBe(true);
    const speaking = scriptedModel(() => says("thought"));
    const next = openTrial({ store: store(), model: speaking, world });
    await next.runtime.recover();
    expect((await next.ended(runId)).outcome).toBe("COMPLETED_CHAT_ONLY");
    expect(speaking.requests[0]?.request).toEqual(silent.requests[0]?.request);
    await next.stop();
  });

  test("leaves waiting runs for the next start, in their order", async () => {
    const world = outsideWorld();
    const first = openTrial({ store: store(), model: scriptedModel(() => says("")), world, workers: 0 });
    const runIds = [await first.submit("one"), await first.submit("two"), await first.submit("three")];
    await first.stop();
    const model = scriptedModel(() => says("done"));
    const next = openTrial({ store: store(), model, world, workers: 1 });
    expect(await next.runtime.recover()).toEqual({ resumed: 3 });
    await Promise.all(runIds.map(next.ended));
    const order = model.requests.map(({ request }) => request.messages.at(-1)?.content);
    expect(order).toEqual(["one", "two", "three"]);
    await next.stop();
  });
});

describe.each(PACES)("a restart, with tools that answer %s:", (pace) => {
  verifies("X-2", "a stop waits for effects whose intent is durable, so that no outcome is unknown", async () => {
    const world = outsideWorld(pace);
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const { promise: reported, resolve: report } = Promise.withResolvers<string>();
    world.conduct = (_tool, { thing }) => {
      begin();
      return thing === "first" ? reported : "opened";
    };
    const model = scriptedModel(inTurns(calls([open("call_1", "first"), open("call_2", "second")]), says("done")));
    const first = openTrial({ store: store(), model, world });
    const runId = await first.submit("open both", APPROVED);
    await begun;
    const stopped = first.stop();
    expect(first.runtime.isAccepting).toBe(false);
    await expect(first.submit("more")).rejects.toThrow("store.unavailable");
    report("opened");
    await stopped;
    expect((await store().findRun(runId))?.outcome).toBeNull();

    const next = openTrial({ store: store(), model, world });
    expect(await next.runtime.recover()).toEqual({ resumed: 1 });
    expect((await next.ended(runId)).outcome).toBe("COMPLETED_WITH_TOOLS");
    expect(world.performed).toHaveLength(2);
    expect(await store().approvalsOf(runId)).toEqual([]);
    await next.stop();
  });

  test("calls decided before it run in their turn, under the plan that was decided", async () => {
    const world = outsideWorld(pace);
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    world.conduct = () => {
      begin();
      return new Promise(() => {});
    };
    const batch = calls([
      { id: "call_1", tool: "note.put", args: { thing: "a" } },
      { id: "call_2", tool: "door.open", args: { thing: "b" } },
    ]);
    const model = scriptedModel(inTurns(batch, says("done")));
    const first = openTrial({ store: store(), model, world });
    const runId = await first.submit("both", APPROVED);
    await begun;
    await first.stop();
    world.conduct = () => "ok";
    const next = openTrial({ store: store(), model, world });
    await next.runtime.recover();
    await next.ended(runId);
    expect(world.performed.map(({ tool, isRepeat }) => [tool, isRepeat])).toEqual([
      ["note.put", false],
      ["note.put", true],
      ["door.open", false],
    ]);
    expect([world.effects("note.put"), world.effects("door.open")]).toEqual([1, 1]);
    await next.stop();
  });

  test("calls whose plan has changed meanwhile do not run", async () => {
    const world = outsideWorld(pace);
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    world.conduct = () => {
      begin();
      return new Promise(() => {});
    };
    const batch = calls([
      { id: "call_1", tool: "look.at", args: { thing: "a" } },
      { id: "call_2", tool: "door.open", args: { thing: "b" } },
    ]);
    const model = scriptedModel(inTurns(batch, says("done")));
    const first = openTrial({ store: store(), model, world });
    const runId = await first.submit("both", APPROVED);
    await begun;
    await first.stop();
    world.conduct = () => "ok";
    world.circumstances = "changed";
    const next = openTrial({ store: store(), model, world });
    await next.runtime.recover();
    await next.ended(runId);
    expect(world.effects("door.open")).toBe(0);
    const record = await next.assistant.run(runId);
    expect(record?.trace.tool_execution_results[1]?.error).toMatch(
      /^policy\.denied: Not run: what this call would do has changed/,
    );
    await next.stop();
  });
});

describe("live policy", () => {
  test("narrowed by a restart denies what the contract allowed", async () => {
    const world = outsideWorld();
    const model = scriptedModel(inTurns(calls([open("call_1", "front")]), says("done")));
    const first = openTrial({ store: store(), model, world });
    const runId = await first.submit("open it");
    const card = await first.nextCard();
    await first.stop();
    const policy = { ...DEFAULT_POLICY, sideEffects: "disabled" } as const;
    const next = openTrial({ store: store(), model, world, policy });
    await next.runtime.recover();
    expect((await next.ended(runId)).outcome).toBe("COMPLETED_CHAT_ONLY");
    expect((await next.assistant.run(runId))?.trace.tool_execution_results[0]?.error).toMatch(/^policy\.denied/);
    expect(world.performed).toEqual([]);
    const decided = await next.runtime.approvals.decide({ ...card, decision: "allow", principal: "operator" });
    expect(decided).toMatchObject({ ok: false });
    await next.stop();
  });
});
