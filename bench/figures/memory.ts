/**
 * What a gateway keeps after work: resident memory half a minute after twenty thousand runs, beside what it was half a
 * minute after the first two thousand. Runs come in over HTTP, 64 at a time, with the built-in model.
 */
import { join } from "node:path";
import type { BenchWorld, Figure } from "../figure.ts";
import { residentBytes, type Served, startGateway, tokenOf } from "../gateway-process.ts";
import { getOnce } from "../http-load.ts";
import type { Row } from "../row.ts";
import { makeHome, removeDirectory, temporaryDirectory } from "../scene.ts";

const AT_ONCE = 64;
const BODY = JSON.stringify({ agent_id: "main", message: "read n001.txt" });
const MIB = 2 ** 20;

export const memory: Figure = { name: "memory", measure };

async function measure({ isQuick }: BenchWorld): Promise<readonly Row[]> {
  const [few, many, idleMs] = isQuick ? [200, 2_000, 12_000] : [2_000, 20_000, 30_000];
  const directory = await temporaryDirectory();
  try {
    const home = join(directory, "home");
    await makeHome(home);
    const gateway = await startGateway(home);
    try {
      const headers = { authorization: `Bearer ${await tokenOf(home)}`, "content-type": "application/json" };
      const residentAfter = async (runs: number, total: number): Promise<number> => {
        await perform(gateway, headers, runs, total);
        await pause(idleMs);
        return (await residentBytes(gateway.child.pid)) / MIB;
      };
      const first = await residentAfter(few, few);
      const last = await residentAfter(many - few, many);
      return [
        {
          name: `resident memory ${idleMs / 1000} s after ${many.toLocaleString("en")} runs ÷ after ${few.toLocaleString("en")}`,
          value: last / first,
          spread: 0,
          unit: "",
          bound: { is: "at most", must: 1.2 },
          note: `${Math.round(last)} ÷ ${Math.round(first)} MiB resident`,
        },
      ];
    } finally {
      await gateway.child.stop();
    }
  } finally {
    await removeDirectory(directory);
  }
}

/** Ends when `total` runs of the home have completed. */
async function perform(
  { url }: Served,
  headers: Readonly<Record<string, string>>,
  runs: number,
  total: number,
): Promise<void> {
  let left = runs;
  const submitAll = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      while (!(await isAccepted(url, headers))) await pause(50);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, submitAll));
  while ((await completed(url, headers)) < total) await pause(200);
}

/** False when the queue is full. */
async function isAccepted(url: string, headers: Readonly<Record<string, string>>): Promise<boolean> {
  const response = await fetch(`${url}/v1/runs`, { method: "POST", headers, body: BODY });
  const text = await response.text();
  if (response.status !== 202 && response.status !== 429) throw new Error(`${response.status} ${text}`);
  return response.status === 202;
}

async function completed(url: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const { body } = await getOnce(`${url}/v1/runs?limit=1&status=completed`, headers);
  return (JSON.parse(body) as { readonly total: number }).total;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
