/** Replay from the journal alone, and what another policy would have said. */
import { describe, expect, test } from "vitest";
import { DEFAULT_POLICY } from "../../../src/kernel/contract/default-terms.ts";
import type { ToolPolicy } from "../../../src/kernel/policy/tool-policy.ts";
import type { RunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { contractOf } from "../../../src/runtime/run/read-run.ts";
import { replayRun, whatIf } from "../../../src/runtime/run/replay-run.ts";
import { verifies } from "../../requirements.ts";
import { openTrial, storeOfFile, type Trial } from "../trial/open-trial.ts";
import { outsideWorld } from "../trial/outside-world.ts";
import { calls, inTurns, says, scriptedModel } from "../trial/scripted-model.ts";

const store = storeOfFile();

const look = { id: "call_1", tool: "look.at", args: { thing: "a" } };
const note = { id: "call_2", tool: "note.put", args: { thing: "b" } };
const open = { id: "call_3", tool: "door.open", args: { thing: "c" } };

async function recordedRun(trial: Trial, runId: RunId) {
  const run = await trial.store.findRun(runId);
  if (run === null) throw new Error("a run is missing");
  return { run, contract: contractOf(run), entries: await trial.entries(runId) };
}

/** Reads freely, approved in advance, allowed by a person, denied by a person. */
async function variedRun() {
  const model = scriptedModel(inTurns(calls([look, note]), calls([open]), calls([{ ...open, args: { thing: "d" } }])));
  const trial = openTrial({ store: store(), model, world: outsideWorld() });
  const runId = await trial.submit("vary", { approvedTools: ["note.put"] });
  for (const decision of ["allow", "deny"] as const) {
    const card = await trial.nextCard();
    await trial.runtime.approvals.decide({ ...card, decision, principal: "operator" });
  }
  await trial.ended(runId);
  await trial.stop();
  return recordedRun(trial, runId);
}

describe("replay", () => {
  verifies("X-4/replay", "reproduces outcome and head, and names the first entry that differs", async () => {
    const { run, contract, entries } = await variedRun();
    expect(replayRun(run.runId, contract, entries)).toEqual({
      isReproduced: true,
      outcome: "COMPLETED_WITH_TOOLS",
      headHash: entries.at(-1)?.hash,
      divergedAt: null,
    });
    for (const [index, entry] of entries.entries()) {
      const tampered = entries.with(index, { ...entry, ts: "2020-01-01T00:00:00.000Z", hash: contract.contractHash });
      expect(replayRun(run.runId, contract, tampered)).toMatchObject({ isReproduced: false, divergedAt: index + 1 });
    }
    expect(replayRun(run.runId, contract, entries.slice(0, -2))).toMatchObject({ outcome: null });
  });
});

describe("what if", () => {
  const denying = (tool: string): ToolPolicy => ({ ...DEFAULT_POLICY, exceptions: [{ tool, decision: "deny" }] });
  const namesOf = (others: ReturnType<typeof whatIf>) =>
    others.map(({ tool, recorded, now }) => `${tool} ${recorded} ${now}`);

  verifies("X-4/policy", "names exactly the calls that another policy decides differently", async () => {
    const { contract, entries } = await variedRun();
    expect(whatIf(contract, entries, DEFAULT_POLICY)).toEqual([]);
    expect(namesOf(whatIf(contract, entries, denying("look.at")))).toEqual(["look.at allow deny"]);
    expect(namesOf(whatIf(contract, entries, denying("note.*")))).toEqual(["note.put allow deny"]);
    // One door was opened; the other stayed shut then, and would now.
    expect(namesOf(whatIf(contract, entries, denying("door.open")))).toEqual(["door.open allow deny"]);
    const asking: ToolPolicy = { ...DEFAULT_POLICY, exceptions: [{ tool: "look.at", decision: "approve" }] };
    expect(namesOf(whatIf(contract, entries, asking))).toEqual(["look.at allow approve"]);
    const trusting: ToolPolicy = { ...DEFAULT_POLICY, risk: { ...DEFAULT_POLICY.risk, side_effect: "allow" } };
    expect(namesOf(whatIf(contract, entries, trusting))).toEqual(["door.open deny allow"]);
    const [denied] = whatIf(contract, entries, denying("look.at"));
    expect(denied).toMatchObject({ callId: "call_1", policyId: "policy.exception.0" });
    expect(entries[(denied?.entry ?? 0) - 1]?.kind).toBe("VALIDATE_CALLS");
  });

  test("applies the live policy of that moment", async () => {
    const policy = denying("look.at");
    const model = scriptedModel(inTurns(calls([look]), says("done")));
    const first = openTrial({ store: store(), model, world: outsideWorld(), workers: 0 });
    const runId = await first.submit("look");
    await first.stop();
    const trial = openTrial({ store: store(), model, world: outsideWorld(), policy });
    await trial.runtime.recover();
    await trial.ended(runId);
    await trial.stop();
    const { contract, entries } = await recordedRun(trial, runId);
    expect(whatIf(contract, entries, policy)).toEqual([]);
    expect(namesOf(whatIf(contract, entries, DEFAULT_POLICY))).toEqual(["look.at deny allow"]);
  });
});
