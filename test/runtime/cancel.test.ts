/** Ending a run from outside: cancellation in every state, and deadlines on the monotonic clock. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { RunId, SessionId } from "../../src/kernel/vocabulary/identifiers.ts";
import type { CallContext } from "../../src/runtime/ports/toolbox.ts";
import { manualClock } from "../adapters/models/manual-clock.ts";
import { auditTrial } from "./trial/audit-trial.ts";
import { openTrial, storeOfFile, type Trial } from "./trial/open-trial.ts";
import { type OutsideWorld, outsideWorld, PACES } from "./trial/outside-world.ts";
import { askedFor, calls, inTurns, says, scriptedModel } from "./trial/scripted-model.ts";

const store = storeOfFile();
const APPROVED = { approvedTools: ["door.open", "note.put"] };
const call = (tool: string, thing = "x", id = "call_1") => ({ id, tool, args: { thing } });

/** A tool that reports when the test lets it. */
function heldTool(world: OutsideWorld) {
  const { promise: begun, resolve: begin } = Promise.withResolvers<CallContext>();
  const { promise: reported, resolve: report } = Promise.withResolvers<string>();
  world.conduct = (_tool, _args, context) => {
    begin(context);
    return reported;
  };
  return { begun, report };
}

/** A model that answers only when its signal aborts. */
function thinkingModel() {
  const { promise: asked, resolve: ask } = Promise.withResolvers<AbortSignal>();
  const model = scriptedModel((_request, signal) => {
    ask(signal);
    return new Promise(() => {});
  });
  return { model, asked };
}

async function observed(trial: Trial, runId: RunId) {
  const entries = await trial.entries(runId);
  return entries.flatMap((entry) => (entry.kind === "OBSERVE" ? [entry.result?.type] : []));
}

