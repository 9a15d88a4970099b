/** A run is prepared while its acceptance is being written, and starts only when that is durable. */
import { expect, test } from "vitest";
import { type Store, StoreError } from "../../../src/runtime/ports/store.ts";
import { manualClock } from "../../adapters/models/manual-clock.ts";
import { verifies } from "../../requirements.ts";
import { openTrial, storeOfFile, type TrialOptions } from "../trial/open-trial.ts";
import { outsideWorld } from "../trial/outside-world.ts";
import { inTurns, says, scriptedModel } from "../trial/scripted-model.ts";
import { settle } from "../trial/settle.ts";

const store = storeOfFile();
const refusal = () => new StoreError("store.conflict", "refused");

/** A store that holds the n-th new run until told to accept or refuse it. */
function holdingRun(whole: Store, nth: number) {
  const { promise: decided, resolve: accept, reject } = Promise.withResolvers<void>();
  const { promise: held, resolve: hold } = Promise.withResolvers<void>();
  let seen = 0;
  const slow: Store = {
    ...whole,
    commit: async (writes, urgency) => {
      if (writes.some(({ type }) => type === "insert-run")) {
        seen += 1;
        if (seen === nth) {
          hold();
          await decided;
        }
      }
      return await whole.commit(writes, urgency);
    },
  };
  return { slow, accept, refuse: () => reject(refusal()), held };
}

const greeting = () => scriptedModel(inTurns(says("hello")));

function trialOn(slow: Store, also: Partial<TrialOptions> = {}) {
  return openTrial({ store: slow, model: greeting(), world: outsideWorld("at once"), ...also });
}

/** Its backend never answers the health check. */
function silentModel() {
  const model = greeting();
  const asked: AbortSignal[] = [];
  const check = (signal: AbortSignal) => {
    asked.push(signal);
    return new Promise<never>(() => {});
  };
  return { asked, model: { ...model, backend: { ...model.backend, check } } };
}

test("a run that is not durable yet asks its model nothing; then it runs", async () => {
  const { slow, accept, held } = holdingRun(store(), 1);
  const model = greeting();
  const trial = trialOn(slow, { model });
  const submitted = trial.submit("greet");
  await held;
  await settle();
  expect(model.requests).toEqual([]);
  accept();
  expect((await trial.ended(await submitted)).outcome).toBe("COMPLETED_CHAT_ONLY");
  expect(model.requests).toHaveLength(1);
  await trial.stop();
});

verifies("X-2", "a refused run asks no model and writes nothing, and the next run is accepted", async () => {
  const whole = store();
  const { slow, refuse, held } = holdingRun(whole, 1);
  const model = greeting();
  const trial = trialOn(slow, { model });
  const refused = expect(trial.submit("greet")).rejects.toThrow("conflict");
  await held;
  await settle();
  refuse();
  await refused;
  await settle();
  expect(model.requests).toEqual([]);
  expect(trial.defects).toEqual([]);
  expect(await whole.openRuns(0, 10)).toEqual([]);
  expect((await trial.ended(await trial.submit("greet again"))).outcome).toBe("COMPLETED_CHAT_ONLY");
  await trial.stop();
});

test("a run that is refused keeps neither its lane nor a worker, and its backend is not checked", async () => {
  const { slow, refuse, held } = holdingRun(store(), 2);
  const first = trialOn(slow);
  const { sessionId } = await first.ended(await first.submit("one"));
  await first.stop();
  const { model, asked } = silentModel();
  const trial = trialOn(slow, { model, workers: 1 });
  const refused = expect(trial.submit("two", { sessionId })).rejects.toThrow("conflict");
  await held;
  const third = trial.submit("three", { sessionId });
  await settle();
  expect(asked).toEqual([]);
  refuse();
  await refused;
  await third;
  await expect.poll(() => asked.length, { timeout: 10_000 }).toBe(1);
  await trial.stop();
});

test("the time its acceptance takes does not count as the run's", async () => {
  const { slow, accept, held } = holdingRun(store(), 1);
  const clock = manualClock();
  const trial = trialOn(slow, { clock });
  const submitted = trial.submit("greet", { contract: { stepTimeoutMs: 200, totalTimeoutMs: 300 } });
  await held;
  await settle();
  clock.pass(400);
  accept();
  const { outcome, ended } = await trial.ended(await submitted);
  expect([outcome, ended?.durationMs]).toEqual(["COMPLETED_CHAT_ONLY", 0]);
  await trial.stop();
});

verifies("O-5.5", "a run that is refused immediately takes no place in the queue", async () => {
  const whole = store();
  let seen = 0;
  const slow: Store = {
    ...whole,
    commit: (writes, urgency) => {
      if (writes.some(({ type }) => type === "insert-run")) seen += 1;
      return seen === 2 || seen === 3 ? Promise.reject(refusal()) : whole.commit(writes, urgency);
    },
  };
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const model = scriptedModel(inTurns(() => released.then(() => says("hello"))));
  const trial = trialOn(slow, { model, maxQueued: 2 });
  const first = await trial.submit("one");
  const sessionId = (await whole.findRun(first))?.sessionId;
  const behind = sessionId === undefined ? {} : { sessionId };
  await expect.poll(() => model.requests.length).toBe(1);
  for (const message of ["two", "three"]) await expect(trial.submit(message, behind)).rejects.toThrow("conflict");
  await settle();
  const fourth = await trial.submit("four");
  release();
  expect((await trial.ended(fourth)).outcome).toBe("COMPLETED_CHAT_ONLY");
  await trial.stop();
});

test("a run that waits for its backend is running", async () => {
  const whole = store();
  const trial = trialOn(whole, { model: silentModel().model });
  const runId = await trial.submit("greet");
  await expect.poll(async () => (await whole.findRun(runId))?.status).toBe("running");
  await trial.stop();
});
