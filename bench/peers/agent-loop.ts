/**
 * What every peer is asked: the conversation of the benches, as often and as many at once as the command says, in a
 * process of its own. Prints one line of JSON.
 *
 * Peers are no dependencies of ours: their modules are found in the directory they were installed into.
 */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export interface PeerSetting {
  /** Where the peer's packages are. */
  readonly packages: string;
  readonly baseUrl: string;
  /** The files the scripted model asks for. */
  readonly workspace: string;
  /** The peer's own, to keep things in. */
  readonly scratch: string;
}

/** Turns in, answer out. */
export type PeerLoop = (turns: number) => Promise<void>;

export interface PeerFigures {
  readonly stepMs: number;
  readonly stepsPerSecond: number;
}

export const SYSTEM = "You are a helpful assistant.";

export function promptFor(turns: number): string {
  return `turns=${turns} tool=fs.read_text folder=none-1`;
}

let notesRead = 0;

export async function readNote({ workspace }: PeerSetting, path: string): Promise<string> {
  notesRead += 1;
  return JSON.stringify({ path, text: await readFile(join(workspace, path), "utf8") });
}

export function loaderFrom(packages: string): (name: string) => Promise<unknown> {
  const require = createRequire(join(packages, "package.json"));
  return (name) => import(pathToFileURL(require.resolve(name)).href);
}

const TURNS = 10;
const STEPS = TURNS + 1;

export async function measurePeer(open: (setting: PeerSetting) => Promise<PeerLoop>): Promise<void> {
  const [packages = "", baseUrl = "", workspace = "", scratch = "", runs = "20", atOnce = "64"] = process.argv.slice(2);
  const loop = await open({ packages, baseUrl, workspace, scratch });
  for (let warmUp = 0; warmUp < Number(runs); warmUp += 1) await loop(TURNS);
  // A peer that gives up early would look fast.
  const asked = Number(runs) * TURNS;
  if (notesRead !== 0 && notesRead !== asked) throw new Error(`${notesRead} notes were read instead of ${asked}`);
  const alone = performance.now();
  for (let run = 0; run < Number(runs); run += 1) await loop(TURNS);
  const stepMs = (performance.now() - alone) / Number(runs) / STEPS;
  await Promise.all(Array.from({ length: Number(atOnce) }, () => loop(TURNS)));
  const together = performance.now();
  await Promise.all(Array.from({ length: Number(atOnce) }, () => loop(TURNS)));
  const stepsPerSecond = (Number(atOnce) * STEPS * 1000) / (performance.now() - together);
  const figures: PeerFigures = { stepMs, stepsPerSecond };
  console.log(JSON.stringify(figures));
  process.exit();
}
