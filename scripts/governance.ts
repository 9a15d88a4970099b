/**
 * `npm run governance -- [--runs 1000] [--changes 1000]`: makes runs on a home of its own, changes the policy state a
 * thousand times, and replays the runs: every contract must have the bytes it had, and every journal must fold to its head.
 *
 * Exits 1 on any difference.
 */
import { parseArgs } from "node:util";
import { replayAfterChanges } from "../test/boot/governance-campaign.ts";

const { values } = parseArgs({
  options: { runs: { type: "string", default: "1000" }, changes: { type: "string", default: "1000" } },
});
const startedAt = performance.now();
const { runs, changes, differences, ledgerEntries } = await replayAfterChanges(
  Number(values.runs),
  Number(values.changes),
);
const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
console.log(`${runs} runs, ${changes} changes, ${ledgerEntries} of them in the ledger, ${seconds} s`);
for (const difference of differences.slice(0, 5)) console.log(difference);
console.log(differences.length === 0 ? "every run replays as it was" : `${differences.length} runs differ`);
process.exitCode = differences.length === 0 && changes >= Number(values.changes) ? 0 : 1;
