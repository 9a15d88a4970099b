/** Another process on the same home: a script of this folder, read line by line. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface Child {
  /** Its next line; rejects when it ends instead. */
  nextLine(): Promise<string>;
  say(line: string): void;
  /** Everything it still says until it is gone. */
  kill(signal: "SIGKILL" | "SIGTERM"): Promise<readonly string[]>;
}

export function startChild(script: string, ...args: readonly string[]): Child {
  const file = fileURLToPath(new URL(script, import.meta.url));
  const child: ChildProcess = spawn(process.execPath, [file, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  const exited = once(child, "exit");
  if (child.stdout === null) throw new Error("the child has no output");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async nextLine() {
      const { done, value } = await lines.next();
      if (done === true) throw new Error(`${script} ended too early`);
      return value;
    },
    say: (line) => child.stdin?.write(`${line}\n`),
    async kill(signal) {
      child.kill(signal);
      const rest: string[] = [];
      for (let next = await lines.next(); next.done !== true; next = await lines.next()) rest.push(next.value);
      await exited;
      return rest;
    },
  };
}
