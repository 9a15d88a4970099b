/**
 * The gateway beside a bare `node:http` server, both as `node file.js`: the time to the first healthy answer, the
 * memory when idle, and how many authenticated requests are answered in a second.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type Block, elapsedMs, measureBlocks, median, ratioOf } from "../blocks.ts";
import type { BenchWorld, Figure } from "../figure.ts";
import { residentBytes, type Served, startBare, startGateway, tokenOf, writeBareServer } from "../gateway-process.ts";
import { getOnce, requestsPerSecond } from "../http-load.ts";
import type { Row } from "../row.ts";
import { removeDirectory, temporaryDirectory } from "../scene.ts";

const IDLE_MS = 1500;

export const gateway: Figure = { name: "gateway", measure };

async function measure({ isQuick, blocks }: BenchWorld): Promise<readonly Row[]> {
  const directory = await temporaryDirectory();
  const home = join(directory, "home");
  await mkdir(home);
  try {
    const bare = await writeBareServer(directory);
    // It makes the home and the database.
    await (await startGateway(home)).child.stop();
    const rows = [await starting(home, bare, blocks, isQuick ? 2 : 5), await memory(home, bare, isQuick ? 1 : 3)];
    return [...rows, ...(await answering(home, bare, blocks, isQuick ? 500 : 1500))];
  } finally {
    await removeDirectory(directory);
  }
}

async function starting(home: string, bare: string, blocks: number, starts: number): Promise<Row> {
  const meanOf = async (start: () => Promise<Served>): Promise<number> => {
    let ms = 0;
    for (let count = 0; count < starts; count += 1) {
      let up: Served | null = null;
      ms += await elapsedMs(async () => {
        up = await start();
      });
      await (up as Served | null)?.child.stop();
    }
    return ms / starts;
  };
  const measured = await measureBlocks(
    blocks,
    () => meanOf(() => startGateway(home)),
    () => meanOf(() => startBare(bare)),
  );
  return {
    name: "start to first healthy answer ÷ bare node:http",
    ...ratioOf(measured),
    unit: "",
    bound: { is: "at most", must: 2.2, aim: 1.5 },
    note: `${sides(measured)} ms`,
  };
}

async function memory(home: string, bare: string, blocks: number): Promise<Row> {
  const idle = async (start: () => Promise<Served>): Promise<number> => {
    const { child } = await start();
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    const bytes = await residentBytes(child.pid);
    await child.stop();
    return bytes / 2 ** 20;
  };
  const measured = await measureBlocks(
    blocks,
    () => idle(() => startGateway(home)),
    () => idle(() => startBare(bare)),
  );
  return {
    name: "idle memory ÷ bare node:http",
    ...ratioOf(measured),
    unit: "",
    bound: { is: "at most", must: 1.6 },
    note: `${sides(measured)} MiB resident`,
  };
}

async function answering(home: string, bare: string, blocks: number, durationMs: number): Promise<readonly Row[]> {
  // Nobody works: the run that is asked for stays queued, so its record stays the same.
  const ours = await startGateway(home, ["--workers", "0"]);
  const token = await tokenOf(home);
  const authorization = { authorization: `Bearer ${token}` };
  try {
    const runId = await queueRun(ours.url, authorization);
    const rows: Row[] = [];
    for (const [path, must, aim] of [
      ["/api/approvals", 0.5, 0.8],
      [`/v1/runs/${runId}`, null, undefined],
    ] as const) {
      const { body } = await getOnce(ours.url + path, authorization);
      const theirs = await startBare(bare, body);
      const measured = await measureBlocks(
        blocks,
        () => requestsPerSecond(ours.url + path, token, durationMs),
        () => requestsPerSecond(theirs.url + path, token, durationMs),
      );
      await theirs.child.stop();
      rows.push({
        name: `GET ${path.replace(runId, "{id}")} ÷ bare node:http`,
        ...ratioOf(measured),
        unit: "",
        bound: must === null ? null : { is: "at least", must, aim },
        note: `${sides(measured)} a second, ${Buffer.byteLength(body)} bytes`,
      });
    }
    return rows;
  } finally {
    await ours.child.stop();
  }
}

async function queueRun(url: string, headers: Readonly<Record<string, string>>): Promise<string> {
  const response = await fetch(`${url}/v1/runs`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ agent_id: "main", message: "hello" }),
  });
  return ((await response.json()) as { readonly id: string }).id;
}

function sides(blocks: readonly Block<number>[]): string {
  const [ours, theirs] = [median(blocks.map(({ subject }) => subject)), median(blocks.map(({ baseline }) => baseline))];
  return `${ours.toFixed(0)} and ${theirs.toFixed(0)}`;
}
