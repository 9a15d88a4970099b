/**
 * Other libraries with the same conversation on the same scripted server, beside the plain `fetch` loop: each in a
 * process of its own, installed into a directory outside the project which is kept for the next time.
 *
 * A peer that cannot be installed or does not run is told as such; it fails nothing.
 */
import { execFile } from "node:child_process";
import { access, mkdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { median } from "./blocks.ts";
import type { BenchWorld } from "./figure.ts";
import type { PeerFigures } from "./peers/agent-loop.ts";
import type { Row } from "./row.ts";
import { makeHome, removeDirectory, temporaryDirectory } from "./scene.ts";

interface Peer {
  readonly name: string;
  readonly script: string;
  /** What is installed for it, and in which versions; its own first. */
  readonly packages: Readonly<Record<string, string>>;
  readonly keeps: string;
}

const PEERS: readonly Peer[] = [
  { name: "surety", script: "surety.ts", packages: {}, keeps: "every step" },
  {
    name: "AI SDK",
    script: "ai-sdk.ts",
    packages: { ai: "latest", "@ai-sdk/openai-compatible": "latest", zod: "latest" },
    keeps: "nothing",
  },
  {
    name: "LangGraph + SQLite",
    script: "langgraph.ts",
    // Its parts fit each other in few versions only; not every registry has the newest of each.
    packages: {
      "@langchain/langgraph": "~1.3.0",
      "@langchain/langgraph-checkpoint-sqlite": "1",
      "@langchain/openai": "~1.2.0",
      "@langchain/core": "1",
    },
    keeps: "every node, not power-safe",
  },
  {
    name: "Restate",
    script: "restate.ts",
    packages: { "@restatedev/restate-sdk": "latest", "@restatedev/restate-server": "latest" },
    keeps: "every step",
  },
];

const INSTALL_MS = 600_000;
const RUN_MS = 300_000;
/** A line for every invocation would be measured too. */
const QUIET = { ...process.env, RESTATE_LOGGING: "ERROR" };
const AT_ONCE = 64;
const run = promisify(execFile);

export async function measurePeers({ isQuick, model }: BenchWorld): Promise<readonly Row[]> {
  const rounds = isQuick ? 1 : 3;
  const directory = await temporaryDirectory();
  const { workspace } = await makeHome(join(directory, "home"));
  const figuresOf = async ({ script }: Pick<Peer, "script">, packages: string): Promise<PeerFigures> => {
    const scratch = await temporaryDirectory();
    const args = [join(import.meta.dirname, "peers", script), packages, model.ready, workspace, scratch];
    try {
      const runs = isQuick ? "5" : "20";
      const { stdout } = await run(process.execPath, [...args, runs, String(AT_ONCE)], {
        timeout: RUN_MS,
        cwd: scratch,
        env: QUIET,
      });
      // A peer may have had something to say before.
      return JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as PeerFigures;
    } finally {
      await removeDirectory(scratch);
    }
  };
  const rows: Row[] = [];
  try {
    for (const peer of PEERS) {
      process.stderr.write(`measuring ${peer.name} …\n`);
      rows.push(...(await compare(peer, rounds, figuresOf)));
    }
    return rows;
  } finally {
    await removeDirectory(directory);
  }
}

type FiguresOf = (peer: Pick<Peer, "script">, packages: string) => Promise<PeerFigures>;

async function compare(peer: Peer, rounds: number, figuresOf: FiguresOf): Promise<readonly Row[]> {
  const throughput = { name: `${peer.name}: 64 at once ÷ plain fetch loop`, unit: "", bound: null };
  const step = { name: `${peer.name}: one step ÷ plain fetch loop`, unit: "", bound: null };
  try {
    const { packages, versions } = await install(peer);
    const pairs: { readonly plain: PeerFigures; readonly theirs: PeerFigures; readonly again: PeerFigures }[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const plain = await figuresOf({ script: "fetch.ts" }, packages);
      const theirs = await figuresOf(peer, packages);
      pairs.push({ plain, theirs, again: await figuresOf({ script: "fetch.ts" }, packages) });
    }
    const ratio = (value: (figures: PeerFigures) => number) => {
      const middle = median(
        pairs.map(({ plain, theirs, again }) => value(theirs) / ((value(plain) + value(again)) / 2)),
      );
      const spread = middle * median(pairs.map(({ plain, again }) => Math.abs(value(again) / value(plain) - 1)));
      return { value: middle, spread };
    };
    const stepMs = median(pairs.map(({ theirs }) => theirs.stepMs));
    const perSecond = median(pairs.map(({ theirs }) => theirs.stepsPerSecond));
    return [
      {
        ...step,
        ...ratio((figures) => figures.stepMs),
        note: `${stepMs.toFixed(2)} ms; keeps ${peer.keeps}${versions}`,
      },
      { ...throughput, ...ratio((figures) => figures.stepsPerSecond), note: `${perSecond.toFixed(0)} steps/s` },
    ];
  } catch (error) {
    const why = error instanceof Error ? (error.message.split("\n").find((line) => line !== "") ?? "") : String(error);
    return [{ ...throughput, value: null, spread: 0, note: why.slice(0, 160) }];
  }
}

async function install(peer: Peer): Promise<{ readonly packages: string; readonly versions: string }> {
  const packages = join(tmpdir(), "surety-bench-peers", peer.script.replace(".ts", ""));
  const names = Object.keys(peer.packages);
  const [own] = names;
  if (own === undefined) return { packages, versions: "" };
  const manifestOf = (name: string): string => join(packages, "node_modules", name, "package.json");
  const isThere = await Promise.all(names.map((name) => access(manifestOf(name)))).then(
    () => true,
    () => false,
  );
  if (!isThere) {
    await mkdir(packages, { recursive: true });
    await writeFile(join(packages, "package.json"), '{"private":true,"type":"module"}');
    const quiet = ["--no-audit", "--no-fund", "--silent"];
    const wanted = Object.entries(peer.packages).map(([name, version]) => `${name}@${version}`);
    await run("npm", ["install", ...quiet, ...wanted], { cwd: packages, timeout: INSTALL_MS });
  }
  const { version } = JSON.parse(await readFile(manifestOf(own), "utf8")) as { readonly version: string };
  return { packages, versions: `; ${own} ${version}` };
}
