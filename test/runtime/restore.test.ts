/** A backup is taken at any commit, the runs go on to their ends, and then the backup is restored. */
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { restoreBackup } from "../../src/adapters/store-sqlite/backup.ts";
import type { ApprovalCard } from "../../src/runtime/ports/approver.ts";
import type { Store } from "../../src/runtime/ports/store.ts";
import { type TemporaryHome, temporaryHome } from "../adapters/store-sqlite/temporary-home.ts";
import { verifies } from "../requirements.ts";
import { auditTrial } from "./trial/audit-trial.ts";
import { openTrial, type Trial } from "./trial/open-trial.ts";
import { outsideWorld } from "./trial/outside-world.ts";
import { askedFor, calls, inTurns, says, scriptedModel } from "./trial/scripted-model.ts";

const RESTORE = { id: "restore_1", ts: "2026-01-02T03:04:05.000Z" };
const call = (tool: string, thing: string) => calls([{ id: `call_${tool.slice(0, 4)}`, tool, args: { thing } }]);
const parent = inTurns(call("door.open", "front"), call("agent.delegate", "child"), says("all done"));
const child = inTurns(call("door.open", "back"), says("child done"));

function model() {
  let asked = 0;
  const answers = scriptedModel((request, signal) => {
    asked += 1;
    return (askedFor(request) === "child" ? child : parent)(request, signal);
  });
  return { answers, asked: () => asked };
}

function allowAll(trial: Trial): void {
  trial.nextCard().then(async (card) => {
    await trial.runtime.approvals.decide({ ...card, decision: "allow", principal: "operator" });
    allowAll(trial);
  });
}

/** A run to its end; a backup is made when `after` commits are durable. False when there were not as many. */
async function liveOnce(home: TemporaryHome, world: ReturnType<typeof outsideWorld>, after: number): Promise<boolean> {
  const store = await home.open();
  let commits = 0;
  let backup: Promise<void> | null = null;
  const counting: Store = {
    ...store,
    commit: async (writes, urgency) => {
      const result = await store.commit(writes, urgency);
      commits += 1;
      if (commits === after) backup = store.backup(fileOf(home));
      await backup;
      return result;
    },
  };
  const trial = openTrial({ store: counting, model: model().answers, world });
  allowAll(trial);
  const run = await trial.submit("parent");
  expect((await trial.ended(run)).outcome).toBe("COMPLETED_WITH_TOOLS");
  await trial.stop();
  await store.close();
  return backup !== null;
}

const fileOf = ({ home }: TemporaryHome): string => join(home, "..", "backup.db");

async function cardsOf(trial: Trial, count: number): Promise<readonly ApprovalCard[]> {
  const cards: ApprovalCard[] = [];
  while (cards.length < count) cards.push(await trial.nextCard());
  return cards;
}

describe("a restored backup", () => {
  verifies(["X-2/resume", "X-2/repeats"], "of any moment repeats nothing by itself: every open run asks", async () => {
    let open = 0;
    for (let after = 1; ; after += 1) {
      const home = temporaryHome();
      const world = outsideWorld();
      const isTaken = await liveOnce(home, world, after);
      if (!isTaken) {
        await home.dispose();
        break;
      }
      const begun = world.performed.length;
      restoreBackup(fileOf(home), home.home, RESTORE);
      const store = await home.open();
      const scripted = model();
      const trial = openTrial({ store, model: scripted.answers, world });
      const waiting = await store.openRuns(0, 10);
      open += waiting.length;
      await trial.runtime.recover();
      const cards = await cardsOf(trial, waiting.length);
      expect(cards.map(({ kind, runId }) => [kind, runId]).toSorted()).toEqual(
        waiting.map(({ runId }) => ["resolve", runId]).toSorted(),
      );
      const pending = await trial.runtime.approvals.pending({ limit: 10, offset: 0 });
      expect(pending.map(({ id }) => id).toSorted()).toEqual(cards.map(({ id }) => id).toSorted());
      for (const { runId } of waiting) expect((await store.findRun(runId))?.status).toBe("waiting_approval");
      expect([scripted.asked(), world.performed.length, world.effects("door.open")]).toEqual([0, begun, 2]);
      for (const card of cards) {
        await trial.runtime.approvals.decide({ ...card, decision: "done", principal: "operator" });
      }
      for (const { runId } of waiting) {
        expect(await trial.ended(runId)).toMatchObject({
          outcome: "INTERRUPTED",
          // The end of its parent cancels a child.
          reason: expect.stringMatching(/^run\.(restored|cancelled)$/),
        });
      }
      expect([scripted.asked(), world.performed.length, trial.defects]).toEqual([0, begun, []]);
      await auditTrial(trial);
      await trial.stop();
      await home.dispose();
    }
    expect(open).toBeGreaterThan(10);
  });

  test("whose runs may go on continues each of them from where it was, also after another restart", async () => {
    for (const after of [1, 4, 7]) {
      const home = temporaryHome();
      const world = outsideWorld();
      await liveOnce(home, world, after);
      restoreBackup(fileOf(home), home.home, RESTORE);
      // The first start dies with the question unanswered; the second asks the same question, once.
      const first = await home.open();
      const [run] = await first.openRuns(0, 1);
      const dying = openTrial({ store: first, model: model().answers, world });
      const count = (await first.openRuns(0, 10)).length;
      await dying.runtime.recover();
      const before = await cardsOf(dying, count);
      await dying.stop();
      await first.close();
      const store = await home.open();
      const trial = openTrial({ store, model: model().answers, world });
      await trial.runtime.recover();
      const cards = await cardsOf(trial, count);
      expect(cards.map(({ id }) => id).toSorted()).toEqual(before.map(({ id }) => id).toSorted());
      for (const card of cards) {
        await trial.runtime.approvals.decide({ ...card, decision: "retry", principal: "operator" });
      }
      const answerAll = (): void => {
        trial.nextCard().then(async (card) => {
          const decision = card.kind === "approve" ? "allow" : "done";
          await trial.runtime.approvals.decide({ ...card, decision, principal: "operator" });
          answerAll();
        });
      };
      answerAll();
      if (run !== undefined) expect((await trial.ended(run.runId)).outcome).toBe("COMPLETED_WITH_TOOLS");
      expect(trial.defects).toEqual([]);
      await auditTrial(trial);
      await trial.stop();
      await home.dispose();
    }
  });
});
