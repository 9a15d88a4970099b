/**
 * Tools that answer at once, beside tools that take their time: what either throws or asks for reaches the driver in the
 * same order.
 */
import { describe, expect, test } from "vitest";
import { asRunId, type RunId } from "../../src/kernel/vocabulary/identifiers.ts";
import { type Store, StoreError } from "../../src/runtime/ports/store.ts";
import type { Toolbox } from "../../src/runtime/ports/toolbox.ts";
import { verifies } from "../requirements.ts";
import { auditTrial } from "./trial/audit-trial.ts";
import { openTrial, storeOfFile, type Trial } from "./trial/open-trial.ts";
import { type Conduct, type OutsideWorld, outsideWorld, PACES, type Pace } from "./trial/outside-world.ts";
import { calls, inTurns, says, scriptedModel } from "./trial/scripted-model.ts";
import { settle } from "./trial/settle.ts";

const store = storeOfFile();
const APPROVED = { approvedTools: ["door.open", "note.put"] };
const call = (id: string, tool: string) => ({ id, tool, args: { thing: id } });
const look = (id: string) => call(id, "look.at");
const open = (id: string) => call(id, "door.open");

const thingsDone = ({ performed }: OutsideWorld) => performed.map(({ args }) => String(args["thing"]));

/** Everything the run was told of its calls, in the order in which it heard it. */
async function told(trial: Trial, runId: RunId) {
  const entries = await trial.entries(runId);
  return entries.flatMap((entry) => (entry.kind === "OBSERVE" ? [[entry.decided.callId, entry.result?.type]] : []));
}

/** A world with a partly broken toolbox. */
function worldWith(pace: Pace, broken: Partial<Toolbox>): OutsideWorld {
  const world = outsideWorld(pace);
  return { ...world, toolbox: { ...world.toolbox, ...broken } };
}

/** By throwing, or by a promise. */
function failing(pace: Pace, message: string): () => Promise<never> {
  return () => {
    const error = new Error(message);
    if (pace === "at once") throw error;
    return Promise.reject(error);
  };
}

describe.each(PACES)("a toolbox with a defect, that fails %s:", (pace) => {
  test.each([
    ["of a read", [look("a"), look("b")], "b"],
    ["of an effect", [open("a"), open("b")], "a"],
  ] as const)("what a tool throws %s ends the run by name, and nothing follows", async (_name, batch, broken) => {
    const world = outsideWorld(pace);
    const fail = failing(pace, "a tool broke");
    world.conduct = (_tool, { thing }) => (thing === broken ? fail() : "done");
    const model = scriptedModel(inTurns(calls(batch)));
    const trial = openTrial({ store: store(), model, world });
    const runId = await trial.submit("go", APPROVED);
    expect(await trial.ended(runId)).toMatchObject({ outcome: "FAILED_CONTRACT_VIOLATION", reason: "defect" });
    expect(trial.defects).toEqual([new Error("a tool broke")]);
    expect(world.effects("door.open")).toBe(broken === "a" ? 1 : 0);
    expect(model.requests).toHaveLength(1);
    await trial.stop();
  });

  test("a plan that fails ends the run by name, and nothing is performed", async () => {
    const world = worldWith(pace, { plan: failing(pace, "a plan broke") });
    const trial = openTrial({ store: store(), model: scriptedModel(inTurns(calls([look("a"), open("b")]))), world });
    const runId = await trial.submit("go", APPROVED);
    expect(await trial.ended(runId)).toMatchObject({ outcome: "FAILED_CONTRACT_VIOLATION", reason: "defect" });
    expect(trial.defects).toContainEqual(new Error("a plan broke"));
    expect(world.performed).toEqual([]);
    await trial.stop();
  });

  test("a plan that fails when a run is taken up again ends it by name", async () => {
    const world = outsideWorld(pace);
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    world.conduct = () => {
      begin();
      return new Promise(() => {});
    };
    const model = scriptedModel(inTurns(calls([look("a")])));
    const first = openTrial({ store: store(), model, world });
    const runId = await first.submit("go");
    await begun;
    await first.stop();
    const next = openTrial({ store: store(), model, world: worldWith(pace, { plan: failing(pace, "a plan broke") }) });
    await next.runtime.recover();
    expect(await next.ended(runId)).toMatchObject({ outcome: "FAILED_CONTRACT_VIOLATION", reason: "defect" });
    expect(next.defects).toEqual([new Error("a plan broke")]);
    await next.stop();
  });

  test.each([undefined, null, 7, "text", { ok: true }])("what is no envelope is no result: %j", async (nonsense) => {
    const world = worldWith(pace, { run: async () => nonsense });
    const trial = openTrial({ store: store(), model: scriptedModel(inTurns(calls([look("a")]))), world });
    const runId = await trial.submit("go");
    expect(await trial.ended(runId)).toMatchObject({ outcome: "FAILED_VALIDATION", reason: "tool.malformed-result" });
    expect(await told(trial, runId)).toEqual([["a", "tool.malformed"]]);
    expect(trial.defects).toEqual([]);
    await trial.stop();
  });
});

