/** Calls of one batch: run, recorded and answered in the order the model proposed them (S-3.2). */
import { describe, expect } from "vitest";
import { verifies } from "../../requirements.ts";
import { openTrial, storeOfFile } from "../trial/open-trial.ts";
import { outsideWorld } from "../trial/outside-world.ts";
import { calls, inTurns, says, scriptedModel } from "../trial/scripted-model.ts";

const store = storeOfFile();
const look = (id: string, thing: string) => ({ id, tool: "look.at", args: { thing } });
const open = (id: string, thing: string) => ({ id, tool: "door.open", args: { thing } });

/** One run with one batch: what was performed, what the journal says and what the model got back, each as call ids. */
async function runBatch(batch: readonly { id: string; tool: string; args: { thing: string } }[]) {
  const world = outsideWorld();
  const ended: string[] = [];
  // Each call outlives the one after it: results become known last call first.
  const ends = batch.map(() => Promise.withResolvers<void>());
  world.conduct = async (tool, { thing }) => {
    const at = batch.findIndex(({ args }) => args.thing === thing);
    const isLastOfItsKind = batch[at + 1]?.tool !== tool;
    if (!isLastOfItsKind) await ends[at + 1]?.promise;
    ended.push(batch[at]?.id ?? "");
    ends[at]?.resolve();
    return `${tool} ${String(thing)}`;
  };
  const model = scriptedModel(inTurns(calls(batch), says("done")));
  const trial = openTrial({ store: store(), model, world, isReachable: false });
  const runId = await trial.submit("do", { approvedTools: ["door.open"] });
  const { outcome } = await trial.ended(runId);
  const entries = await trial.entries(runId);
  await trial.stop();
  const messages = model.requests.at(-1)?.request.messages ?? [];
  return {
    ended,
    outcome,
    performed: world.performed.map(({ args }) => batch.find((call) => call.args.thing === args["thing"])?.id),
    observed: entries.flatMap((entry) => (entry.kind === "OBSERVE" ? [entry.decided.callId] : [])),
    answered: messages.flatMap((message) => (message.role === "tool" ? [message.callId] : [])),
    contents: messages.flatMap((message) => (message.role === "tool" ? [JSON.parse(message.content).id] : [])),
  };
}

describe("calls of one batch", () => {
  verifies(
    "S-3.2/order",
    "whose results come in last call first are recorded and answered in proposed order",
    async () => {
      const run = await runBatch([look("c_9", "a"), look("c_5", "b"), look("c_7", "c")]);
      expect(run).toEqual({
        ended: ["c_7", "c_5", "c_9"],
        outcome: "COMPLETED_WITH_TOOLS",
        performed: ["c_9", "c_5", "c_7"],
        observed: ["c_9", "c_5", "c_7"],
        answered: ["c_9", "c_5", "c_7"],
        contents: ["c_9", "c_5", "c_7"],
      });
    },
  );

  verifies("S-3.2/order", "are performed in proposed order where one has an effect, and never overlap it", async () => {
    const batch = [open("c_4", "a"), look("c_3", "b"), open("c_2", "c"), look("c_1", "d")];
    const ids = batch.map(({ id }) => id);
    const run = await runBatch(batch);
    expect(run).toMatchObject({ ended: ids, performed: ids, observed: ids, answered: ids });
  });

  verifies(
    ["S-3.2/permission", "S-3.2/order"],
    "that are refused are not performed, and answered in their place",
    async () => {
      const refused = { id: "c_8", tool: "note.put", args: { thing: "n" } };
      const unknown = { id: "c_6", tool: "no.such", args: { thing: "x" } };
      const run = await runBatch([look("c_9", "a"), refused, open("c_7", "b"), unknown, look("c_5", "c")]);
      expect(run.performed).toEqual(["c_9", "c_7", "c_5"]);
      expect(run.observed).toEqual(["c_9", "c_7", "c_5"]);
      expect(run.answered).toEqual(["c_9", "c_8", "c_7", "c_6", "c_5"]);
    },
  );
});
