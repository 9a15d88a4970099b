/**
 * strace as the hand that breaks system calls: it makes the k-th of them fatal, or lets all of them fail for a while.
 *
 * S1. `strace -D`: the traced process is our own child, so that its id and its end are what they would be without.
 * S2. The count `when=k` is each thread's own.
 */
import { spawn, spawnSync } from "node:child_process";

export const SYNCS = "fsync,fdatasync";
export const WRITES = "pwrite64";

export function hasStrace(): boolean {
  return spawnSync("strace", ["-V"]).status === 0;
}

/** Command words to put before those of a process, which then dies at its k-th call on these files, or on any. */
export function fatalCall(calls: string, k: number, files: readonly string[] = []): readonly string[] {
  const injection = `inject=${calls}:signal=SIGKILL:when=${k}`;
  const below = files.flatMap((file) => ["-P", file]);
  return ["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", `trace=${calls}`, "-e", injection, ...below, "--"];
}

/** From now on these calls of the process fail with this error, until `heal`. */
export async function failCalls(
  pid: number,
  calls: string,
  error: "EIO" | "ENOSPC",
): Promise<{ heal(): Promise<void> }> {
  const injection = `inject=${calls}:error=${error}`;
  const words = ["-f", "-p", String(pid), "-o", "/dev/null", "-e", `trace=${calls}`, "-e", injection];
  const tracer = spawn("strace", words, { stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise<void>((resolve) => tracer.once("close", () => resolve()));
  await new Promise<void>((resolve, reject) => {
    let said = "";
    tracer.stderr.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes("attached")) resolve();
    });
    ended.then(() => reject(new Error(`strace ended: ${said}`)));
  });
  return {
    heal: () => {
      tracer.kill("SIGTERM");
      return ended;
    },
  };
}
