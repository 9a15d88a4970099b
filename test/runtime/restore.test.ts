/** A backup is taken at any commit, the runs go on to their ends, and then the backup is restored. */
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { restoreBackup } from "../../src/adapters/store-sqlite/backup.ts";
import type { ApprovalCard } from "../../src/runtime/ports/approver.ts";
import type { Store } from "../../src/runtime/ports/store.ts";
import { type TemporaryHome, temporaryHome } from "../adapters/store-sqlite/temporary-home.ts";
import { verifies } from "../requirements.ts";
import { auditTrial } from "./trial/audit-trial.ts";
import { openTrial, type Trial } from "./trial/open-trial.ts";
import { type OutsideWorld, outsideWorld } from "./trial/outside-world.ts";
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
    const decision = card.kind === "approve" ? "allow" : "done";
    await trial.runtime.approvals.decide({ ...card, decision, principal: "operator" });
    allowAll(trial);
  });
}

/** A run to its end, and the backups that were made of its home, one after each commit. */
async function liveOnce(home: TemporaryHome, world: OutsideWorld): Promise<readonly string[]> {
  const store = await home.open();
  const backups: Promise<string>[] = [];
  const backUp = async (file: string): Promise<string> => {
    await store.backup(file);
    return file;
  };
  const backedUp: Store = {
    ...store,
    commit: async (writes, urgency) => {
      const result = await store.commit(writes, urgency);
      const backup = backUp(join(home.home, "..", `backup-${backups.length}.db`));
      backups.push(backup);
      await backup;
      return result;
    },
  };
  const trial = openTrial({ store: backedUp, model: model().answers, world });
  allowAll(trial);
  const run = await trial.submit("parent");
  expect((await trial.ended(run)).outcome).toBe("COMPLETED_WITH_TOOLS");
  await trial.stop();
  const files = await Promise.all(backups);
  await store.close();
  return files;
}

async function cardsOf(trial: Trial, count: number): Promise<readonly ApprovalCard[]> {
  const cards: ApprovalCard[] = [];
  while (cards.length < count) cards.push(await trial.nextCard());
  return cards;
}

describe("a restored backup", () => {
  let home: TemporaryHome;
  beforeEach(() => {
    home = temporaryHome();
  });
  afterEach(() => home.dispose());

  verifies(["X-2/resume", "X-2/repeats"], "of any moment repeats nothing by itself: every open run asks", async () => {
    const world = outsideWorld();
    let open = 0;
    const files = await liveOnce(home, world);
    for (const file of files.filter((_, index) => index % 2 === 0)) {
      const begun = world.performed.length;
      restoreBackup(file, home.home, RESTORE);
      const store = await home.open();
      const scripted = model();
      const trial = openTrial({ store, model: scripted.answers, world });
      const waiting = await store.openRuns(0, 10);
      open += waiting.length;
      await trial.runtime.recover();
      const cards = await cardsOf(trial, waiting.length);
      expect(cards.map(({ kind, runId }) => `${kind} ${runId}`).toSorted()).toEqual(
        waiting.map(({ runId }) => `resolve ${runId}`).toSorted(),
      );
      const pending = await trial.runtime.approvals.pending({ limit: 10, offset: 0 });
      expect(pending.map(({ id }) => id).toSorted()).toEqual(cards.map(({ id }) => id).toSorted());
      for (const { runId } of waiting) expect((await store.findRun(runId))?.status).toBe("waiting_approval");
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
      expect([scripted.asked(), world.performed.length, world.effects("door.open")]).toEqual([0, begun, 2]);
      expect(trial.defects).toEqual([]);
      await auditTrial(trial);
      await trial.stop();
      await store.close();
    }
    expect(open).toBeGreaterThan(5);
  });

  test("whose runs may go on continues them from where they were, and asks the same after another restart", async () => {
    const world = outsideWorld();
    const files = await liveOnce(home, world);
    for (const file of [files[0], files[Math.floor(files.length / 2)]]) {
      restoreBackup(file ?? "", home.home, RESTORE);
      const first = await home.open();
      const waiting = await first.openRuns(0, 10);
      const stopped = openTrial({ store: first, model: model().answers, world });
      await stopped.runtime.recover();
      const before = await cardsOf(stopped, waiting.length);
      await stopped.stop();
      await first.close();
      const store = await home.open();
      const trial = openTrial({ store, model: model().answers, world });
      await trial.runtime.recover();
      const cards = await cardsOf(trial, waiting.length);
      expect(cards.map(({ id }) => id).toSorted()).toEqual(before.map(({ id }) => id).toSorted());
      for (const card of cards) {
        await trial.runtime.approvals.decide({ ...card, decision: "retry", principal: "operator" });
      }
      allowAll(trial);
      for (const { runId } of waiting) {
        expect((await trial.ended(runId)).outcome).toBe("COMPLETED_WITH_TOOLS");
      }
      expect(trial.defects).toEqual([]);
      await auditTrial(trial);
      await trial.stop();
      await store.close();
    }
  });
});