describe("calls dispatched together", () => {
  const IDS = ["a", "b", "c", "d"];

  test.each([
    ["the first is late", ["a"]],
    ["the last is late", ["d"]],
    ["every second is late", ["a", "c"]],
    ["all are late, the last answers first", ["a", "b", "c", "d"]],
    ["none is late", []],
  ])("are told in the order of dispatch when %s", async (_name, late) => {
    const world = outsideWorld("at once");
    const answers = new Map(late.map((id) => [id, Promise.withResolvers<string>()]));
    const { promise: allBegun, resolve: begin } = Promise.withResolvers<void>();
    world.conduct = (_tool, { thing }) => {
      if (thing === "d") begin();
      return answers.get(String(thing))?.promise ?? `${thing} at once`;
    };
    const model = scriptedModel(inTurns(calls(IDS.map(look)), says("seen")));
    const trial = openTrial({ store: store(), model, world });
    const runId = await trial.submit("look at all");
    await allBegun;
    for (const [id, { resolve }] of [...answers].toReversed()) {
      // Each is heard, or kept until it is its turn, before the next one answers.
      await settle();
      expect(model.requests).toHaveLength(1);
      resolve(`${id} late`);
    }
    expect((await trial.ended(runId)).outcome).toBe("COMPLETED_WITH_TOOLS");
    expect(thingsDone(world)).toEqual(IDS);
    expect(await told(trial, runId)).toEqual(IDS.map((id) => [id, "tool.finished"]));
    const outputs = model.requests[1]?.request.messages.flatMap(({ role, content }) =>
      role === "tool" ? [content] : [],
    );
    const expected = IDS.map((id) => `"output":"${id} ${late.includes(id) ? "late" : "at once"}"`);
    expect(outputs).toEqual(expected.map((output) => expect.stringContaining(output)));
    await trial.stop();
  });

  test("one that throws beside one that is late ends the run, and the late one is stopped", async () => {
    const world = outsideWorld("at once");
    const { promise: stopped, resolve: stop } = Promise.withResolvers<string>();
    const conduct: Conduct = (_tool, { thing }, { signal }) => {
      if (thing === "b") throw new Error("b broke");
      if (thing === "c") return "c at once";
      signal.addEventListener("abort", () => stop("stopped"));
      return stopped;
    };
    world.conduct = conduct;
    const trial = openTrial({
      store: store(),
      model: scriptedModel(inTurns(calls([look("a"), look("b"), look("c")]))),
      world,
    });
    const runId = await trial.submit("look");
    expect(await trial.ended(runId)).toMatchObject({ outcome: "FAILED_CONTRACT_VIOLATION", reason: "defect" });
    expect(await stopped).toBe("stopped");
    expect(trial.defects).toEqual([new Error("b broke")]);
    await trial.stop();
  });
});

describe("either pace", () => {
  test("leaves the same journal behind, but for times and what depends on them", async () => {
    const script = inTurns(
      calls([look("a"), look("b"), open("door"), look("c")]),
      calls([call("note", "note.put")]),
      calls([call("nothing", "no.such"), look("d")]),
    );
    const journals: unknown[] = [];
    for (const pace of PACES) {
      const trial = openTrial({ store: store(), model: scriptedModel(script), world: outsideWorld(pace) });
      const runId = await trial.submit("go", APPROVED);
      await trial.ended(runId);
      const entries = await trial.entries(runId);
      journals.push(
        entries.map(({ kind, decided, result }) => [kind, "callId" in decided ? decided.callId : "", result?.type]),
      );
      await trial.stop();
    }
    expect(journals[0]).toEqual(journals[1]);
  });
});

