import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/boot/system-clock.ts";

const wakeAfter = (delayMs: number): Promise<number> => {
  const startedAt = systemClock.monotonicMs();
  // A pending wake keeps no process alive; the test's own process must be.
  const keepAlive = setInterval(() => {}, 1000);
  return new Promise<number>((resolve) => {
    systemClock.wake(delayMs, () => {
      clearInterval(keepAlive);
      resolve(systemClock.monotonicMs() - startedAt);
    });
  });
};

describe("the system's clock", () => {
  test("wakes, and never early", async () => {
    const delays = [0, -5, 0.3, 1, 1.5, 2, 3.7, 5, 8, 13];
    const passed = await Promise.all(delays.map(wakeAfter));
    expect(passed.every((ms, index) => ms >= (delays[index] ?? 0))).toBe(true);
  });

  test.each([2 ** 31, 2 ** 40, Number.POSITIVE_INFINITY])("a delay of %d ms is not taken for none", async (delayMs) => {
    let isAwake = false;
    const warnings: string[] = [];
    const hear = ({ name }: Error): void => {
      warnings.push(name);
    };
    process.on("warning", hear);
    const callOff = systemClock.wake(delayMs, () => {
      isAwake = true;
    });
    await wakeAfter(20);
    callOff();
    process.off("warning", hear);
    expect([isAwake, warnings]).toEqual([false, []]);
  });

  test("what was called off never comes", async () => {
    let isAwake = false;
    const callOff = systemClock.wake(1, () => {
      isAwake = true;
    });
    callOff();
    await wakeAfter(10);
    expect(isAwake).toBe(false);
  });

  test("a delay that is not a number is a defect", () => {
    expect(() => systemClock.wake(Number.NaN, () => {})).toThrow("not a number");
  });

  test("tells the time of day", () => {
    expect(Math.abs(systemClock.nowMs() - Date.now())).toBeLessThan(60_000);
  });
});
