import { expect, test } from "vitest";
import { keepTidy } from "../../src/boot/keep-tidy.ts";
import { manualClock } from "../adapters/models/manual-clock.ts";

const DAY_MS = 24 * 3_600_000;

/** Lets every promise that is settled already be heard of. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

test("some time after the start, then daily, whatever fails; and not any more once it is stopped", async () => {
  const clock = manualClock();
  const failures: unknown[] = [];
  let times = 0;
  const stop = keepTidy(
    clock,
    () => {
      times += 1;
      return times === 2 ? Promise.reject(new Error("not today")) : Promise.resolve();
    },
    (error) => failures.push(error),
  );
  expect(times).toBe(0);
  for (const expected of [1, 2, 3]) {
    clock.pass(expected === 1 ? 10_000 : DAY_MS);
    await settled();
    expect([times, failures.length]).toEqual([expected, expected > 1 ? 1 : 0]);
  }
  stop();
  clock.pass(DAY_MS);
  await settled();
  expect(times).toBe(3);
});

test("not again while it is at it, nor after it was stopped meanwhile", async () => {
  const clock = manualClock();
  const { promise, resolve } = Promise.withResolvers<void>();
  let times = 0;
  const stop = keepTidy(
    clock,
    () => {
      times += 1;
      return promise;
    },
    (error) => expect.unreachable(String(error)),
  );
  clock.pass(10_000);
  clock.pass(DAY_MS);
  expect(times).toBe(1);
  stop();
  resolve();
  await settled();
  clock.pass(DAY_MS);
  await settled();
  expect(times).toBe(1);
});
