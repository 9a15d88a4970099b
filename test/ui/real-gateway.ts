/** A real gateway, as its own process, on a home of its own; and the models it may talk to. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, onTestFinished } from "vitest";

const ENTRY = fileURLToPath(new URL("../../src/boot/surety.ts", import.meta.url));
const LISTENING = /surety listening on (\S+)/;

export interface RealGateway {
  readonly url: string;
  readonly home: string;
  readonly token: string;
  /** At once, as a power cut would. */
  kill(): Promise<void>;
  /** On the same home and port. */
  start(): Promise<void>;
  /** Asks with the home's own token. */
  ask<Answer = unknown>(method: string, path: string, body?: object): Promise<Answer>;
}

/** With the built-in demo model, unless the config says otherwise. */
export function openGateway(config: object = {}): Promise<RealGateway> {
  return openUntil(onTestFinished, config);
}

/** One for all tests of a file that ask for it. */
export function shareGateway(config: () => object | Promise<object> = () => ({})): () => Promise<RealGateway> {
  const ends: (() => Promise<void>)[] = [];
  afterAll(async () => {
    for (const end of ends) await end();
  });
  const open = async (): Promise<RealGateway> => openUntil((end) => ends.push(end), await config());
  let opened: Promise<RealGateway> | null = null;
  return () => {
    opened ??= open();
    return opened;
  };
}

async function openUntil(whenOver: (end: () => Promise<void>) => unknown, config: object): Promise<RealGateway> {
  const home = await mkdtemp(join(tmpdir(), "surety-ui-"));
  await writeFile(join(home, "surety.json5"), JSON.stringify(config));
  let port = 0;
  let child: ChildProcess | null = null;
  const gateway = { url: "", token: "" };

  const start = async (): Promise<void> => {
    const words = [ENTRY, "start", "--home", home, "--port", String(port)];
    child = spawn(process.execPath, words, {
      env: { ...process.env, NO_COLOR: "1" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    gateway.url = await listeningOf(child);
    port = Number(new URL(gateway.url).port);
    gateway.token = (await readFile(join(home, "token"), "utf8")).trim();
  };
  const kill = async (): Promise<void> => {
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, "close");
    child.kill("SIGKILL");
    await closed;
  };
  whenOver(async () => {
    await kill();
    await rm(home, { recursive: true, force: true });
  });
  await start();
  return {
    get url() {
      return gateway.url;
    },
    get token() {
      return gateway.token;
    },
    home,
    kill,
    start,
    async ask<Answer>(method: string, path: string, body?: object) {
      const answered = await fetch(`${gateway.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${gateway.token}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      if (!answered.ok) throw new Error(`${method} ${path}: ${answered.status} ${await answered.text()}`);
      return (await answered.json()) as Answer;
    },
  };
}

function listeningOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let written = "";
    const read = (chunk: Buffer): void => {
      written += chunk.toString();
      const url = LISTENING.exec(written)?.[1];
      if (url !== undefined) resolve(url);
    };
    child.stdout?.on("data", read);
    child.stderr?.on("data", read);
    child.once("close", () => reject(new Error(`the gateway ended: ${written}`)));
  });
}
