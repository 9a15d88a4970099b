/** The gateway as people start it: the bundle, in a process of its own, on a home that is there already. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { BARE_SERVER } from "./bare-server.ts";
import { type Child, startChild } from "./child.ts";
import { getOnce } from "./http-load.ts";

const BUNDLE = join(import.meta.dirname, "..", "dist", "surety.js");

export interface Served {
  readonly child: Child;
  readonly url: string;
}

export async function startGateway(home: string, more: readonly string[] = []): Promise<Served> {
  return await served(startChild(BUNDLE, ["start", "--home", home, "--port", "0", ...more]));
}

export async function writeBareServer(directory: string): Promise<string> {
  const file = join(directory, "bare.mjs");
  await writeFile(file, BARE_SERVER);
  return file;
}

export async function startBare(file: string, body = '{"ok":true}'): Promise<Served> {
  return await served(startChild(file, [body]));
}

/** Up when it has answered. */
async function served(starting: Promise<Child>): Promise<Served> {
  const child = await starting;
  const url = /http:\/\/\S+/.exec(child.ready)?.[0];
  if (url === undefined) throw new Error(`no address: ${child.ready}`);
  const { status } = await getOnce(`${url}/healthz`);
  if (status !== 200) throw new Error(`not healthy: ${status}`);
  return { child, url };
}

export async function tokenOf(home: string): Promise<string> {
  return (await readFile(join(home, "token"), "utf8")).trim();
}

export async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}
