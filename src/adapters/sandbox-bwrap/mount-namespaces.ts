/**
 * As root: mount namespaces from which another user makes sandboxes. Root's own directories are closed to others, so a
 * namespace shows the workspace at its path beneath open directories, and what a sandbox is made of.
 *
 * V1. A namespace is made once per workspace, by bubblewrap, and held by a descriptor; no process stays in it. It ends with
 *     the gateway, or when it is replaced.
 * V2. A namespace belongs to one directory, identified by device, inode and birth time. Another directory at the path gets
 *     its own, and a namespace that shows another directory than the intended one is refused.
 * V3. It shows directories of the host, so changes in them are visible. Mounts above, at or beneath the workspace are fixed
 *     when it is made; they are compared before each command, and a change makes a new namespace.
 */
import { closeSync, lstatSync, openSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import type { SandboxWatcher } from "../../runtime/ports/sandbox.ts";
import { type ContainedCommand, SHELL } from "./bwrap-arguments.ts";
import type { Ended } from "./contain-process.ts";
import { MARK_FD } from "./launcher-script.ts";
import { movedAway, notStarted } from "./sandbox-failure.ts";
import { namespaceSystemMounts } from "./system-mounts.ts";

type Workspace = ContainedCommand["workspace"];

type RunBwrap = (words: readonly string[], watcher: SandboxWatcher) => Promise<Ended>;

type NamespaceFor = (workspace: Workspace) => Promise<string>;

/** Prints its process id and waits to be killed: nothing is ever written to that descriptor. */
const PRINT_PID = `echo $$; read -r _ <&${MARK_FD}`;

export function createMountNamespaces(runBwrap: RunBwrap): NamespaceFor {
  /** The latest one, by workspace and mode. */
  const namespaces = new Map<string, { readonly fingerprint: string; readonly made: Promise<MountNamespace> }>();
  return async (workspace) => {
    const key = `${workspace.isWritable} ${workspace.root}`;
    const identity = identityOf(workspace.root);
    const fingerprint = [identity, ...mountsAround(workspace.root)].join("\n");
    const known = namespaces.get(key);
    if (known?.fingerprint === fingerprint) return pathTo(await known.made);
    const made = makeNamespace(workspace, identity, runBwrap);
    namespaces.set(key, { fingerprint, made });
    made.catch(() => {
      if (namespaces.get(key)?.made === made) namespaces.delete(key);
    });
    // A command that is about to enter the old one fails, as it should: it shows what is no longer there.
    known?.made.then(({ fd }) => closeSync(fd)).catch(() => {});
    return pathTo(await made);
  };
}

interface MountNamespace {
  readonly fd: number;
  /** Of the directory at the workspace's path. */
  readonly identity: string;
}

function pathTo({ fd }: MountNamespace): string {
  return `/proc/${process.pid}/fd/${fd}`;
}

async function makeNamespace(
  { root, isWritable }: Workspace,
  identity: string,
  runBwrap: RunBwrap,
): Promise<MountNamespace> {
  const words = [
    // Bubblewrap builds the new root in /tmp, and directories that it creates implicitly are closed to others.
    ...["/tmp", ...parentsOf(root)].flatMap((path) => ["--dir", path]),
    ...namespaceSystemMounts(),
    ...[isWritable ? "--bind" : "--ro-bind", root, root],
    ...["--die-with-parent", "--", SHELL, "-c", PRINT_PID],
  ];
  const done = new AbortController();
  const opened: MountNamespace[] = [];
  const ended = await runBwrap(words, {
    signal: done.signal,
    onOutput(stream, bytes) {
      if (stream === "stderr" || done.signal.aborted) return;
      opened.push(openNamespace(new TextDecoder().decode(bytes).trim(), root));
      done.abort();
    },
  });
  const [namespace] = opened;
  if (namespace === undefined) throw notStarted(ended, root);
  if (namespace.identity === identity) return namespace;
  closeSync(namespace.fd);
  throw movedAway(root);
}

function openNamespace(pid: string, root: string): MountNamespace {
  return { identity: identityOf(`/proc/${pid}/root${root}`), fd: openSync(`/proc/${pid}/ns/mnt`, "r") };
}

function identityOf(path: string): string {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) throw movedAway(path);
  const { dev, ino, birthtimeNs } = stats;
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
