/** What lists show of runs: the record without its trace, at the price of a row. */
import { describe, expect, test } from "vitest";
import { auditHome, type JournalFacts } from "../../../src/kernel/journal/audit-home.ts";
import { genesisHash } from "../../../src/kernel/journal/chain.ts";
import { hashBytes } from "../../../src/kernel/vocabulary/hash.ts";
import type { RunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import type { Store } from "../../../src/runtime/ports/store.ts";
import { temporaryHome } from "../../adapters/store-sqlite/temporary-home.ts";
import { TRUSTED } from "../../kernel/journal/toy-key.ts";
import { verifies } from "../../requirements.ts";
import { openTrial, storeOfFile, type Trial } from "../../runtime/trial/open-trial.ts";
import { type OutsideWorld, outsideWorld } from "../../runtime/trial/outside-world.ts";
import { askedFor, calls, inTurns, says, scriptedModel } from "../../runtime/trial/scripted-model.ts";

const store = storeOfFile();
const call = (tool: string, thing: string) => calls([{ id: `call_${thing}`, tool, args: { thing } }]);
const model = scriptedModel((request, signal) => {
  switch (askedFor(request)) {
    case "look":
      return inTurns(call("look.at", "a"), call("look.at", "b"), says("seen"))(request, signal);
    case "door":
      return call("door.open", "front");
    case "fail":
      return call("note.put", String(request.messages.length));
    default:
      return says("hello");
  }
});

/** Notes cannot be put here, whatever one tries. */
function worldWithoutPaper(): OutsideWorld {
  const world = outsideWorld();
  const { run } = world.toolbox;
  const error = { code: "internal.error", message: "there is no paper", retryable: false, details: {} };
  return {
    ...world,
    toolbox: {
      ...world.toolbox,
      run: async (planned, context) => {
        const envelope = (await run(planned, context)) as object;
        return planned.tool === "note.put" ? { ...envelope, ok: false, output: null, error } : envelope;
      },
    },
  };
}

/** Which journals are read, and how much of them at a time. */
function watchReads(whole: Store) {
  const reads: { runId: RunId; limit: number }[] = [];
  const watched: Store = {
    ...whole,
    readEntries: (runId, after, limit) => {
      reads.push({ runId, limit });
      return whole.readEntries(runId, after, limit);
    },
  };
  return { watched, reads };
}

/** Leaves a line in the journal that is no entry. */
async function spoil({ store }: Trial, runId: RunId): Promise<void> {
  const run = await store.findRun(runId);
  const after = await store.headOf(runId);
  if (run === null || after === null) throw new Error("nothing to spoil");
  const hash = hashBytes("spoilt");
  const lines = [JSON.stringify({ hash, seq: after.seq + 1 })];
  await store.commit(
    [{ type: "append-entries", runId, epoch: run.epoch, after, lines, head: hash, bodies: [] }],
    "barrier",
  );
}

describe("a list of runs", () => {
  verifies(
    ["O-2.3/delivered", "O-5.3"],
    "shows each as its record does, without trace and receipt, and reads no journal that has ended",
    async () => {
      const { watched, reads } = watchReads(store());
      const trial = openTrial({ store: watched, model, world: worldWithoutPaper() });
      const { submit, ended, assistant } = trial;
      const chat = await submit("chat");
      const look = await submit("look");
      const failing = await submit("fail", { approvedTools: ["note.put"] });
      const cancelled = await submit("door");
      await trial.nextCard();
      await trial.runtime.cancel(cancelled, "operator");
      const outcomes = (await Promise.all([chat, look, failing, cancelled].map(ended))).map(({ reason, outcome }) =>
        [outcome, reason].join(" "),
      );
      expect(outcomes).toEqual([
        "COMPLETED_CHAT_ONLY ",
        "COMPLETED_WITH_TOOLS ",
        "FAILED_BUDGET_EXHAUSTED tool_failure_escalation",
        "INTERRUPTED run.cancelled",
      ]);
      const waiting = await submit("door");
      await trial.nextCard();
      reads.length = 0;
      const { runs, total } = await assistant.runs({ limit: 50, offset: 0 });
      expect(total).toBe(5);
      // Of the one that gave up, the last entry: its answer is made from that.
      expect(reads.filter(({ runId }) => runId !== waiting)).toEqual([{ runId: failing, limit: 1 }]);
      expect(runs.map(({ id }) => id)).toEqual([waiting, cancelled, failing, look, chat]);
      for (const row of runs) {
        const { receipt, explanation, usage: _usage, ...record } = (await assistant.run(row.id as RunId)) ?? {};
        const { created_at: _created, prompt: _prompt, state: _state, ...shown } = row;
        expect(shown).toEqual({ ...record, trace: { tool_execution_results: [] } });
        expect(receipt !== undefined).toBe(row.outcome !== null);
        expect(explanation !== undefined).toBe(row.status === "failed");
      }
      expect(runs.map(({ tool_calls, output }) => [tool_calls, output.slice(0, 9)])).toEqual([
        [0, ""],
        [0, ""],
        [5, "The tools"],
        [2, "seen"],
        [0, "hello"],
      ]);
      await trial.runtime.cancel(waiting, "operator");
      await ended(waiting);
      await trial.stop();
    },
  );
});

describe("a run whose journal does not replay", () => {
  test("is sealed in the ledger where it stands, is listed as its record shows it, and is a finding of the audit", async () => {
    const home = temporaryHome();
    const first = openTrial({ store: await home.open(), model, world: outsideWorld() });
    const runId = await first.submit("door");
    const card = await first.nextCard();
    await first.stop();
    const readable = (await first.entries(runId)).length;
    await spoil(first, runId);
    const next = openTrial({ store: first.store, model, world: outsideWorld() });
    await next.runtime.recover();
    await next.ended(await next.submit("chat"));
    await next.stop();

    const run = await next.store.findRun(runId);
    expect(run).toMatchObject({ status: "cancelled", outcome: "INTERRUPTED", reason: "machine.diverged" });
    expect((await next.store.findApproval(card.id))?.state).toBe("expired");
    const { runs } = await next.assistant.runs({ limit: 1, offset: 1 });
    const { explanation, usage: _usage, ...record } = (await next.assistant.run(runId)) ?? {};
    expect(explanation).toContain("does not replay");
    const [{ created_at: _created, prompt: _prompt, state: _state, ...shown } = expect.fail("it is not listed")] = runs;
    expect(shown).toEqual({ ...record, trace: { tool_execution_results: [] } });

    const ledger = await next.store.readLedger(0, 100);
    const seq = readable + 1;
    const seal = ledger.find((entry) => entry.kind === "run.sealed" && entry.data.runId === runId);
    expect(seal?.data).toEqual({ runId, outcome: "INTERRUPTED", seq, head: hashBytes("spoilt") });
    const hashAt = (at: number) => (at === 0 ? genesisHash(run?.contractHash ?? hashBytes("")) : hashBytes("spoilt"));
    const journals = new Map<RunId, JournalFacts>([[runId, { seq, outcome: null, hashAt }]]);
    const findings = auditHome({ homeId: next.store.homeId, ledger, journals, checkpoints: [], trusted: TRUSTED });
    expect(findings.filter((finding) => finding.runId === runId)).toEqual([
      { code: "run.rewritten", runId, ledgerSeq: seal?.seq },
    ]);
    await home.dispose();
  });
});
