/**
 * `npm run bench`: the table of speed and footprint, each figure a ratio measured in one run (docs/performance.md).
 *
 * Ends with 1 when a must is missed, or when a figure breaks off.
 */
import { join } from "node:path";
import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { startChild } from "./child.ts";
import type { BenchWorld, Figure } from "./figure.ts";
import { archive } from "./figures/archive.ts";
import { conversation } from "./figures/conversation.ts";
import { firstRequestTokens } from "./figures/first-request.ts";
import { fullStore } from "./figures/full-store.ts";
import { gateway } from "./figures/gateway.ts";
import { growth } from "./figures/growth.ts";
import { installSize } from "./figures/install-size.ts";
import { manyRuns, manyStreamedRuns } from "./figures/many-runs.ts";
import { memories } from "./figures/memories.ts";
import { memory } from "./figures/memory.ts";
import { schedule } from "./figures/schedule.ts";
import { sessions } from "./figures/sessions.ts";
import { stepOverhead, streamedOverhead } from "./figures/step-overhead.ts";
import { syncs } from "./figures/syncs.ts";
import { toolCosts } from "./figures/tool-costs.ts";
import { controlUi } from "./figures/ui.ts";
import { firstRequest } from "./opening.ts";
import { measurePeers } from "./peers.ts";
import { formatRows, type Row, verdictOf } from "./row.ts";
import { machineSpeed } from "./step-speed.ts";

const FIGURES: readonly Figure[] = [
  machineSpeed,
  stepOverhead,
  streamedOverhead,
  syncs,
  manyRuns,
  manyStreamedRuns,
  growth,
  gateway,
  memory,
  fullStore,
  archive,
  sessions,
  schedule,
  conversation,
  memories,
  toolCosts,
  firstRequestTokens,
  installSize,
  controlUi,
];

const HELP = `npm run bench -- [--only NAME …] [--quick] [--json] [--peers]

  --only NAME   this figure alone; may be given more than once:
                ${FIGURES.map(({ name }) => name).join(", ")}
  --quick       three small blocks instead of five: to see that it works
  --json        the rows as JSON
  --peers       other libraries instead, and ourselves beside them; they are installed outside the project

  Ends with 1 when a must is missed, or a figure breaks off. docs/performance.md says how it is done.`;

const OPTIONS = {
  only: { type: "string", multiple: true, default: [] as string[] },
  quick: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
  peers: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} satisfies ParseArgsOptionsConfig;

const options = readOptions();
if (options.help) {
  console.log(HELP);
  process.exit(0);
}

function readOptions() {
  try {
    return parseArgs({ options: OPTIONS }).values;
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}; see npm run bench -- --help`);
    process.exit(2);
  }
}

const names = FIGURES.map(({ name }) => name);
const unknown = options.only.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  console.error(`no such figure: ${unknown.join(", ")}; there are ${names.join(", ")}`);
  process.exit(2);
}

/** `--peers` alone measures the peers alone. */
function isWanted({ name }: Figure): boolean {
  return options.only.length === 0 ? !options.peers : options.only.includes(name);
}

/** A figure that breaks off takes none of the others along; the bench fails all the same. */
async function measureOrTell(figure: Figure, world: BenchWorld): Promise<readonly Row[]> {
  try {
    return await figure.measure(world);
  } catch (error) {
    process.exitCode = 1;
    const note = `broke off: ${error instanceof Error ? error.message : error}`;
    return [{ name: figure.name, value: null, spread: 0, unit: "", bound: null, note }];
  }
}

const model = await startChild(join(import.meta.dirname, "scripted-model.ts"), []);
const rows: Row[] = [];
try {
  const opening = await firstRequest("hello");
  const world: BenchWorld = { isQuick: options.quick, blocks: options.quick ? 3 : 5, model, opening };
  for (const figure of FIGURES) {
    if (!isWanted(figure)) continue;
    if (!options.json) process.stderr.write(`measuring ${figure.name} …\n`);
    rows.push(...(await measureOrTell(figure, world)));
  }
  if (options.peers) rows.push(...(await measurePeers(world)));
} finally {
  await model.stop();
}
if (options.json) console.log(JSON.stringify(rows.map((row) => ({ ...row, verdict: verdictOf(row) }))));
else console.log(formatRows(rows));
if (rows.some((row) => verdictOf(row) === "MISSED")) process.exitCode = 1;
