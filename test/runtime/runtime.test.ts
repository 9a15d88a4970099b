/** Accepting, ordering and ending runs. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { asRunId, asSessionId, type RunId } from "../../src/kernel/vocabulary/identifiers.ts";
import { type Store, StoreError } from "../../src/runtime/ports/store.ts";
import { verifies } from "../requirements.ts";
import { auditTrial } from "./trial/audit-trial.ts";
import { openTrial, storeOfFile } from "./trial/open-trial.ts";
import { outsideWorld, PACES } from "./trial/outside-world.ts";
import {
  askedFor,
  babbles,
  calls,
  fault,
  inTurns,
  isRepair,
  type ModelScript,
  says,
  scriptedModel,
} from "./trial/scripted-model.ts";

const look = (id: string, thing: string) => ({ id, tool: "look.at", args: { thing } });
const open = (id: string, thing: string) => ({ id, tool: "door.open", args: { thing } });
const note = (id: string, thing: string) => ({ id, tool: "note.put", args: { thing } });

/** A run's message names what its model does, and what is to come of it. */
const PLOTS: Readonly<Record<string, readonly [outcome: string, script: ModelScript]>> = {
  chat: ["COMPLETED_CHAT_ONLY", () => says("hello")],
  look: ["COMPLETED_WITH_TOOLS", inTurns(calls([look("call_1", "a"), look("call_2", "b")]))],
  act: ["COMPLETED_WITH_TOOLS", inTurns(calls([open("call_1", "a")]), calls([note("call_2", "b")]))],
  mend: [
    "COMPLETED_WITH_TOOLS",
    (request, signal) => (isRepair(request) ? says("mended") : turnsToBabble(request, signal)),
  ],
  babble: ["FAILED_PROTOCOL_MALFORMED", () => babbles()],
  unknown: ["COMPLETED_CHAT_ONLY", inTurns(calls([{ id: "call_1", tool: "no.such", args: {} }]))],
  repeat: ["FAILED_BUDGET_EXHAUSTED", () => calls([look("call_1", "same")])],
  gone: ["FAILED_PROTOCOL_MALFORMED", () => fault("provider.http-500")],
  delegate: [
    "COMPLETED_WITH_TOOLS",
    inTurns(calls([{ id: "call_1", tool: "agent.delegate", args: { thing: "chat" } }]), says("the child said hello")),
  ],
};

const turnsToBabble = inTurns(calls([look("call_1", "a")]), babbles());

const byPlot: ModelScript = (request, signal) => {
  const [, script] = PLOTS[askedFor(request)] ?? PLOTS["chat"] ?? [];
  return script?.(request, signal) ?? says("nothing to do");
};

const store = storeOfFile();

describe("every accepted run", () => {
  verifies(
    ["M-4.5/one", "O-5.5"],
    "ends in exactly one outcome, and journal, ledger, store and views agree about it",
    async () => {
      const plots = fc.array(fc.constantFrom(...Object.keys(PLOTS)), { minLength: 1, maxLength: 12 });
      const paces = fc.constantFrom(...PACES);
      const model = scriptedModel(byPlot);
      let accepted = 0;
      await fc.assert(
        fc.asyncProperty(plots, paces, fc.integer({ min: 1, max: 4 }), async (chosen, pace, workers) => {
          const world = outsideWorld(pace);
          const trial = openTrial({ store: store(), model, world, workers });
          const wanted = { approvedTools: ["door.open", "note.put"] };
          const runIds = await Promise.all(chosen.map((plot) => trial.submit(plot, wanted)));
          const runs = await Promise.all(runIds.map(trial.ended));
          expect(runs.map(({ outcome }) => outcome)).toEqual(chosen.map((plot) => PLOTS[plot]?.[0]));
          accepted += chosen.length + chosen.filter((plot) => plot === "delegate").length;
          const acts = chosen.filter((plot) => plot === "act").length;
          expect([world.effects("door.open"), world.effects("note.put")]).toEqual([acts, acts]);
          expect(trial.defects).toEqual([]);
          await trial.stop();
        }),
        { numRuns: 20 },
      );
      expect(await auditTrial(openTrial({ store: store(), model, world: outsideWorld() }))).toHaveLength(accepted);
    },
  );

  test("is shown with its answer and the calls that were performed", async () => {
    const trial = openTrial({ store: store(), model: scriptedModel(byPlot), world: outsideWorld() });
    const runId = await trial.submit("look");
    await trial.ended(runId);
    expect(await trial.assistant.run(runId)).toMatchObject({
      output: "done",
      tool_calls: 2,
      provider: "scripted",
      model: "model",
      source: "test",
      trace: {
        tool_execution_results: [
          { tool: "look.at", tool_call_id: "call_1", output: "look.at a", error: "", summary: "look.at done" },
          { tool: "look.at", tool_call_id: "call_2", output: "look.at b", error: "" },
        ],
      },
    });
    const { runs } = await trial.assistant.runs({ limit: 1, offset: 0 });
    expect(runs.map(({ id }) => id)).toEqual([runId]);
    await trial.stop();
  });
});

