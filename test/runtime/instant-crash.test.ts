/**
 * A process that dies at any commit while its tools answer at once. A run that only reads does not wait for the disk, so
 * what it looked at last may be unknown to the next process, which then looks again. What it did is never done again.
 */
import { expect } from "vitest";
import { hashBytes } from "../../src/kernel/vocabulary/hash.ts";
import { verifies } from "../requirements.ts";
import { type Death, mortalStore } from "./trial/mortal-store.ts";
import { openTrial, storeOfFile, type Trial } from "./trial/open-trial.ts";
import { type OutsideWorld, outsideWorld } from "./trial/outside-world.ts";
import { calls, inTurns, scriptedModel } from "./trial/scripted-model.ts";
import { settle } from "./trial/settle.ts";

const store = storeOfFile();
const call = (id: string, tool: string) => ({ id, tool, args: { thing: id } });
const look = (id: string) => calls([call(id, "look.at")]);

/** Reads alone and in company, before, between and after what must not be done twice. */
const script = inTurns(
  ...["a", "b", "c", "d", "e"].map(look),
  calls([call("door_one", "door.open"), call("f", "look.at")]),
  ...["g", "h", "i", "j", "k", "l"].map(look),
  calls([call("m", "look.at"), call("note", "note.put"), call("door_two", "door.open")]),
  look("n"),
);
const model = scriptedModel(script);
const WANTED = { approvedTools: ["door.open", "note.put"], contract: { maxInferences: 20 } };
const EFFECTS = ["door_one", "note", "door_two"];
const READS = [..."abcdefghijklmn"];

/** Answers what became of an opaque effect, like an operator who checked. */
async function answerTruly(trial: Trial, world: OutsideWorld): Promise<never> {
  for (;;) {
    const card = await trial.nextCard();
    expect(card).toMatchObject({ kind: "resolve", tool: "door.open" });
    const hasHappened = world.performed.some(({ args }) => card.shown.includes(`"${args["thing"]}"`));
    const decision = hasHappened ? "done" : "retry";
    await trial.runtime.approvals.decide({ ...card, decision, principal: "operator" });
  }
}

const readsIn = (performed: OutsideWorld["performed"]) =>
  performed.filter(({ tool }) => tool === "look.at").map(({ args }) => String(args["thing"]));

interface Lives {
  readonly hasDied: boolean;
  /** Read before the crash, and not known of after it. */
  readonly missing: readonly string[];
  /** Read before the crash and after it. */
  readonly repeated: readonly string[];
}

async function liveTwice(death: Death): Promise<Lives | null> {
  const world = outsideWorld("at once");
  const idempotencyKey = `death ${death.after} ${death.lastOneLands}`;
  const mortal = mortalStore(store(), death);
  const first = openTrial({ store: mortal, model, world });
  const survived = first
    .submit("go", { ...WANTED, idempotencyKey })
    .then(first.ended)
    .then(() => false);
  const hasDied = await Promise.race([mortal.died.then(() => true), survived]);
  // Without the disk it goes on as far as it dares; and what was given to the disk before is on it.
  await settle();
  await store().commit([], "barrier");
  const before = readsIn(world.performed);
  const begunBefore = world.performed.length;
  const run = (await store().findRunByKey(hashBytes(idempotencyKey)))?.run ?? null;
  if (run === null) return null;
  const next = openTrial({ store: store(), model, world });
  const entries = await next.entries(run.runId);
  const known = new Set(entries.flatMap((entry) => (entry.kind === "EXECUTE" ? [entry.decided.callId as string] : [])));
  answerTruly(next, world);
  await next.runtime.recover();
  expect((await next.ended(run.runId)).outcome).toBe("COMPLETED_WITH_TOOLS");
  expect([...first.defects, ...next.defects]).toEqual([]);
  await next.stop();
  judge(world);
  const after = readsIn(world.performed.slice(begunBefore));
  return {
    hasDied,
    missing: before.filter((thing) => !known.has(thing)),
    repeated: before.filter((thing) => after.includes(thing)),
  };
}

function judge(world: OutsideWorld): void {
  expect([world.effects("door.open"), world.effects("note.put")]).toEqual([2, 1]);
  const doors = world.performed.filter(({ tool }) => tool === "door.open").map(({ args }) => args["thing"]);
  expect(doors).toEqual(["door_one", "door_two"]);
  const firstTimes = [...new Set(world.performed.map(({ args }) => String(args["thing"])))];
  expect(firstTimes.filter((thing) => EFFECTS.includes(thing))).toEqual(EFFECTS);
  expect(firstTimes.filter((thing) => READS.includes(thing))).toEqual(READS);
}

for (const lastOneLands of [false, true]) {
  const loss = lastOneLands ? "reached the disk unacknowledged" : "was lost";
  verifies("X-2", `at any commit that ${loss}: no effect twice, four steps of reading missing at most`, async () => {
    const lives: Lives[] = [];
    for (let after = 0; lives.at(-1)?.hasDied !== false; after += 1) {
      const lived = await liveTwice({ after, lastOneLands });
      if (lived === null) expect(after).toBe(0);
      else lives.push(lived);
    }
    expect(lives.length).toBeGreaterThan(30);
    expect(Math.max(...lives.map(({ missing }) => missing.length))).toBe(4);
    // What is missing is read again, and so is what is known to have been begun without a result: that is one at most.
    for (const { missing, repeated } of lives) {
      expect(repeated.filter((thing) => !missing.includes(thing)).length).toBeLessThanOrEqual(1);
      expect(repeated).toEqual(expect.arrayContaining([...missing]));
    }
  });
}
