/**
 * One contained process, from its start until all of it has ended.
 *
 * C1. It is ended by SIGKILL to its process group, which bubblewrap never leaves. The first process of the sandbox's
 *     process namespace dies with it, and the kernel then ends all others in it. The same happens when the command ends by
 *     itself, and when the gateway dies.
 * C2. Until the launcher runs, that first process does not die with bubblewrap. So the command waits for an answer that
 *     only a living gateway that still wants it gives (L3): nothing starts that would not end.
 * C3. It is over when its outputs are closed: the first process of the sandbox held them too, so it is gone, and the
 *     kernel is ending the rest.
 * C4. Output is always read, even beyond the limit, so that the command never blocks on it.
 */
import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { constants } from "node:os";
import { Duplex } from "node:stream";
import type { Clock } from "../../runtime/ports/clock.ts";
import { SandboxError, type SandboxWatcher } from "../../runtime/ports/sandbox.ts";
import { BoundedOutput } from "./bounded-output.ts";
import { FIRST_FREE_FD } from "./close-other-files.ts";
import { ANSWER_TO_MARK, MARK_FD, STARTED_MARK } from "./launcher-script.ts";

export interface Containment {
  readonly program: string;
  readonly words: readonly string[];
  readonly inputs: readonly Uint8Array[];
  readonly directoryFd: number;
  readonly nullFd: number;
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
}

export interface Ended {
  readonly exitCode: number;
  /** The command itself ran. If not, exit code and errors are bubblewrap's or the launcher's. */
  readonly hasStarted: boolean;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  readonly isCut: boolean;
  readonly isTimedOut: boolean;
  readonly durationMs: number;
}

const STUCK =
  "A killed command did not end: one of its processes waits for a disk or device that does not answer. Check the disk.";

/** Far more than the kernel needs to end some hundred processes. */
const GRACE_MS = 2000;

export function containProcess(containment: Containment, watcher: SandboxWatcher, clock: Clock): Promise<Ended> {
  const { program, words, inputs, timeoutMs, maxOutputBytes } = containment;
  const startedMs = clock.monotonicMs();
  const { promise, resolve, reject } = Promise.withResolvers<Ended>();
  const child = spawn(program, words, {
    // The launcher changes to the command's directory inside the sandbox.
    cwd: "/",
    env: {},
    detached: true,
    stdio: descriptors(containment),
  });
  let isTimedOut = false;
  let stopWaiting = (): void => {};
  const end = (): void => {
    // Without an answer the launcher starts nothing (C2).
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

  const collect = (stream: "stdout" | "stderr"): BoundedOutput => {
    const output = new BoundedOutput(maxOutputBytes);
    child[stream]?.on("data", (piece: Uint8Array) => {
      const added = output.add(piece);
      if (added.length === 0) return;
      try {
        watcher.onOutput?.(stream, added);
      } catch (error) {
        reject(error);
        end();
      }
    });
    return output;
  };
  const stdout = collect("stdout");
  const stderr = collect("stderr");
  const mark = new BoundedOutput(STARTED_MARK.length);
  const hasStarted = (): boolean => mark.bytes.length === STARTED_MARK.length;
  const launcher = child.stdio?.[MARK_FD];
  launcher?.on("data", (piece: Uint8Array) => {
    mark.add(piece);
    if (hasStarted()) send(launcher, ANSWER_TO_MARK);
  });
  for (const [index, bytes] of inputs.entries()) send(child.stdio?.[FIRST_FREE_FD + index], bytes);

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

function descriptors({ inputs, directoryFd, nullFd }: Containment): StdioOptions {
  return [nullFd, "pipe", "pipe", "pipe", directoryFd, ...inputs.map(() => "pipe" as const)];
}

/** Once the leader has exited, its number may belong to another group; the rest of ours is ending already (C1). */
function killGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Root may lack the capability to end another user's processes; the grace period then reports it.
  }
}

function send(pipe: ChildProcess["stdio"][number] | undefined, bytes: Uint8Array | string): void {
  if (!(pipe instanceof Duplex)) return;
  // A process that does not read to the end did not start, which its exit code reports.
  pipe.on("error", () => {});
  pipe.end(bytes);
}