describe("lanes of sessions", () => {
  test.each([10, 100_000])("asks its model with its whole message, of %i characters too", async (length) => {
    const message = "m".repeat(length);
    const heard: string[] = [];
    const model = scriptedModel((request) => {
      heard.push(askedFor(request));
      return says("heard");
    });
    const trial = openTrial({ store: store(), model, world: outsideWorld() });
    await trial.ended(await trial.submit(message));
    await trial.stop();
    expect(heard).toEqual([message]);
  });

  test("goes on where a tool answers with something that is no plain object", async () => {
    const world = outsideWorld();
    world.conduct = () => ({ seen: new Date(0) }) as never;
    const model = scriptedModel(inTurns(calls([look("call_1", "a")])));
    const trial = openTrial({ store: store(), model, world });
    const { outcome } = await trial.ended(await trial.submit("look"));
    await trial.stop();
    expect({ outcome, defects: trial.defects }).toEqual({ outcome: "COMPLETED_WITH_TOOLS", defects: [] });
  });

  test("runs of a session go in order and remember what was said; sessions go side by side", async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const begun: string[] = [];
    const model = scriptedModel(async (request) => {
      const asked = askedFor(request);
      begun.push(asked);
      if (asked === "a1") await released;
      return says(`answer to ${asked}`);
    });
    const trial = openTrial({ store: store(), model, world: outsideWorld() });
    const first = await trial.submit("a1");
    const sessionId = (await trial.store.findRun(first))?.sessionId ?? asSessionId("");
    const second = await trial.submit("a2", { sessionId });
    const third = await trial.submit("a3", { sessionId });
    await trial.ended(await trial.submit("b1"));
    expect(begun).toEqual(["a1", "b1"]);
    release();
    await Promise.all([first, second, third].map(trial.ended));
    expect(begun).toEqual(["a1", "b1", "a2", "a3"]);
    const sent = model.requests.at(-1)?.request.messages ?? [];
    const said = sent.flatMap(({ role, content }) => (role === "system" ? [] : [content]));
    // Accepted while the first was at work; the prompt was made when it began.
    expect(said).toEqual([...["a1", "a2"].flatMap((asked) => [asked, `answer to ${asked}`]), "a3"]);
    await trial.stop();
  });
});

