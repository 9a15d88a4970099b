/** A run waits for the disk before it acts, and when it is too many reads ahead; not before each read. */
import { describe, expect, test } from "vitest";
import type { Store } from "../../src/runtime/ports/store.ts";
import { verifies } from "../requirements.ts";
import { openTrial, storeOfFile } from "./trial/open-trial.ts";
import { outsideWorld, PACES } from "./trial/outside-world.ts";
import { calls, inTurns, says, scriptedModel } from "./trial/scripted-model.ts";
import { settle } from "./trial/settle.ts";

const store = storeOfFile();

/** A store that holds intents until the test releases them. */
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

/** How many reads are dispatched together. */
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

  verifies("X-2/intent", "nothing acts before its intent, and everything read before it, is durable", async () => {
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

  test("a batch of reads is at most four groups ahead", async () => {
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
