/**
 * A sandbox made by bubblewrap: namespaces, a seccomp filter, limits, and an unprivileged user (docs/sandbox.md).
 *
 * B1. Root is never who a command runs as (A4, U1).
 * B2. What cannot be contained is not run: without the launcher's mark there was no command, and no result of one (L3).
 * B3. A pinned file is mounted by its path, and bubblewrap follows links there, even to where the host still is while the
 *     sandbox is made: a link on that path is refused. That none appears meanwhile is for the caller to see to.
 * B4. The properties are tried when somebody asks for the first time, once. Nothing is done when it is only created.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import type { Clock } from "../../runtime/ports/clock.ts";
import type { Sandbox, SandboxCommand, SandboxWatcher } from "../../runtime/ports/sandbox.ts";
import { asSomebodyElse, bwrapArguments, type ContainedCommand, type Identity } from "./bwrap-arguments.ts";
import { checkProperties } from "./check-properties.ts";
import { containProcess, type Ended } from "./contain-process.ts";
import { holdViews } from "./mount-namespaces.ts";
import { movedAway, notStarted, startFailure, unknownArchitecture } from "./sandbox-failure.ts";
import { DEFAULT_LIMITS, type SandboxLimits } from "./sandbox-limits.ts";
import { type Architecture, compileSeccompFilter } from "./seccomp-filter.ts";
import { strayDescriptors } from "./stray-descriptors.ts";
import { systemView } from "./system-view.ts";
import { workspaceUser } from "./workspace-user.ts";

export interface BwrapSandboxOptions {
  readonly clock: Clock;
  readonly bwrapPath: string;
  readonly architecture: string;
  /** As root: who commands run as where the workspace is root's. Null for everybody else. */
  readonly standIn: Identity | null;
}

/** The same for every command. */
interface Prepared {
  readonly system: readonly string[];
  readonly filter: Uint8Array;
  readonly strayFds: readonly number[];
  readonly nothingFd: number;
}

/** It is made in milliseconds, and says one number. */
const VIEW_BOUNDS = { timeoutMs: 10_000, maxOutputBytes: 1000 };

export function createBwrapSandbox({ clock, bwrapPath, architecture, standIn }: BwrapSandboxOptions): Sandbox {
  let prepared: Prepared | undefined;
  let checked: Promise<readonly string[]> | undefined;

  const prepare = (): Prepared => {
    if (!isKnown(architecture)) throw unknownArchitecture(architecture);
    prepared ??= {
      system: systemView(),
      filter: compileSeccompFilter(architecture),
      strayFds: strayDescriptors(),
      nothingFd: openSync("/dev/null", constants.O_RDWR),
    };
    return prepared;
  };

  const viewOf = holdViews((words, watcher) => {
    const { strayFds, nothingFd } = prepare();
    const making = {
      program: bwrapPath,
      words,
      inputs: [],
      directoryFd: nothingFd,
      strayFds,
      nothingFd,
      ...VIEW_BOUNDS,
    };
    return containProcess(making, watcher, clock);
  });

  const contain = async (command: SandboxCommand, watcher: SandboxWatcher, limits: SandboxLimits): Promise<Ended> => {
    const { system, filter, strayFds, nothingFd } = prepare();
    const viewPath = standIn === null ? null : await unlessAborted(viewOf(command.workspace), watcher.signal);
    // From here to its start nothing is waited for.
    watcher.signal.throwIfAborted();
    for (const { path } of command.pinned) refuseLinks(command.workspace.root, path);
    const contained: ContainedCommand = { ...command, cwdPath: command.cwd.path, limits };
    const { words, inputs } = bwrapArguments(contained, system, filter);
    return await whileHeld(command.cwd, (directoryFd) =>
      containProcess(
        {
          ...(viewPath === null || standIn === null
            ? { program: bwrapPath, words }
            : asSomebodyElse(words, workspaceUser(command.workspace, standIn), viewPath, bwrapPath)),
          inputs,
          directoryFd,
          strayFds,
          nothingFd,
          timeoutMs: command.timeoutMs,
          maxOutputBytes: command.maxOutputBytes,
        },
        watcher,
        clock,
      ),
    );
  };

  const containOrSay = (...given: Parameters<typeof contain>): Promise<Ended> =>
    contain(...given).catch((error: unknown) => {
      throw startFailure(error, bwrapPath);
    });

  return {
    check() {
      checked ??= checkProperties(containOrSay);
      return checked;
    },
    async run(command, watcher) {
      const { hasStarted, ...result } = await containOrSay(command, watcher, DEFAULT_LIMITS);
      if (hasStarted || result.isTimedOut || watcher.signal.aborted) return result;
      throw notStarted(result, command.cwd.path);
    },
  };
}

function isKnown(architecture: string): architecture is Architecture {
  return architecture === "x64" || architecture === "arm64";
}

/** Others may wait for it too: it goes on without whoever does not want it any more. */
function unlessAborted<Value>(wanted: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  return Promise.race([wanted, aborted]).finally(() => signal.removeEventListener("abort", onAbort));
}

/** The planned directory is kept open while `use` needs its descriptor. */
async function whileHeld<Result>(
  { path, device, inode }: SandboxCommand["cwd"],
  use: (fd: number) => Promise<Result>,
): Promise<Result> {
  const fd = openPlanned(path);
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
    const isRight = index === names.length - 1 ? stats?.isFile() : stats?.isDirectory();
    if (isRight !== true) throw movedAway(place);
    return place;
  }, root);
}

function openPlanned(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    throw movedAway(path, error);
  }
}
