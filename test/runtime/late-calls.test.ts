/** A call that took too long: the run goes on without it, and nothing of it goes on. */
import { expect } from "vitest";
import { manualClock } from "../adapters/models/manual-clock.ts";
import { verifies } from "../requirements.ts";
import { openTrial, storeOfFile } from "./trial/open-trial.ts";
import { outsideWorld } from "./trial/outside-world.ts";
import { calls, inTurns, says, scriptedModel } from "./trial/scripted-model.ts";

const store = storeOfFile();
const LONGER_THAN_ALLOWED_MS = 31_000;
const look = (id: string) => ({ id, tool: "look.at", args: { thing: id } });

verifies(
  "X-12",
  "beside another call: it is stopped at its deadline, and a question that follows is parked and heard",
  async () => {
    const world = outsideWorld();
    const { promise: stopped, resolve: stop } = Promise.withResolvers<string>();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    world.conduct = (_tool, { thing }, { signal }) => {
      if (thing !== "slow") return "seen";
      begin();
      signal.addEventListener("abort", () => stop("stopped"));
      return stopped;
    };
    const model = scriptedModel(
      inTurns(
        calls([look("slow"), look("quick")]),
        calls([{ id: "open", tool: "door.open", args: { thing: "it" } }]),
        says("done"),
      ),
    );
    const clock = manualClock();
    const trial = openTrial({ store: store(), model, world, clock });
    const asked = trial.nextCard();
    const runId = await trial.submit("look, then open");
    await begun;
    clock.pass(LONGER_THAN_ALLOWED_MS);
    const card = await asked;
    expect(await stopped).toBe("stopped");
    const { id, planHash } = card;
    const decision = { id, decision: "allow", planHash, principal: "operator" } as const;
    expect(await trial.runtime.approvals.decide(decision)).toEqual({ ok: true, runId });
    expect((await trial.ended(runId)).outcome).toBe("COMPLETED_WITH_TOOLS");
    expect(world.effects("door.open")).toBe(1);
    await trial.stop();
  },
);
