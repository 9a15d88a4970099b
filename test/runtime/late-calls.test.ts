/** A call that took too long is stopped, and the run goes on without it. */
import { expect } from "vitest";
import type { Store } from "../../src/runtime/ports/store.ts";
import { manualClock } from "../adapters/models/manual-clock.ts";
import { verifies } from "../requirements.ts";
import { APPROVAL_TIMEOUT_MS, openTrial, storeOfFile } from "./trial/open-trial.ts";
import { outsideWorld } from "./trial/outside-world.ts";
import { calls, inTurns, says, scriptedModel } from "./trial/scripted-model.ts";
import { settle } from "./trial/settle.ts";

const store = storeOfFile();
const LONGER_THAN_ALLOWED_MS = 31_000;
const look = (id: string) => ({ id, tool: "look.at", args: { thing: id } });

verifies(
  "X-12",
  "beside another call: it is stopped at its deadline, and a question that follows parks the run and is answered",
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

verifies("X-12", "a late call whose id was reused does not make the new call unstoppable when it reports", async () => {
  const world = outsideWorld();
  const { promise: late, resolve: reportAtLast } = Promise.withResolvers<string>();
  const { promise: firstBegun, resolve: beginFirst } = Promise.withResolvers<void>();
  const { promise: secondBegun, resolve: beginSecond } = Promise.withResolvers<void>();
  const { promise: stopped, resolve: stop } = Promise.withResolvers<string>();
  world.conduct = (_tool, { thing }, { signal }) => {
    if (thing === "first") {
      beginFirst();
      // It does not heed its signal.
      return late;
    }
    signal.addEventListener("abort", () => stop("stopped"));
    beginSecond();
    return stopped;
  };
  const again = (thing: string) => calls([{ id: "same", tool: "look.at", args: { thing } }]);
  const clock = manualClock();
  const model = scriptedModel(inTurns(again("first"), again("second"), says("done")));
  const trial = openTrial({ store: store(), model, world, clock });
  const runId = await trial.submit("look twice");
  await firstBegun;
  clock.pass(LONGER_THAN_ALLOWED_MS);
  await secondBegun;
  reportAtLast("too late");
  await settle();
  await trial.runtime.cancel(runId, "operator");
  expect(await stopped).toBe("stopped");
  expect((await trial.ended(runId)).outcome).toBe("INTERRUPTED");
  await trial.stop();
});

verifies("X-12", "an approval that expires while the call's intent is written does not let it run", async () => {
  const world = outsideWorld();
  const clock = manualClock();
  const whole = store();
  const slow: Store = {
    ...whole,
    commit: async (writes, urgency) => {
      const result = await whole.commit(writes, urgency);
      if (writes.some(({ type }) => type === "consume-approval")) clock.pass(APPROVAL_TIMEOUT_MS + 1);
      return result;
    },
  };
  const model = scriptedModel(
    inTurns(calls([{ id: "open", tool: "door.open", args: { thing: "it" } }]), says("it stayed shut")),
  );
  const trial = openTrial({ store: slow, model, world, clock });
  const asked = trial.nextCard();
  const runId = await trial.submit("open it", { contract: { totalTimeoutMs: 2 * APPROVAL_TIMEOUT_MS } });
  const { id, planHash } = await asked;
  await trial.runtime.approvals.decide({ id, decision: "allow", planHash, principal: "operator" });
  await trial.ended(runId);
  expect(world.performed).toEqual([]);
  await trial.stop();
});
