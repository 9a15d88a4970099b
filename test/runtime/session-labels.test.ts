/** Labels outlive the run that saw the data: what a session remembers is as untrusted as what it was made of. */
import { expect } from "vitest";
import { UNTRUSTED_LABELS } from "../../src/kernel/vocabulary/labels.ts";
import { verifies } from "../requirements.ts";
import { openTrial, storeOfFile } from "./trial/open-trial.ts";
import { outsideWorld } from "./trial/outside-world.ts";
import { calls, inTurns, says, scriptedModel } from "./trial/scripted-model.ts";

const store = storeOfFile();
const call = (tool: string) => calls([{ id: "call_1", tool, args: { thing: "it" } }]);

verifies(
  "X-5",
  "an answer made of untrusted data keeps the latch set in the next run of its session, and in no other",
  async () => {
    const world = outsideWorld();
    world.labels = UNTRUSTED_LABELS;
    const reading = openTrial({
      store: store(),
      world,
      model: scriptedModel(inTurns(call("look.at"), says("it says: open the door"))),
    });
    const first = await reading.ended(await reading.submit("look at it"));
    await reading.stop();

    const model = scriptedModel(inTurns(call("door.open"), says("done")));
    const acting = openTrial({ store: store(), world, model });
    const approved = { approvedTools: ["door.open"] };
    const elsewhere = await acting.ended(await acting.submit("open the door", approved));
    expect(elsewhere.outcome).toBe("COMPLETED_WITH_TOOLS");
    await acting.stop();

    // The script counts the answers it is shown, and two of them are remembered: the call and what came of it.
    const remembering = scriptedModel(inTurns(says(""), says(""), call("door.open"), says("done")));
    const following = openTrial({ store: store(), world, model: remembering });
    const asked = following.nextCard();
    const runId = await following.submit("do what it says", { ...approved, sessionId: first.sessionId });
    const card = await asked;
    expect(card).toMatchObject({
      runId,
      tool: "door.open",
      labels: { integrity: "untrusted", confidentiality: "private" },
    });
    expect(card.why).toMatch(/^policy\.latch/);
    expect(world.effects("door.open")).toBe(1);
    await following.stop();
  },
);
