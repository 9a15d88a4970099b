/**
 * As root: mount namespaces from which another user makes sandboxes. Root's own directories are closed to others, so a
 * namespace shows the workspace at its path beneath open directories, and what a sandbox is made of.
 *
 * V1. A namespace is made once per workspace, by bubblewrap, and held by a descriptor; no process stays in it. It ends with
 *     the gateway, or when it is replaced.
 * V2. A namespace belongs to one directory, identified by device, inode and birth time. Another directory at the path gets
 *     its own, and a namespace that shows another directory than the intended one is refused.
 * V3. It shows directories of the host, so changes in them are visible. Mounts above, at or beneath the workspace are fixed
 *     when it is made; they are compared before each command, and a change makes a new namespace. So does another owner.
 * V4. If root owns the workspace, the namespace shows root's files as the fallback user's, where the machine can do that.
 */
import { type BigIntStats, closeSync, lstatSync, openSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import type { SandboxWatcher } from "../../runtime/ports/sandbox.ts";
import { type ContainedCommand, FIRST_PROGRAM, type Identity, SHELL } from "./bwrap-arguments.ts";
import { FIRST_FREE_FD } from "./close-other-files.ts";
import type { Ended } from "./contain-process.ts";
import { CANNOT_EXCHANGE_OWNERS, exchangeOwners, openExchange, UNSHARE } from "./exchange-owners.ts";
import { DIRECTORY_FD, MARK_FD } from "./launcher-script.ts";
import { movedAway, notStarted } from "./sandbox-failure.ts";
import type { Architecture } from "./seccomp-filter.ts";
import { namespaceSystemMounts } from "./system-mounts.ts";
import { workspaceUser } from "./workspace-user.ts";

type Workspace = ContainedCommand["workspace"];

interface Program {
  readonly program: string;
  readonly words: readonly string[];
  /** Read from descriptors, beginning at `FIRST_FREE_FD`. */
  readonly inputs: readonly Uint8Array[];
  /** Handed on as `DIRECTORY_FD`. */
  readonly fd: number | null;
}

export interface NamespaceSettings {
  readonly architecture: Architecture;
  readonly bwrapPath: string;
  readonly fallbackUser: Identity;
  run(program: Program, watcher: SandboxWatcher): Promise<Ended>;
}

/** Where a command starts, and as whom. */
export interface StartingPoint {
  readonly namespacePath: string;
  readonly user: Identity;
}

/** Prints its process id and waits to be killed: nothing is ever written to that descriptor. */
const PRINT_PID = [SHELL, "-c", `echo $$; read -r _ <&${MARK_FD}`];

export function createMountNamespaces(settings: NamespaceSettings): (workspace: Workspace) => Promise<StartingPoint> {
  /** The latest one, by workspace and mode. */
  const namespaces = new Map<string, { readonly fingerprint: string; readonly made: Promise<MountNamespace> }>();

  const namespaceFor = async (workspace: Workspace, directory: BigIntStats): Promise<MountNamespace> => {
    const key = `${workspace.isWritable} ${workspace.root}`;
    const isRoots = directory.uid === 0n;
    const fingerprint = [identityOf(directory), isRoots, ...mountsAround(workspace.root)].join("\n");
    const known = namespaces.get(key);
    if (known?.fingerprint === fingerprint) return await known.made;
    const made = makeNamespace(workspace, identityOf(directory), isRoots, settings);
    namespaces.set(key, { fingerprint, made });
    made.catch(() => {
      if (namespaces.get(key)?.made === made) namespaces.delete(key);
    });
    // A command that is about to enter the old one fails, as it should: it shows what is no longer there.
    known?.made.then(({ fd }) => closeSync(fd)).catch(() => {});
    return await made;
  };

  return async (workspace) => {
    const directory = directoryAt(workspace.root);
    const { fd, areOwnersExchanged } = await namespaceFor(workspace, directory);
    const owner = { uid: Number(directory.uid), gid: Number(directory.gid), mode: Number(directory.mode) };
    const user = workspaceUser(workspace, owner, areOwnersExchanged, settings.fallbackUser);
    return { namespacePath: `/proc/${process.pid}/fd/${fd}`, user };
  };
}

interface MountNamespace {
  readonly fd: number;
  /** Of the directory at the workspace's path. */
  readonly identity: string;
  readonly areOwnersExchanged: boolean;
}

async function makeNamespace(
  workspace: Workspace,
  identity: string,
  isRoots: boolean,
  settings: NamespaceSettings,
): Promise<MountNamespace> {
  const exchangeFd = isRoots ? await makeExchange(settings) : null;
  try {
    const made = await runBwrap(workspace, exchangeFd, settings);
    const isRefused = "ended" in made && made.ended.exitCode === CANNOT_EXCHANGE_OWNERS;
    const { opened, ended } = isRefused ? await runBwrap(workspace, null, settings) : made;
    if (opened === undefined) throw notStarted(ended, workspace.root);
    if (opened.identity === identity) {
      return { ...opened, areOwnersExchanged: exchangeFd !== null && !isRefused };
    }
    closeSync(opened.fd);
    throw movedAway(workspace.root);
  } finally {
    if (exchangeFd !== null) closeSync(exchangeFd);
  }
}

/** Null where root may not make one. */
async function makeExchange(settings: NamespaceSettings): Promise<number | null> {
  const program = { program: UNSHARE, words: ["--user", "--", ...PRINT_PID], inputs: [], fd: null };
  const open = (pid: string): number => openExchange(pid, settings.fallbackUser);
  try {
    return (await fromItsPid(program, open, settings)).opened ?? null;
  } catch (error) {
    if (error instanceof Error && "syscall" in error) return null;
    throw error;
  }
}

function runBwrap(
  { root, isWritable }: Workspace,
  exchangeFd: number | null,
  settings: NamespaceSettings,
): ReturnType<typeof fromItsPid<Pick<MountNamespace, "fd" | "identity">>> {
  const firstProgram = exchangeFd === null ? null : exchangeOwners(settings.architecture, root, DIRECTORY_FD);
  const words = [
    // Bubblewrap builds the new root in /tmp, and directories that it creates implicitly are closed to others.
    ...["/tmp", ...parentsOf(root)].flatMap((path) => ["--dir", path]),
    ...namespaceSystemMounts(),
    ...(firstProgram === null ? [] : ["--perms", "0555", "--file", `${FIRST_FREE_FD}`, FIRST_PROGRAM]),
    ...[isWritable ? "--bind" : "--ro-bind", root, root],
    ...["--die-with-parent", "--", ...(firstProgram === null ? [] : [FIRST_PROGRAM]), ...PRINT_PID],
  ];
  const inputs = firstProgram === null ? [] : [firstProgram];
  return fromItsPid(
    { program: settings.bwrapPath, words, inputs, fd: exchangeFd },
    (pid) => ({
      identity: identityOf(directoryAt(`/proc/${pid}/root${root}`)),
      fd: openSync(`/proc/${pid}/ns/mnt`, "r"),
    }),
    settings,
  );
}

/** What `open` finds of a process that prints its id. The process is ended then. */
async function fromItsPid<Opened>(
  program: Program,
  open: (pid: string) => Opened,
  { run }: NamespaceSettings,
): Promise<{ readonly opened?: Opened; readonly ended: Ended }> {
  const done = new AbortController();
  const opened: Opened[] = [];
  const ended = await run(program, {
    signal: done.signal,
    onOutput(stream, bytes) {
      if (stream === "stderr" || done.signal.aborted) return;
      opened.push(open(new TextDecoder().decode(bytes).trim()));
      done.abort();
    },
  });
  return opened.length === 0 ? { ended } : { opened: opened[0] as Opened, ended };
}

function directoryAt(path: string): BigIntStats {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) throw movedAway(path);
  return stats;
}

function identityOf({ dev, ino, birthtimeNs }: BigIntStats): string {
  return `${dev} ${ino} ${birthtimeNs}`;
}

function mountsAround(root: string): readonly string[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .filter((line) => {
      const point = (line.split(" ")[4] ?? "").replace(/\\(\d{3})/g, (_, code) =>
        String.fromCharCode(Number.parseInt(code, 8)),
      );
      return isAtOrBeneath(root, point) || isAtOrBeneath(point, root);
    });
}

function isAtOrBeneath(path: string, other: string): boolean {
  return path === other || path.startsWith(other.endsWith("/") ? other : `${other}/`);
}

/** `/root/home/workspace`: `/root`, `/root/home`. */
function parentsOf(path: string): readonly string[] {
  const parent = dirname(path);
  return parent === "/" ? [] : [...parentsOf(parent), parent];
}