describe("cancelling", () => {
  test("a waiting run ends immediately, however often it is cancelled", async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const model = scriptedModel(async (request) => {
      if (askedFor(request) === "first") await released;
      return says("done");
    });
    const trial = openTrial({ store: store(), model, world: outsideWorld(), workers: 1 });
    const first = await trial.submit("first");
    const queued = await trial.submit("second");
    const statuses = await Promise.all(Array.from({ length: 4 }, () => trial.runtime.cancel(queued, "operator")));
    expect(statuses).toEqual(Array.from({ length: 4 }, () => "queued"));
    expect(await trial.ended(queued)).toMatchObject({ outcome: "INTERRUPTED", reason: "run.cancelled" });
    const kinds = (await trial.entries(queued)).map(({ kind }) => kind);
    expect(kinds).toEqual(["run.created", "COMMIT", "TERMINATE"]);
    expect((await trial.store.findRun(first))?.outcome).toBeNull();
    release();
    expect((await trial.ended(first)).outcome).toBe("COMPLETED_CHAT_ONLY");
    expect(model.requests.map(({ request }) => askedFor(request))).toEqual(["first"]);
    expect(await trial.runtime.cancel(queued, "operator")).toBe("cancelled");
    expect(await trial.runtime.cancel("run_none" as RunId, "operator")).toBeNull();
    await trial.stop();
    expect([trial.storeFailures, trial.defects]).toEqual([[], []]);
    await auditTrial(trial);
  });

  test("a queued run ends without waiting for its lane or a worker, and frees its place in the queue", async () => {
    const model = scriptedModel(() => says("done"));
    const trial = openTrial({ store: store(), model, world: outsideWorld(), workers: 0, maxQueued: 2 });
    const first = await trial.submit("first");
    const sessionId = (await trial.store.findRun(first))?.sessionId as SessionId;
    const second = await trial.submit("second", { sessionId });
    await expect(trial.submit("one too many")).rejects.toThrow("queue.full");
    await Promise.all([trial.runtime.cancel(second, "operator"), trial.runtime.cancel(second, "operator")]);
    expect(await trial.ended(second)).toMatchObject({ outcome: "INTERRUPTED", status: "cancelled" });
    const third = await trial.submit("in its place");
    await expect(trial.submit("again too many")).rejects.toThrow("queue.full");
    for (const runId of [first, third]) {
      await trial.runtime.cancel(runId, "operator");
      await trial.ended(runId);
    }
    await trial.stop();
    expect([model.requests, trial.storeFailures, trial.defects]).toEqual([[], [], []]);
  });

  test("a run that was queued and cancelled before a crash needs no worker at the next start", async () => {
    const model = scriptedModel(() => says("done"));
    const world = outsideWorld();
    const first = openTrial({ store: store(), model, world, workers: 0 });
    const queued = await first.submit("never begun");
    const waiting = await first.submit("still wanted");
    await store().commit([{ type: "request-cancel", runId: queued, by: "operator" }], "barrier");
    await first.stop();
    const next = openTrial({ store: store(), model, world, workers: 0, maxQueued: 2 });
    expect(await next.runtime.recover()).toEqual({ resumed: 2 });
    expect(await next.ended(queued)).toMatchObject({ outcome: "INTERRUPTED", reason: "run.cancelled" });
    expect((await next.store.findRun(waiting))?.status).toBe("queued");
    const later = await next.submit("in its place");
    for (const runId of [waiting, later]) {
      await next.runtime.cancel(runId, "operator");
      await next.ended(runId);
    }
    await next.stop();
    expect(model.requests).toEqual([]);
  });

  test("a run has one driver, even if it is cancelled while it is being opened", async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const model = scriptedModel(async (request) => {
      if (askedFor(request) === "busy") await released;
      return says("done");
    });
    const trial = openTrial({ store: store(), model, world: outsideWorld(), workers: 2 });
    const busy = await Promise.all([trial.submit("busy"), trial.submit("busy")]);
    const queued = await trial.submit("second");
    await trial.runtime.cancel(queued, "operator");
    await trial.runtime.cancel(queued, "operator");
    release();
    expect(await trial.ended(queued)).toMatchObject({ outcome: "INTERRUPTED" });
    await Promise.all(busy.map(trial.ended));
    await trial.stop();
    expect(trial.storeFailures).toEqual([]);
  });

  test("at any moment: each run ends once and frees its place", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: 12 }), { minLength: 1, maxLength: 8 }), async (delays) => {
        const model = scriptedModel(() => says("done"));
        const maxQueued = delays.length;
        const trial = openTrial({ store: store(), model, world: outsideWorld(), workers: 1, maxQueued });
        const runIds = await Promise.all(delays.map((delay) => trial.submit(`after ${delay}`)));
        const cancelled = runIds.map(async (runId, index) => {
          for (let turn = delays[index] ?? 0; turn > 0; turn -= 1)
            await new Promise((resolve) => setImmediate(resolve));
          await Promise.all([trial.runtime.cancel(runId, "operator"), trial.runtime.cancel(runId, "operator")]);
        });
        await Promise.all(cancelled);
        const runs = await Promise.all(runIds.map(trial.ended));
        for (const { outcome } of runs) expect(["INTERRUPTED", "COMPLETED_CHAT_ONLY"]).toContain(outcome);
        await Promise.all((await Promise.all(delays.map(() => trial.submit("as many again")))).map(trial.ended));
        await trial.stop();
        expect([trial.storeFailures, trial.defects]).toEqual([[], []]);
      }),
      { numRuns: 20 },
    );
  });

  test("a run that waits for its model aborts the request", async () => {
    const { model, asked } = thinkingModel();
    const trial = openTrial({ store: store(), model, world: outsideWorld() });
    const runId = await trial.submit("think");
    const signal = await asked;
    expect(await trial.runtime.cancel(runId, "operator")).toBe("running");
    expect(await trial.ended(runId)).toMatchObject({ outcome: "INTERRUPTED", cancelledBy: "operator" });
    expect(signal.aborted).toBe(true);
    await trial.stop();
  });

  test("requested before a crash is carried out by the next process", async () => {
    const { model, asked } = thinkingModel();
    const whole = store();
    const world = outsideWorld();
    const first = openTrial({ store: whole, model, world });
    const runId = await first.submit("think");
    await asked;
    await whole.commit([{ type: "request-cancel", runId, by: "operator" }], "barrier");
    await first.stop();
    const next = openTrial({ store: whole, model, world });
    await next.runtime.recover();
    expect(await next.ended(runId)).toMatchObject({ outcome: "INTERRUPTED", reason: "run.cancelled" });
    await next.stop();
  });
});

