/** The projector is killed while runs end and files are written: what it left, completed, is a fresh projection byte for byte. */
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { RunRecords } from "../../src/adapters/records/run-records.ts";
import { openSqliteReader } from "../../src/adapters/store-sqlite/open-sqlite-reader.ts";
import { derive } from "../simulate/random.ts";
import type { Fault, Findings, Staging } from "./fault.ts";
import { readAsked, stepOf } from "./job.ts";
import { Workload } from "./kill-at-random.ts";
import { openStage } from "./stage.ts";
import { verifyHome } from "./verify-home.ts";

const MAX_LIFE_MS = 60;
const RUNS_AT_ONCE = 100;

export const killedProjector: Fault = {
  id: "records",
  title: "the projector of records killed while runs end",
  unit: "lives",
  fullSize: 200,
  shortSize: 2,
  stage: killProjector,
};

async function killProjector({ program, seed, size, say }: Staging): Promise<Findings> {
  const scratch = await mkdtemp(join(tmpdir(), "surety-records-"));
  const work = new Workload(seed);
  const stage = await openStage({
    program,
    seed,
    script: (request) => {
      const asked = readAsked(request);
      if (asked.results >= asked.letters.length) work.answered.add(asked.job);
      return stepOf(asked);
    },
  });
  const [torn, fresh] = [join(scratch, "torn"), join(scratch, "fresh")];
  await mkdir(torn);
  await mkdir(fresh);
  const problems: string[] = [];
  try {
    const gateway = await stage.start();
    const load = work.keepFull(gateway);
    for (let life = 1; life <= size; life += 1) {
      await liveOnce(
        join(dirname(program.file), "project-records.js"),
        stage.home,
        torn,
        derive(seed, "projector", life).between(0, MAX_LIFE_MS),
      );
      if (life % 20 === 0) say(`${life}/${size} lives, ${work.jobs.size} runs accepted`);
    }
    await gateway.stop();
    await load;
    for (const target of [torn, fresh]) await project(stage.home, target);
    const [left, whole] = [await contentOf(torn), await contentOf(fresh)];
    for (const name of new Set([...left.keys(), ...whole.keys()])) {
      if (left.get(name)?.equals(whole.get(name) ?? Buffer.alloc(0)) !== true)
        problems.push(`${name} is not as in a fresh projection`);
    }
    problems.push(...(await verifyHome(stage)));
    const names = await readdir(torn, { recursive: true });
    return {
      figures: {
        kills: size,
        "runs recorded": names.filter((name) => name.endsWith("contract.json")).length,
        "files compared": whole.size,
        "bytes compared": [...whole.values()].reduce((sum, bytes) => sum + bytes.length, 0),
        "tails moved aside": names.filter((name) => name.endsWith(".torn")).length,
      },
      problems,
    };
  } finally {
    await stage.close();
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Killed so long after it began to project. */
async function liveOnce(program: string, home: string, target: string, lifeMs: number): Promise<void> {
  const child = spawn(process.execPath, [program, home, target], { stdio: ["ignore", "pipe", "inherit"] });
  const gone = new Promise((resolve) => child.once("close", resolve));
  await new Promise((resolve) => {
    child.stdout.once("data", resolve);
    child.once("close", resolve);
  });
  await new Promise((resolve) => setTimeout(resolve, lifeMs));
  child.kill("SIGKILL");
  await gone;
}

export async function project(home: string, homeDirectory: string): Promise<void> {
  const store = await openSqliteReader(home);
  const unreadable: string[] = [];
  const records = new RunRecords({ store, homeDirectory, onUnreadable: (runId) => unreadable.push(runId) });
  while (await records.project(RUNS_AT_ONCE));
  await store.close();
  if (unreadable.length > 0) throw new Error(`not readable: ${unreadable}`);
}

/** What was moved aside, and what was being written, are no records. */
export async function contentOf(directory: string): Promise<ReadonlyMap<string, Buffer>> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !/\.torn$|^\.run-records/.test(entry.name));
  const paths = files
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !/\/\.run_\w+\.new\//.test(path));
  return new Map(
    await Promise.all(paths.map(async (path) => [path.slice(directory.length + 1), await readFile(path)] as const)),
  );
}