describe("the queue", () => {
  verifies(
    ["O-5.5/full", "O-5.5/kept"],
    "refuses exactly what is beyond its limit, under a burst too; what it accepted ends",
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 0, max: 12 }), async (maxQueued, beyond) => {
          const { promise: released, resolve: release } = Promise.withResolvers<void>();
          const model = scriptedModel(async (request) => {
            if (askedFor(request) === "first") await released;
            return says("done");
          });
          const trial = openTrial({ store: store(), model, world: outsideWorld(), workers: 1, maxQueued });
          const first = await trial.submit("first");
          const burst = Array.from({ length: maxQueued + beyond }, () =>
            trial.submit("more").catch(({ message }: Error) => message),
          );
          const answers = await Promise.all(burst);
          const refused = answers.filter((answer) => answer.startsWith("queue.full"));
          expect(refused).toHaveLength(beyond);
          release();
          const accepted = answers.filter((answer) => answer.startsWith("run_")).map(asRunId);
          expect(accepted).toHaveLength(maxQueued);
          const runs = await Promise.all([first, ...accepted].map(trial.ended));
          expect(runs.every(({ outcome }) => outcome === "COMPLETED_CHAT_ONLY")).toBe(true);
          await trial.stop();
        }),
        { numRuns: 15 },
      );
    },
  );

  test("a repeated idempotency key finds its run, also when both requests come at once", async () => {
    const trial = openTrial({ store: store(), model: scriptedModel(() => says("done")), world: outsideWorld() });
    const ids = await Promise.all(Array.from({ length: 5 }, () => trial.submit("once", { idempotencyKey: "key" })));
    expect(new Set(ids).size).toBe(1);
    await trial.ended(ids[0] as RunId);
    expect(await trial.submit("once", { idempotencyKey: "key" })).toBe(ids[0]);
    await trial.stop();
  });

  test("an idempotency key belongs to one request: with another it is a conflict, also when both come at once", async () => {
    const trial = openTrial({ store: store(), model: scriptedModel(() => says("done")), world: outsideWorld() });
    const idempotencyKey = "a key of its own";
    const attempts = await Promise.allSettled(
      ["this", "that", "this"].map((message) => trial.submit(message, { idempotencyKey })),
    );
    expect(attempts.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    const otherwise = trial.submit("this", { idempotencyKey, contract: { maxInferences: 2 } });
    await expect(otherwise).rejects.toThrow("conflict: this idempotency key was used for another request");
    await trial.ended(await trial.submit("this", { idempotencyKey }));
    await trial.stop();
  });
});

/** Works until the commit of this number; from then on the medium is gone. */
function failingStore(whole: Store, failAt: number, onFailure: () => void): Store {
  let commits = 0;
  return {
    ...whole,
    commit: (writes, urgency) => {
      commits += 1;
      if (commits < failAt) return whole.commit(writes, urgency);
      if (commits === failAt) onFailure();
      return Promise.reject(new StoreError("store.unavailable", "the disk is gone"));
    },
  };
}

describe.each(PACES)("a store that fails, with tools that answer %s:", (pace) => {
  test("after any failed commit nothing more is performed or accepted; the next start goes on", async () => {
    const model = scriptedModel(byPlot);
    const wanted = { approvedTools: ["door.open", "note.put"] };
    let isThrough = false;
    for (let failAt = 1; !isThrough; failAt += 1) {
      const world = outsideWorld(pace);
      let performedBefore = 0;
      const { promise: failed, resolve: fail } = Promise.withResolvers<null>();
      const failing = failingStore(store(), failAt, () => {
        performedBefore = world.performed.length;
        fail(null);
      });
      const trial = openTrial({ store: failing, model, world });
      const submitted = await trial.submit("act", wanted).catch(({ message }: Error) => message);
      const runId = submitted.startsWith("run_") ? asRunId(submitted) : null;
      isThrough = runId !== null && (await Promise.race([failed, trial.ended(runId)])) !== null;
      if (!isThrough) {
        // Only what was refused tells the runtime; a turn of the loop later it knows.
        await expect(trial.submit("chat")).rejects.toThrow("store.unavailable");
        expect([trial.runtime.isAccepting, trial.runtime.isIntact]).toEqual([false, false]);
        expect(trial.storeFailures).toHaveLength(1);
        expect(world.performed.length).toBe(performedBefore);
      }
      await trial.stop();
      const next = openTrial({ store: store(), model, world });
      const { resumed } = await next.runtime.recover();
      expect(resumed).toBe(runId === null || isThrough ? 0 : 1);
      if (runId !== null) {
        const ended = next.ended(runId);
        const card = await Promise.race([next.nextCard(), ended.then(() => null)]);
        if (card !== null) {
          expect(card).toMatchObject({ kind: "resolve", tool: "door.open" });
          await next.runtime.approvals.decide({ ...card, decision: "done", principal: "tester" });
        }
        expect((await ended).outcome).toBe("COMPLETED_WITH_TOOLS");
        expect(world.effects("note.put")).toBe(1);
      }
      await next.stop();
    }
    await auditTrial(openTrial({ store: store(), model, world: outsideWorld() }));
  });
});
