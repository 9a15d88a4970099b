import fc from "fast-check";
import { expect } from "vitest";
import { HOUR_MS, waitBeforeGhost } from "../../../src/assistant/shadow/ghost-rules.ts";
import { DEFAULT_CONFIG } from "../../../src/boot/config/default-config.ts";
import { verifies } from "../../requirements.ts";

const { cooldown, maxGhostsPerHour } = DEFAULT_CONFIG.shadow;

verifies(
  ["T-5.2/cooldown", "T-5.2/hourly"],
  "by default 30 seconds pass between ghosts, and 10 appear in an hour",
  () => {
    expect([cooldown, maxGhostsPerHour]).toEqual([30_000, 10]);
  },
);

verifies(["T-5.2/cooldown", "T-5.2/hourly"], "whoever waits as long as asked keeps both limits, at any pace", () => {
  fc.assert(
    fc.property(
      fc.record({ cooldown: fc.integer({ min: 0, max: HOUR_MS }), maxGhostsPerHour: fc.integer({ min: 1, max: 20 }) }),
      fc.array(fc.integer({ min: 0, max: HOUR_MS }), { maxLength: 60 }),
      (pace, gaps) => {
        const times: number[] = [];
        let nowMs = 0;
        for (const gap of gaps) {
          nowMs += gap;
          const newest = [...times].reverse().filter((at) => at > nowMs - HOUR_MS);
          const waitMs = waitBeforeGhost(newest.slice(0, pace.maxGhostsPerHour), nowMs, pace) ?? Number.NaN;
          const at = nowMs + waitMs;
          const [before] = newest;
          if (before !== undefined) expect(at - before).toBeGreaterThanOrEqual(pace.cooldown);
          const inHour = times.filter((each) => each > at - HOUR_MS);
          expect(inHour.length).toBeLessThan(pace.maxGhostsPerHour);
          // It never waits for longer than the limits ask.
          if (waitMs > 0) {
            const cools = before !== undefined && at - before === pace.cooldown;
            expect(cools || times.includes(at - HOUR_MS)).toBe(true);
          }
          nowMs = at;
          times.push(at);
        }
      },
    ),
  );
});

verifies(
  "T-5.2/hourly",
  "a limit of 0 lets none appear, and a clock that was set back holds none up for longer",
  () => {
    expect(waitBeforeGhost([], 0, { cooldown: 0, maxGhostsPerHour: 0 })).toBeNull();
    const ahead = 10 * HOUR_MS;
    expect(waitBeforeGhost([ahead], 0, { cooldown: 30_000, maxGhostsPerHour: 10 })).toBe(30_000);
    expect(waitBeforeGhost([ahead, ahead], 0, { cooldown: 0, maxGhostsPerHour: 2 })).toBe(HOUR_MS);
  },
);
