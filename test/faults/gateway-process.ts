/**
 * A real gateway process, and how it is talked to, killed and stopped.
 *
 * P1. It is ended by its own process id; whatever is left is ended when the harness exits.
 * P2. A request that the process did not live to answer is null: nobody knows what became of it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { Agent, request } from "node:http";

export interface Reply {
  readonly status: number;
  readonly body: unknown;
}

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface GatewayProcess {
  readonly pid: number;
  readonly port: number;
  /** From the start of the process to its ready line. */
  readonly readyMs: number;
  readonly stderr: readonly string[];
  readonly ended: Promise<Ending>;
  readonly isGone: boolean;
  ask(
    method: "GET" | "POST" | "DELETE",
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Reply | null>;
  /** SIGKILL, and gone when it resolves. */
  kill(): Promise<Ending>;
  /** SIGTERM, and gone when it resolves. */
  stop(): Promise<Ending>;
}

/** It ended before it was ready. */
export class NeverReady extends Error {
  override readonly name = "NeverReady";
  readonly ending: Ending;
  readonly stderr: readonly string[];

  constructor(ending: Ending, stderr: readonly string[]) {
    super(`the gateway ended before it was ready (${ending.signal ?? ending.code}): ${stderr.join(" | ")}`);
    this.ending = ending;
    this.stderr = stderr;
  }
}

export const TOKEN = "a-token-for-faults-only-0123456789";
const { PATH = "", NODE_COMPILE_CACHE } = process.env;
export const VARIABLES = {
  ...{ PATH, SURETY_TOKEN: TOKEN, NO_COLOR: "1" },
  ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }),
};

const living = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of living) child.kill("SIGKILL");
});

/** What a start says of the runs it found: no complaint. */
const NOTICE = /^(?:\d+ (?:unfinished|questions?|runs?)\b|run_\w+ was interrupted: )/;

/** The words of a command line, of which the first is the program. */
export async function startGateway(
  [program = "", ...words]: readonly string[],
  dieAfterMs?: number,
): Promise<GatewayProcess> {
  const startedAt = performance.now();
  const child = spawn(program, words, { stdio: ["ignore", "pipe", "pipe"], env: VARIABLES });
  living.add(child);
  if (dieAfterMs !== undefined) setTimeout(() => child.kill("SIGKILL"), dieAfterMs);
  const stderr: string[] = [];
  listen(child.stderr, (line) => {
    if (!NOTICE.test(line)) stderr.push(line);
  });
  const ended = new Promise<Ending>((resolve) => {
    child.once("close", (code, signal) => {
      living.delete(child);
      resolve({ code, signal });
    });
  });
  const ready = new Promise<string>((resolve) => {
    listen(child.stdout, (line) => {
      const url = /^surety listening on (\S+)/.exec(line)?.[1];
      if (url !== undefined) resolve(url);
    });
  });
  const url = await Promise.race([ready, ended]);
  if (typeof url !== "string") throw new NeverReady(url, stderr);
  const readyMs = performance.now() - startedAt;
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const endBy = (signal: "SIGKILL" | "SIGTERM"): Promise<Ending> => {
    child.kill(signal);
    agent.destroy();
    return ended;
  };
  return {
    pid: child.pid ?? 0,
    port: Number(new URL(url).port),
    readyMs,
    stderr,
    ended,
    get isGone() {
      return !living.has(child);
    },
    ask: (method, path, body, headers) => ask(agent, new URL(path, url), method, body, headers),
    kill: () => endBy("SIGKILL"),
    stop: () => endBy("SIGTERM"),
  };
}

function listen(stream: NodeJS.ReadableStream | null, hear: (line: string) => void): void {
  let rest = "";
  stream?.on("data", (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) hear(line);
  });
}

function ask(
  agent: Agent,
  url: URL,
  method: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Reply | null> {
  return new Promise((resolve) => {
    const head = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json", ...headers };
    const outgoing = request(url, { agent, method, headers: head }, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("error", () => resolve(null));
      response.on("aborted", () => resolve(null));
      response.on("end", () => resolve(replyOf(response.statusCode ?? 0, Buffer.concat(parts).toString())));
    });
    outgoing.on("error", () => resolve(null));
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function replyOf(status: number, text: string): Reply {
  return { status, body: text === "" ? null : JSON.parse(text) };
}