describe.each(PACES)("cancelling, with tools that answer %s,", (pace) => {
  test("with an effect in flight, its result is awaited and recorded", async () => {
    const clock = manualClock();
    const world = outsideWorld(pace);
    const { begun, report } = heldTool(world);
    const model = scriptedModel(inTurns(calls([call("door.open")])));
    const trial = openTrial({ store: store(), model, world, clock });
    const runId = await trial.submit("open", APPROVED);
    const { signal } = await begun;
    await trial.runtime.cancel(runId, "operator");
    expect(signal.aborted).toBe(true);
    report("opened after all");
    expect(await trial.ended(runId)).toMatchObject({ outcome: "INTERRUPTED", reason: "run.cancelled" });
    expect(await observed(trial, runId)).toEqual(["tool.finished"]);
    await trial.stop();
  });

  test("with an effect that never reports, the grace period passes and its outcome is recorded as unknown", async () => {
    const clock = manualClock();
    const world = outsideWorld(pace);
    const { begun } = heldTool(world);
    const trial = openTrial({
      store: store(),
      model: scriptedModel(inTurns(calls([call("door.open")]))),
      world,
      clock,
    });
    const runId = await trial.submit("open", APPROVED);
    const { signal } = await begun;
    const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => stop());
    await trial.runtime.cancel(runId, "operator");
    await stopped;
    clock.pass(1_000);
    expect((await trial.store.findRun(runId))?.outcome).toBeNull();
    clock.pass(2_000);
    expect((await trial.ended(runId)).outcome).toBe("INTERRUPTED");
    expect(await observed(trial, runId)).toEqual(["timer.fired"]);
    await trial.stop();
  });

  test("a read is not awaited", async () => {
    const world = outsideWorld(pace);
    const { begun } = heldTool(world);
    const trial = openTrial({ store: store(), model: scriptedModel(inTurns(calls([call("look.at")]))), world });
    const runId = await trial.submit("look");
    await begun;
    await trial.runtime.cancel(runId, "operator");
    expect((await trial.ended(runId)).outcome).toBe("INTERRUPTED");
    await trial.stop();
  });

  test("a parked run ends and withdraws its question", async () => {
    const world = outsideWorld(pace);
    const trial = openTrial({ store: store(), model: scriptedModel(inTurns(calls([call("door.open")]))), world });
    const runId = await trial.submit("open");
    const { id } = await trial.nextCard();
    await trial.runtime.cancel(runId, "operator");
    expect((await trial.ended(runId)).outcome).toBe("INTERRUPTED");
    await trial.stop();
    expect([trial.withdrawn, (await trial.store.findApproval(id))?.state]).toEqual([[id], "expired"]);
    expect(world.performed).toEqual([]);
  });
});

describe("deadlines", () => {
  test("a read that is late gives a failed result, and the run goes on", async () => {
    const clock = manualClock();
    const world = outsideWorld();
    const { begun } = heldTool(world);
    const trial = openTrial({ store: store(), model: scriptedModel(inTurns(calls([call("look.at")]))), world, clock });
    const runId = await trial.submit("look");
    const { signal } = await begun;
    clock.pass(30_001);
    expect((await trial.ended(runId)).outcome).toBe("COMPLETED_WITH_TOOLS");
    expect(signal.aborted).toBe(true);
    const record = await trial.assistant.run(runId);
    expect(record?.trace.tool_execution_results).toMatchObject([{ error: expect.stringMatching(/^timeout/) }]);
    expect(record?.duration_ms).toBe(30_001);
    await trial.stop();
  });

  test("a step that takes too long ends the run, and so does the total", async () => {
    for (const [contract, passMs, reason] of [
      [{ stepTimeoutMs: 5_000 }, 5_001, "step.timeout"],
      [{ stepTimeoutMs: 60_000, totalTimeoutMs: 8_000 }, 8_001, "run.timeout"],
    ] as const) {
      const clock = manualClock();
      const { model, asked } = thinkingModel();
      const trial = openTrial({ store: store(), model, world: outsideWorld(), clock });
      const runId = await trial.submit("think", { contract });
      const signal = await asked;
      clock.pass(passMs - 2);
      expect(signal.aborted).toBe(false);
      clock.pass(2);
      expect(await trial.ended(runId)).toMatchObject({ outcome: "FAILED_TIMEOUT", reason });
      expect(signal.aborted).toBe(true);
      await trial.stop();
    }
  });

  test("time spent parked or switched off counts for no deadline", async () => {
    const clock = manualClock();
    const world = outsideWorld();
    const model = scriptedModel(inTurns(calls([call("door.open")])));
    const contract = { stepTimeoutMs: 5_000, totalTimeoutMs: 8_000 };
    const first = openTrial({ store: store(), model, world, clock });
    const runId = await first.submit("open", { contract });
    await first.nextCard();
    clock.pass(100_000);
    await first.stop();
    const next = openTrial({ store: store(), model, world, clock });
    await next.runtime.recover();
    const card = await next.nextCard();
    clock.pass(100_000);
    await next.runtime.approvals.decide({ ...card, decision: "allow", principal: "operator" });
    expect((await next.ended(runId)).outcome).toBe("COMPLETED_WITH_TOOLS");
    expect((await next.assistant.run(runId))?.duration_ms).toBeLessThan(1_000);
    await next.stop();
  });
});