describe("from inside of a tool", () => {
  const THINGS = ["a", "b", "door_one", "door_two", "c", "note"];
  const script = inTurns(
    calls([look("a"), look("b")]),
    calls([open("door_one"), open("door_two"), look("c")]),
    calls([call("note", "note.put")]),
  );

  test.each(THINGS)("cancelling at %s: the run ends, and what was begun is recorded as done", async (when) => {
    const world = outsideWorld("at once");
    const model = scriptedModel((request, signal) => {
      // Once it is asked for, only the cancellation may end the run: the model has nothing more to say.
      return cancelled === null ? script(request, signal) : new Promise(() => {});
    });
    const trial = openTrial({ store: store(), model, world });
    let cancelled: Promise<unknown> | null = null;
    world.conduct = (_tool, { thing }, { runId }) => {
      if (thing === when) cancelled = trial.runtime.cancel(asRunId(runId), "the tool itself");
      return `${thing} done`;
    };
    const runId = await trial.submit("go", APPROVED);
    expect(await trial.ended(runId)).toMatchObject({ outcome: "INTERRUPTED", reason: "run.cancelled" });
    expect(await cancelled).toBe("running");
    expect(await told(trial, runId)).toEqual(thingsDone(world).map((thing) => [thing, "tool.finished"]));
    expect(thingsDone(world)).toEqual(THINGS.slice(0, world.performed.length));
    expect(trial.defects).toEqual([]);
    await trial.stop();
  });

  verifies("X-2", "stopping the process: the next one goes on, no effect is repeated or in doubt", async () => {
    for (const when of THINGS) {
      const world = outsideWorld("at once");
      const first = openTrial({ store: store(), model: scriptedModel(script), world });
      const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
      let isStopping = false;
      world.conduct = (_tool, { thing }) => {
        if (thing === when && !isStopping) {
          isStopping = true;
          stop(first.stop());
        }
        return `${thing} done`;
      };
      const runId = await first.submit("go", APPROVED);
      await stopped;
      expect((await store().findRun(runId))?.outcome).toBeNull();
      const next = openTrial({ store: store(), model: scriptedModel(script), world });
      expect(await next.runtime.recover()).toEqual({ resumed: 1 });
      expect((await next.ended(runId)).outcome).toBe("COMPLETED_WITH_TOOLS");
      expect(await store().approvalsOf(runId)).toEqual([]);
      const opened = world.performed.filter(({ tool }) => tool === "door.open").map(({ args }) => args["thing"]);
      expect(opened).toEqual(["door_one", "door_two"]);
      // Asked for once more, perhaps, but under its key.
      expect(world.effects("note.put")).toBe(1);
      expect(new Set(thingsDone(world))).toEqual(new Set(THINGS));
      expect([...first.defects, ...next.defects]).toEqual([]);
      await next.stop();
    }
  });
});

verifies(
  "X-2",
  "a store that refuses what was read ahead of it: nothing acts upon it, and the next start does",
  async () => {
    const world = outsideWorld("at once");
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
    const { promise: refused, reject: refuse } = Promise.withResolvers<never>();
    refused.catch(() => {});
    const refusing: Store = {
      ...store(),
      commit: (writes, urgency) => {
        const isIntent = (line: string): boolean => line.includes('"kind":"EXECUTE"');
        const isActing = writes.some((write) => write.type === "append-entries" && write.lines.some(isIntent));
        if (isActing) ask();
        return isActing ? refused : store().commit(writes, urgency);
      },
    };
    const model = scriptedModel(inTurns(calls([look("a")]), calls([open("door")])));
    const first = openTrial({ store: refusing, model, world });
    const runId = await first.submit("look, then open", APPROVED);
    await asked;
    await settle();
    expect(thingsDone(world)).toEqual(["a"]);
    refuse(new StoreError("store.unavailable", "the disk is gone"));
    await settle();
    expect(first.storeFailures).toHaveLength(1);
    expect(thingsDone(world)).toEqual(["a"]);
    await first.stop();
    const next = openTrial({ store: store(), model, world });
    await next.runtime.recover();
    expect((await next.ended(runId)).outcome).toBe("COMPLETED_WITH_TOOLS");
    expect(thingsDone(world)).toEqual(["a", "a", "door"]);
    await next.stop();
  },
);

test("all of it audits: every chain verifies, every run has ended once", async () => {
  const trial = openTrial({ store: store(), model: scriptedModel(() => says("")), world: outsideWorld() });
  expect((await auditTrial(trial)).length).toBeGreaterThan(0);
});
