/** `npm start` as a user meets it: the ready line, a healthy answer, a run, and a clean stop. */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const READY = /^surety listening on (http:\/\/127\.0\.0\.1:\d+)$/;
const DEADLINE_MS = 60_000;

const home = await mkdtemp(join(tmpdir(), "surety-start-"));
const gateway = spawn("npm", ["start", "--silent", "--", "--home", home, "--port", "0"], {
  stdio: ["ignore", "pipe", "inherit"],
  detached: true,
});
const exited = new Promise<number | null>((resolve) => gateway.on("exit", resolve));
try {
  const url = await within(readyUrl());
  await expectOk(await fetch(`${url}/healthz`));
  const token = (await readFile(join(home, "token"), "utf8")).trim();
  const headers = { Authorization: `Bearer ${token}` };
  const body = JSON.stringify({ agent_id: "main", message: "list files" });
  const accepted = await expectOk(await fetch(`${url}/v1/runs`, { method: "POST", headers, body }));
  const { id } = (await accepted.json()) as { id: string };
  // The stream ends with the run.
  await (await expectOk(await fetch(`${url}/v1/runs/${id}/events`, { headers }))).text();
  const record = (await (await fetch(`${url}/v1/runs/${id}`, { headers })).json()) as { outcome: string };
  if (record.outcome !== "COMPLETED_WITH_TOOLS") throw new Error(`the run ended ${record.outcome}`);
  process.stdout.write(`npm start: ready at ${url}, one run ${record.outcome}\n`);
} finally {
  // npm hands a signal on to a whole group only if it is sent there.
  if (gateway.pid !== undefined) process.kill(-gateway.pid, "SIGTERM");
  await within(exited);
  await rm(home, { recursive: true, force: true });
}

async function readyUrl(): Promise<string> {
  for await (const line of createInterface({ input: gateway.stdout })) {
    const url = READY.exec(line)?.[1];
    if (url !== undefined) return url;
  }
  throw new Error("npm start ended without its ready line");
}

async function expectOk(response: Response): Promise<Response> {
  if (!response.ok) throw new Error(`${response.url} answered ${response.status}: ${await response.text()}`);
  return response;
}

function within<Value>(work: Promise<Value>): Promise<Value> {
  return Promise.race([
    work,
    new Promise<never>((_, reject) => {
      setTimeout(() => reject(new Error(`nothing for ${DEADLINE_MS} ms`)), DEADLINE_MS).unref();
    }),
  ]);
}
