/** What a run waits for: the disk before it acts, and before it reads once more than it may be ahead; not before it reads. */
import { describe, expect, test } from "vitest";
import { type Store, StoreError } from "../../src/runtime/ports/store.ts";
import { verifies } from "../requirements.ts";
import { openTrial, storeOfFile } from "./trial/open-trial.ts";
import { outsideWorld, PACES } from "./trial/outside-world.ts";
import { calls, inTurns, says, scriptedModel } from "./trial/scripted-model.ts";
import { settle } from "./trial/settle.ts";

const store = storeOfFile();

/** A disk that syncs intents when it is told to. */
function slowStore(whole: Store): { readonly slow: Store; readonly held: (() => void)[] } {
  const held: (() => void)[] = [];
  const isIntent = (line: string): boolean => line.includes('"kind":"EXECUTE"');
  let earlier: Promise<unknown> = Promise.resolve();
  const slow: Store = {
    ...whole,
    // In the order in which they were given, as the port says.
    commit: (writes, urgency) => {
      const holds = writes.some((write) => write.type === "append-entries" && write.lines.some(isIntent));
      const released = holds ? new Promise<void>((resolve) => held.push(resolve)) : null;
      const committed = earlier.then(() => released).then(() => whole.commit(writes, urgency));
      earlier = committed.catch(() => {});
      return committed;
    },
  };
  return { slow, held };
}

const call = (id: string, tool: string) => calls([{ id, tool, args: { thing: id } }]);

/** So many reads are dispatched together. */
const GROUP = 8;

describe.each(PACES)("with tools that answer %s,", (pace) => {
  test("a run that only reads goes on while its intent is written, and is never more than four steps ahead", async () => {
    const { slow, held } = slowStore(store());
    const world = outsideWorld(pace);
    const looks = ["one", "two", "three", "four", "five"].map((id) => call(id, "look.at"));
    const model = scriptedModel(inTurns(...looks, says("seen")));
    const trial = openTrial({ store: slow, model, world });
    const runId = await trial.submit("look five times");
    await expect.poll(() => held.length).toBe(5);
    await settle();
    expect(world.performed).toHaveLength(4);
    for (const release of held.splice(0)) release();
    expect((await trial.ended(runId)).outcome).toBe("COMPLETED_WITH_TOOLS");
    expect(world.performed).toHaveLength(5);
    await trial.stop();
  });

  verifies("X-2", "nothing acts before its intent is durable, and all that was read before it", async () => {
    const { slow, held } = slowStore(store());
    const world = outsideWorld(pace);
    const model = scriptedModel(inTurns(call("one", "look.at"), call("two", "door.open"), says("done")));
    const trial = openTrial({ store: slow, model, world });
    const runId = await trial.submit("look, then open", { approvedTools: ["door.open"] });
    await expect.poll(() => held.length).toBe(2);
    await settle();
    expect(world.performed.map(({ tool }) => tool)).toEqual(["look.at"]);
    for (const release of held.splice(0)) release();
    expect((await trial.ended(runId)).outcome).toBe("COMPLETED_WITH_TOOLS");
    expect(world.effects("door.open")).toBe(1);
    await trial.stop();
  });

  test("a batch of reads is no further ahead than four groups of them", async () => {
    const { slow, held } = slowStore(store());
    const world = outsideWorld(pace);
    const things = Array.from({ length: 6 * GROUP }, (_, index) => `thing_${index}`);
    const batch = calls(things.map((thing) => ({ id: thing, tool: "look.at", args: { thing } })));
    const trial = openTrial({ store: slow, model: scriptedModel(inTurns(batch, says("seen"))), world });
    const runId = await trial.submit("look at all of it");
    await expect.poll(() => held.length).toBe(5);
    await settle();
    expect(world.performed).toHaveLength(4 * GROUP);
    held.shift()?.();
    await expect.poll(() => held.length).toBe(5);
    await settle();
    expect(world.performed).toHaveLength(5 * GROUP);
    for (const release of held.splice(0)) release();
    expect((await trial.ended(runId)).outcome).toBe("COMPLETED_WITH_TOOLS");
    expect(world.performed.map(({ args }) => args["thing"])).toEqual(things);
    await trial.stop();
  });
});

/** A disk that takes its time for runs that are new, and may refuse them. */
function holdingAcceptance(whole: Store): { readonly slow: Store; decide(isAccepted: boolean): void } {
  const { promise: isAccepted, resolve: decide } = Promise.withResolvers<boolean>();
  const slow: Store = {
    ...whole,
    commit: async (writes, urgency) => {
      const isNew = writes.some(({ type }) => type === "insert-run");
      if (isNew && !(await isAccepted)) throw new StoreError("store.conflict", "refused");
      return await whole.commit(writes, urgency);
    },
  };
  return { slow, decide };
}

describe("before a run is known to be durable", () => {
  test("its model is asked nothing, and afterwards it goes its way", async () => {
    const { slow, decide } = holdingAcceptance(store());
    const model = scriptedModel(inTurns(says("hello")));
    const trial = openTrial({ store: slow, model, world: outsideWorld("at once") });
    const submitted = trial.submit("greet");
    await settle();
    expect(model.requests).toEqual([]);
    decide(true);
    expect((await trial.ended(await submitted)).outcome).toBe("COMPLETED_CHAT_ONLY");
    expect(model.requests).toHaveLength(1);
    await trial.stop();
  });

  verifies("X-2", "where it is refused nobody is asked, nothing is written, and the next run is taken", async () => {
    const whole = store();
    const { slow, decide } = holdingAcceptance(whole);
    const model = scriptedModel(inTurns(says("hello")));
    const trial = openTrial({ store: slow, model, world: outsideWorld("at once") });
    const refused = expect(trial.submit("greet")).rejects.toThrow("conflict");
    await settle();
    decide(false);
    await refused;
    await settle();
    expect(model.requests).toEqual([]);
    expect(trial.defects).toEqual([]);
    expect(await whole.openRuns(0, 10)).toEqual([]);
    await trial.stop();
    const next = openTrial({ store: whole, model, world: outsideWorld("at once") });
    expect((await next.ended(await next.submit("greet"))).outcome).toBe("COMPLETED_CHAT_ONLY");
    await next.stop();
  });
});
