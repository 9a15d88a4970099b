/** A process of our own beside this one: started, heard until it says it is ready, ended by its handle. */
import { type ChildProcess, spawn } from "node:child_process";

export interface Child {
  readonly pid: number;
  /** The first line it printed. */
  readonly ready: string;
  stop(): Promise<void>;
}

export interface ChildOptions {
  readonly node?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export async function startChild(file: string, args: readonly string[], options: ChildOptions = {}): Promise<Child> {
  const child = spawn(process.execPath, [...(options.node ?? []), file, ...args], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, ...options.env },
    cwd: options.cwd,
  });
  const ready = await firstLine(child);
  return { pid: child.pid ?? 0, ready, stop: () => stop(child) };
}

function firstLine(child: ChildProcess): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let text = "";
  child.stdout?.on("data", (part: Buffer) => {
    text += part.toString();
    const end = text.indexOf("\n");
    if (end !== -1) resolve(text.slice(0, end));
  });
  child.on("error", reject);
  child.on("exit", (code) => reject(new Error(`it ended with ${code} before it was ready`)));
  return promise;
}

async function stop(child: ChildProcess): Promise<void> {
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGTERM");
  await exited;
}
