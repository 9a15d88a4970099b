/** `npm run simulate:schedule -- [--seeds 100] [--days 365]`: simulated years of the scheduler (F5); ends with 1 on a violation. */
import { parseArgs } from "node:util";
import { simulateSchedule } from "../test/assistant/schedule/simulate-schedule.ts";

const { values } = parseArgs({
  options: { seeds: { type: "string", default: "100" }, days: { type: "string", default: "365" } },
});
const total = { ran: 0, skipped: 0, missed: 0, restarts: 0, jumps: 0 };
for (let seed = 1; seed <= Number(values.seeds); seed += 1) {
  const { violations, slots, restarts, jumps } = await simulateSchedule(seed, Number(values.days));
  for (const status of ["ran", "skipped", "missed"] as const) total[status] += slots[status];
  total.restarts += restarts;
  total.jumps += jumps;
  for (const violation of violations) console.error(`seed ${seed}: ${violation}`);
  if (violations.length > 0) process.exitCode = 1;
}
console.log(JSON.stringify({ seeds: Number(values.seeds), days: Number(values.days), ...total }));
