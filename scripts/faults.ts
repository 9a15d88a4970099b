/**
 * `npm run faults -- [F1 …] [--seed N] [--kills N …]`: what the real process makes of the faults of security.md.
 *
 * Prints its seed, progress and a table of figures; exits 1 when one of them found anything. Loopback only.
 */
import { parseArgs } from "node:util";
import { FAULTS } from "../test/faults/all-faults.ts";
import type { Fault, Findings } from "../test/faults/fault.ts";
import { buildGatewayProgram } from "../test/faults/gateway-program.ts";

const MAXIMUM_SHOWN = 20;

const HELP = `npm run faults -- [FAULT …] [--seed N] [--short] [--UNIT N …]

  What the real process makes of faults: kills, full disks, providers that misbehave. Loopback only. Ends with 1 when
  something was found. Without names, all of them; --short as in npm test; --seed repeats a run.

${FAULTS.map(({ id, unit, fullSize, title }) => `  ${id.padEnd(4)} --${`${unit} ${fullSize}`.padEnd(16)} ${title}`).join("\n")}`;

class WrongAsking extends Error {}

interface Verdict extends Findings {
  readonly fault: Fault;
  readonly seconds: number;
}

async function main(): Promise<boolean> {
  const sizes = Object.fromEntries(FAULTS.map(({ unit }) => [unit, { type: "string" as const }]));
  const flag = { type: "boolean" } as const;
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { seed: { type: "string" }, short: flag, help: flag, ...sizes },
  });
  const given: Readonly<Record<string, unknown>> = values;
  if (given["help"] === true) {
    console.log(HELP);
    return true;
  }
  const seed = given["seed"] === undefined ? Math.floor(Math.random() * 2 ** 31) : wholeNumber("seed", given["seed"]);
  const unknown = positionals.find((id) => !FAULTS.some((fault) => fault.id === id));
  if (unknown !== undefined)
    throw new WrongAsking(`unknown fault ${unknown}; known: ${FAULTS.map(({ id }) => id).join(" ")}`);
  console.log(`seed ${seed}`);
  const program = await buildGatewayProgram();
  const verdicts: Verdict[] = [];
  try {
    for (const fault of FAULTS.filter(({ id }) => positionals.length === 0 || positionals.includes(id))) {
      const asked = given[fault.unit];
      const usual = given["short"] === true ? fault.shortSize : fault.fullSize;
      const size = asked === undefined ? usual : wholeNumber(fault.unit, asked);
      console.log(`\n${fault.id} ${fault.title} (--${fault.unit} ${size})`);
      const startedAt = performance.now();
      const findings = await findingsOf(fault, () =>
        fault.stage({ program, seed, size, judgesTime: true, say: (line) => console.log(`  ${line}`) }),
      );
      verdicts.push({ ...findings, fault, seconds: (performance.now() - startedAt) / 1_000 });
    }
  } finally {
    await program.dispose();
  }
  console.log("");
  for (const verdict of verdicts) print(verdict);
  const failed = verdicts.filter((verdict) => resultOf(verdict) !== "ok").map(({ fault }) => fault.id);
  const verdict = failed.length === 0 ? "all stood" : `FAILED: ${failed.join(", ")}`;
  console.log(`\nseed ${seed}: ${verdicts.length} faults, ${verdict}`);
  return failed.length === 0;
}

/** What the harness itself did not expect is a finding too, and does not keep the others from their turn. */
async function findingsOf({ id }: Fault, stage: () => Promise<Findings>): Promise<Findings> {
  try {
    return await stage();
  } catch (error) {
    return {
      figures: {},
      problems: [`${id} broke off: ${error instanceof Error ? (error.stack ?? error.message) : error}`],
    };
  }
}

/** What could not be staged was not shown, and that is no success. */
function resultOf({ problems, notStaged }: Findings): string {
  return problems.length > 0 ? "FAILED" : notStaged === undefined ? "ok" : `NOT STAGED: ${notStaged}`;
}

function print(verdict: Verdict): void {
  const { fault, figures, problems, seconds } = verdict;
  console.log(`${fault.id.padEnd(4)} ${resultOf(verdict).padEnd(6)} ${seconds.toFixed(0)} s  ${fault.title}`);
  for (const [name, value] of Object.entries(figures)) console.log(`       ${name.padEnd(34)} ${value}`);
  for (const problem of problems.slice(0, MAXIMUM_SHOWN)) console.log(`       ! ${problem}`);
  if (problems.length > MAXIMUM_SHOWN) console.log(`       ! and ${problems.length - MAXIMUM_SHOWN} more`);
}

function wholeNumber(name: string, text: unknown): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new WrongAsking(`--${name} must be a whole number`);
  return value;
}

try {
  process.exitCode = (await main()) ? 0 : 1;
} catch (error) {
  // Of what was asked wrongly the words will do; of anything else whoever mends it wants to know where.
  const isAskedWrongly = error instanceof WrongAsking || (error instanceof TypeError && "code" in error);
  console.error(isAskedWrongly ? `${error.message}; see npm run faults -- --help` : error);
  process.exitCode = 2;
}
