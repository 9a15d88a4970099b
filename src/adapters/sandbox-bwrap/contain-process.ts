/**
 * One contained process, from its start until nothing of it is left.
 *
 * C1. It ends in one way only: by SIGKILL to its group, which bubblewrap never leaves. With it dies the first process of
 *     the sandbox's own process namespace, and the kernel then ends every other in it. A command that ends by itself takes
 *     what it left behind with it in the same way, and so does a gateway that dies.
 * C2. Until it runs the launcher, that first process is not bound to bubblewrap's life. So the command waits for an answer
 *     that only a gateway gives which lives and still wants it (L3): nothing begins that would not end.
 * C3. It is over when its outputs are closed, which the first process of the sandbox held as well: then that one is gone,
 *     and the kernel is ending whatever had closed them before.
 * C4. Output is always read, kept or not: nobody waits for us, and nothing piles up.
 */
import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { constants } from "node:os";
import { Duplex } from "node:stream";
import type { Clock } from "../../runtime/ports/clock.ts";
import { SandboxError, type SandboxWatcher } from "../../runtime/ports/sandbox.ts";
import { BoundedOutput } from "./bounded-output.ts";
import { FIRST_INPUT_FD } from "./bwrap-arguments.ts";
import { ANSWER_TO_MARK, MARK_FD, STARTED_MARK } from "./launcher-script.ts";

export interface Containment {
  readonly program: string;
  readonly words: readonly string[];
  readonly inputs: readonly Uint8Array[];
  readonly directoryFd: number;
  /** Would be handed on to the command if nothing took their place. */
  readonly strayFds: readonly number[];
  /** Open on `/dev/null`. */
  readonly nothingFd: number;
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
}

export interface Ended {
  readonly exitCode: number;
  /** The command itself ran. Without it, exit code and errors are bubblewrap's or the launcher's. */
  readonly hasStarted: boolean;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  readonly isCut: boolean;
  readonly isTimedOut: boolean;
  readonly durationMs: number;
}

const STUCK =
  "A command did not end although it was killed: a process waits for a disk or a device that does not answer.";

/** What the kernel needs to end some hundred processes, and far more. */
const GRACE_MS = 2000;

export function containProcess(containment: Containment, watcher: SandboxWatcher, clock: Clock): Promise<Ended> {
  const { program, words, inputs, timeoutMs, maxOutputBytes } = containment;
  const startedMs = clock.monotonicMs();
  const { promise, resolve, reject } = Promise.withResolvers<Ended>();
  const child = spawn(program, words, {
    // The directory it starts in is its own business, within the sandbox.
    cwd: "/",
    env: {},
    detached: true,
    stdio: descriptors(containment),
  });
  let isTimedOut = false;
  let stopWaiting = (): void => {};
  const end = (): void => {
    // Nobody is answered any more.
    child.stdio?.[MARK_FD]?.destroy();
    killGroup(child);
    stopWaiting();
    stopWaiting = clock.wake(GRACE_MS, () => reject(new SandboxError("sandbox.failed", STUCK)));
  };
  stopWaiting = clock.wake(timeoutMs, () => {
    isTimedOut = true;
    end();
  });
  watcher.signal.addEventListener("abort", end, { once: true });

  const gather = (stream: "stdout" | "stderr"): BoundedOutput => {
    const output = new BoundedOutput(maxOutputBytes);
    child[stream]?.on("data", (piece: Uint8Array) => {
      const kept = output.add(piece);
      if (kept.length === 0) return;
      try {
        watcher.onOutput?.(stream, kept);
      } catch (error) {
        reject(error);
        end();
      }
    });
    return output;
  };
  const stdout = gather("stdout");
  const stderr = gather("stderr");
  const mark = new BoundedOutput(STARTED_MARK.length);
  const hasStarted = (): boolean => mark.bytes.length === STARTED_MARK.length;
  const launcher = child.stdio?.[MARK_FD];
  launcher?.on("data", (piece: Uint8Array) => {
    mark.add(piece);
    if (hasStarted()) give(launcher, ANSWER_TO_MARK);
  });
  for (const [index, bytes] of inputs.entries()) give(child.stdio?.[FIRST_INPUT_FD + index], bytes);

  child.on("error", reject);
  child.on("close", (code, signalName) => {
    resolve({
      exitCode: code ?? 128 + constants.signals[signalName ?? "SIGKILL"],
      hasStarted: hasStarted(),
      stdout: stdout.bytes,
      stderr: stderr.bytes,
      isCut: stdout.isCut || stderr.isCut,
      isTimedOut,
      durationMs: clock.monotonicMs() - startedMs,
    });
  });
  return promise.finally(() => {
    stopWaiting();
    watcher.signal.removeEventListener("abort", end);
  });
}

/** Standard input is `/dev/null`, and so is whatever must not get through. */
function descriptors({ inputs, directoryFd, strayFds, nothingFd }: Containment): StdioOptions {
  const known = [nothingFd, "pipe", "pipe", "pipe", directoryFd, ...inputs.map(() => "pipe" as const)] as const;
  const last = Math.max(known.length - 1, ...strayFds);
  const strays = new Set(strayFds);
  return Array.from({ length: last + 1 }, (_, fd) => known[fd] ?? (strays.has(fd) ? nothingFd : "ignore"));
}

/** A group whose leader is gone may have its number taken by others; what is left of ours is ending already (C1). */
function killGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Root may lack the right to end another user's processes: then it does not end, and that is said.
  }
}

function give(pipe: ChildProcess["stdio"][number] | undefined, bytes: Uint8Array | string): void {
  if (!(pipe instanceof Duplex)) return;
  // Whoever does not read to the end did not start, and says so by its exit code.
  pipe.on("error", () => {});
  pipe.end(bytes);
}
