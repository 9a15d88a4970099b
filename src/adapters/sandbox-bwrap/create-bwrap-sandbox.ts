/**
 * A sandbox made by bubblewrap: namespaces, a seccomp filter, limits, and an unprivileged user (docs/sandbox.md).
 * A command that cannot be contained is not run: without the launcher's mark there is no result. A pinned file is mounted
 * by its path, and bubblewrap follows links, which may lead to the host while the sandbox is being made: a link on that
 * path is refused. The caller makes sure that none appears meanwhile.
 */
import { addAbortListener } from "node:events";
import { closeSync, constants, fstatSync, lstatSync, openSync } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import type { Clock } from "../../runtime/ports/clock.ts";
import type { Sandbox, SandboxCommand, SandboxWatcher } from "../../runtime/ports/sandbox.ts";
import { asUser, bwrapArguments, type ContainedCommand, type Identity } from "./bwrap-arguments.ts";
import { checkAgain } from "./check-again.ts";
import { checkProperties } from "./check-properties.ts";
import { closeOtherFiles } from "./close-other-files.ts";
import { containProcess, type Ended } from "./contain-process.ts";
import { createMountNamespaces, type StartingPoint } from "./mount-namespaces.ts";
import { movedAway, notStarted, startFailure, unknownArchitecture } from "./sandbox-failure.ts";
import { DEFAULT_LIMITS, type SandboxLimits } from "./sandbox-limits.ts";
import { type Architecture, compileSeccompFilter } from "./seccomp-filter.ts";
import { systemMounts } from "./system-mounts.ts";

export interface BwrapSandboxOptions {
  readonly clock: Clock;
  readonly bwrapPath: string;
  readonly architecture: string;
  /** As root: the user for commands in a workspace that root owns. Null for other users. */
  readonly fallbackUser: Identity | null;
}

interface Prepared {
  readonly system: readonly string[];
  readonly filter: Uint8Array;
  readonly firstProgram: Uint8Array;
  readonly nullFd: number;
  /** As root. */
  readonly startingPointFor: ((workspace: SandboxCommand["workspace"]) => Promise<StartingPoint>) | null;
}

/** A namespace is made in milliseconds and prints one number. */
const NAMESPACE_LIMITS = { timeoutMs: 10_000, maxOutputBytes: 1000 };

export function createBwrapSandbox({ clock, bwrapPath, architecture, fallbackUser }: BwrapSandboxOptions): Sandbox {
  let prepared: Prepared | undefined;

  const prepare = (): Prepared => {
    if (!isKnown(architecture)) throw unknownArchitecture(architecture);
    if (prepared !== undefined) return prepared;
    const nullFd = openSync("/dev/null", constants.O_RDWR);
    prepared = {
      system: systemMounts(),
      filter: compileSeccompFilter(architecture),
      firstProgram: closeOtherFiles(architecture),
      nullFd,
      startingPointFor:
        fallbackUser === null
          ? null
          : createMountNamespaces({
              ...{ architecture, bwrapPath, fallbackUser },
              run: ({ fd, ...program }, watcher) =>
                containProcess({ ...program, directoryFd: fd ?? nullFd, nullFd, ...NAMESPACE_LIMITS }, watcher, clock),
            }),
    };
    return prepared;
  };

  const contain = async (command: SandboxCommand, watcher: SandboxWatcher, limits: SandboxLimits): Promise<Ended> => {
    const { system, filter, firstProgram, nullFd, startingPointFor } = prepare();
    const start =
      startingPointFor === null ? null : await unlessAborted(startingPointFor(command.workspace), watcher.signal);
    // No await from here to the start of the process.
    watcher.signal.throwIfAborted();
    for (const { path } of command.pinned) refuseLinks(command.workspace.root, path);
    const contained: ContainedCommand = { ...command, cwdPath: command.cwd.path, limits };
    const { words, inputs } = bwrapArguments(contained, system, filter, firstProgram);
    return await withDirectory(command.cwd, (directoryFd) =>
      containProcess(
        {
          ...(start === null ? { program: bwrapPath, words } : asUser(words, start, bwrapPath)),
          inputs,
          directoryFd,
          nullFd,
          timeoutMs: command.timeoutMs,
          maxOutputBytes: command.maxOutputBytes,
        },
        watcher,
        clock,
      ),
    );
  };

  const containOrExplain = (...given: Parameters<typeof contain>): Promise<Ended> =>
    contain(...given).catch((error: unknown) => {
      throw startFailure(error, bwrapPath);
    });

  return {
    check: checkAgain(() => checkProperties(containOrExplain), clock),
    async run(command, watcher) {
      const { hasStarted, ...result } = await containOrExplain(command, watcher, DEFAULT_LIMITS);
      if (hasStarted || result.isTimedOut || watcher.signal.aborted) return result;
      throw notStarted(result, command.cwd.path);
    },
  };
}

function isKnown(architecture: string): architecture is Architecture {
  return architecture === "x64" || architecture === "arm64";
}

/** Stops waiting on abort; the shared promise continues for others. */
async function unlessAborted<Value>(wanted: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  using _listening = addAbortListener(signal, () => reject(signal.reason));
  return await Promise.race([wanted, aborted]);
}

/** Keeps the planned directory open while `use` needs its descriptor. */
async function withDirectory<Result>(
  { path, device, inode }: SandboxCommand["cwd"],
  use: (fd: number) => Promise<Result>,
): Promise<Result> {
  const fd = openDirectory(path);
  try {
    const { dev, ino } = fstatSync(fd, { bigint: true });
    if (`${dev}` !== device || `${ino}` !== inode) throw movedAway(path);
    return await use(fd);
  } finally {
    closeSync(fd);
  }
}

function refuseLinks(root: string, path: string): void {
  const names = relative(root, path).split(sep);
  if (names.includes("..") || isAbsolute(names.join(sep))) throw movedAway(path);
  names.reduce((parent, name, index) => {
    const place = join(parent, name);
    const stats = lstatSync(place, { throwIfNoEntry: false });
    const isExpected = index === names.length - 1 ? stats?.isFile() : stats?.isDirectory();
    if (isExpected !== true) throw movedAway(place);
    return place;
  }, root);
}

function openDirectory(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    throw movedAway(path, error);
  }
}
