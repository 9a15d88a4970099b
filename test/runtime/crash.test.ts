/** The process dies at any commit, and the next one recovers. */
import { describe, expect, test } from "vitest";
import { hashBytes } from "../../src/kernel/vocabulary/hash.ts";
import type { RunId } from "../../src/kernel/vocabulary/identifiers.ts";
import type { ApprovalCard } from "../../src/runtime/ports/approver.ts";
import type { Store } from "../../src/runtime/ports/store.ts";
import { temporaryHome } from "../adapters/store-sqlite/temporary-home.ts";
import { verifies } from "../requirements.ts";
import { auditTrial } from "./trial/audit-trial.ts";
import { type Death, mortalStore } from "./trial/mortal-store.ts";
import { openTrial, storeOfFile, type Trial } from "./trial/open-trial.ts";
import { type OutsideWorld, outsideWorld, PACES, type Pace } from "./trial/outside-world.ts";
import { askedFor, babbles, calls, inTurns, isRepair, says, scriptedModel } from "./trial/scripted-model.ts";

const store = storeOfFile();

const call = (tool: string, thing: string) => calls([{ id: `call_${tool.slice(0, 4)}`, tool, args: { thing } }]);

/** Reads, a keyed write, an effect that must be approved, an unreadable answer, a delegated run. */
const parent = inTurns(
  calls([
    { id: "call_1", tool: "look.at", args: { thing: "a" } },
    { id: "call_2", tool: "look.at", args: { thing: "b" } },
  ]),
  call("note.put", "n"),
  call("door.open", "d"),
  (request) => (isRepair(request) ? call("agent.delegate", "child") : babbles()),
  says("all done"),
);
const child = inTurns(call("look.at", "c"), says("child done"));
const model = scriptedModel((request, signal) => (askedFor(request) === "child" ? child : parent)(request, signal));
const WANTED = { approvedTools: ["note.put"] };

/** An operator who answers every question truthfully; returns the questions. */
function operator(trial: Trial, world: OutsideWorld): readonly ApprovalCard[] {
  const asked: ApprovalCard[] = [];
  const answer = async (): Promise<void> => {
    const card = await trial.nextCard();
    asked.push(card);
    const truth = world.effects("door.open") > 0 ? "done" : "retry";
    const decision = card.kind === "approve" ? "allow" : truth;
    await trial.runtime.approvals.decide({ ...card, decision, principal: "operator" });
    await answer();
  };
  answer();
  return asked;
}

interface Aftermath {
  readonly run: RunId | null;
  readonly world: OutsideWorld;
  readonly asked: readonly ApprovalCard[];
  readonly hasDied: boolean;
}

let lives = 0;

/** One life that dies, and another that goes on. */
async function liveTwice(
  pace: Pace,
  death: Death,
  firstStore: Store,
  reopen: () => Promise<Store>,
): Promise<Aftermath> {
  const world = outsideWorld(pace);
  lives += 1;
  const idempotencyKey = `life ${lives}`;
  const mortal = mortalStore(firstStore, death);
  const first = openTrial({ store: mortal, model, world });
  const askedBefore = operator(first, world);
  const survived = first
    .submit("parent", { ...WANTED, idempotencyKey })
    .then(first.ended)
    .then(() => false);
  const hasDied = await Promise.race([mortal.died.then(() => true), survived]);
  const reopened = await reopen();
  const second = openTrial({ store: reopened, model, world });
  const askedAfter = operator(second, world);
  const run = (await reopened.findRunByKey(hashBytes(idempotencyKey)))?.run.runId ?? null;
  await second.runtime.recover();
  if (run !== null) {
    expect((await second.ended(run)).outcome).toBe("COMPLETED_WITH_TOOLS");
    expect(await second.assistant.run(run)).toMatchObject({ output: "all done", tool_calls: 5 });
  }
  expect([...first.defects, ...second.defects]).toEqual([]);
  await second.stop();
  return { run, world, asked: [...askedBefore, ...askedAfter], hasDied };
}

function judge({ world, asked }: Aftermath): void {
  const begun = (tool: string) => world.performed.filter((performance) => performance.tool === tool);
  // Opaque: never twice, and begun again only where a person said that it had not happened.
  expect(world.effects("door.open")).toBe(1);
  expect(begun("door.open").length).toBe(1);
  expect(asked.filter(({ kind }) => kind === "resolve").length).toBeLessThanOrEqual(1);
  // Keyed: perhaps again, always with the same key.
  expect(world.effects("note.put")).toBe(1);
  expect(new Set(begun("note.put").map(({ key }) => key)).size).toBe(1);
  expect(begun("note.put")[0]?.key).not.toBeNull();
  // Reading may be repeated, and is not left out.
  expect(new Set(begun("look.at").map(({ args }) => args["thing"]))).toEqual(new Set(["a", "b", "c"]));
}

describe.each(PACES)("a crash, with tools that answer %s,", (pace) => {
  for (const lastOneLands of [false, true]) {
    const loss = lastOneLands ? "reached the disk unacknowledged" : "was lost";
    verifies(
      ["X-2/resume", "X-2/repeats"],
      `at any commit that ${loss}: the run ends as without it, no opaque effect twice`,
      async () => {
        const resolutions: number[] = [];
        for (let after = 0; ; after += 1) {
          const aftermath = await liveTwice(pace, { after, lastOneLands }, store(), () => Promise.resolve(store()));
          if (aftermath.run !== null) judge(aftermath);
          if (aftermath.asked.some(({ kind }) => kind === "resolve")) resolutions.push(after);
          if (!aftermath.hasDied) {
            expect(after).toBeGreaterThan(15);
            break;
          }
          // What was never acknowledged may be lost, and nothing else.
          if (after > 0) expect(aftermath.run).not.toBeNull();
        }
        // Between intent and result lies one commit or more, and there the gap is asked about.
        expect(resolutions.length).toBeGreaterThan(0);
        await auditTrial(openTrial({ store: store(), model, world: outsideWorld() }));
      },
    );
  }
});

describe("a crash", () => {
  test("at two commits, with a store that was closed and opened again", async () => {
    for (const after of [4, 9]) {
      const home = temporaryHome();
      const first = await home.open();
      const reopen = async (): Promise<Store> => {
        await first.close();
        return home.open();
      };
      const aftermath = await liveTwice("later", { after, lastOneLands: true }, first, reopen);
      expect(aftermath.run).not.toBeNull();
      judge(aftermath);
      await home.dispose();
    }
  });
});
