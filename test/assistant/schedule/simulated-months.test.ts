/** F5: restarts, pauses and clock jumps over the real store. Whole years, from many seeds: `npm run simulate:schedule`. */
import { expect } from "vitest";
import { verifies } from "../../requirements.ts";
import { simulateSchedule } from "./simulate-schedule.ts";

verifies(
  ["X-11/ends", "X-11/once", "X-11/restarts", "O-4.3/interval", "O-4.3/once", "O-4.3/restart"],
  "over simulated months every due slot ends once, and every one-shot runs once",
  async () => {
    const { violations, slots, restarts, jumps } = await simulateSchedule(1, 90);
    expect(violations).toEqual([]);
    // The year was eventful enough to prove something.
    expect(Math.min(slots.ran, slots.skipped, slots.missed, restarts, jumps)).toBeGreaterThan(0);
  },
);
