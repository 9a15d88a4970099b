/**
 * As root: the views from which somebody else makes sandboxes. Root's own directories are closed to others, so a mount
 * namespace has the workspace at its path beneath directories that are not, and what a sandbox is made of.
 *
 * V1. A view is made once for a workspace, by bubblewrap, and held by a descriptor: no process waits in it. It goes with
 *     the gateway, or when another takes its place.
 * V2. A view is of one directory, known by device, inode and birth. Another in its place gets a view of its own, and a view
 *     that shows another than it was made for is none.
 * V3. What it shows are directories of the host: whatever changes in them is seen, and no view has to be made again for it.
 *     What is mounted above, at or beneath the workspace, and how, is as it was when the view was made; so it is looked at
 *     before each command, and what has changed takes another view.
 */
import { closeSync, lstatSync, openSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import type { SandboxWatcher } from "../../runtime/ports/sandbox.ts";
import { type ContainedCommand, SHELL } from "./bwrap-arguments.ts";
import type { Ended } from "./contain-process.ts";
import { MARK_FD } from "./launcher-script.ts";
import { movedAway, notStarted } from "./sandbox-failure.ts";
import { systemBehindView } from "./system-view.ts";

type Workspace = ContainedCommand["workspace"];

/** Runs bubblewrap, as root. */
type RunBwrap = (words: readonly string[], watcher: SandboxWatcher) => Promise<Ended>;

/** Where a view of this workspace can be entered: a path to its namespace. */
type ViewOf = (workspace: Workspace) => Promise<string>;

/** Says who it is, and stays until it is ended: nothing is ever written there. */
const SHOW_ITSELF = `echo $$; read -r _ <&${MARK_FD}`;

export function holdViews(runBwrap: RunBwrap): ViewOf {
  /** By workspace and mode, the last one. */
  const views = new Map<string, { readonly of: string; readonly made: Promise<MountNamespace> }>();
  return async (workspace) => {
    const place = `${workspace.isWritable} ${workspace.root}`;
    const identity = identityOf(workspace.root);
    const of = [identity, ...mountsAbout(workspace.root)].join("\n");
    const known = views.get(place);
    if (known?.of === of) return pathTo(await known.made);
    const made = makeView(workspace, identity, runBwrap);
    views.set(place, { of, made });
    made.catch(() => {
      if (views.get(place)?.made === made) views.delete(place);
    });
    // Whoever is about to enter it is refused, as they should be: it shows what is not there any more.
    known?.made.then(({ fd }) => closeSync(fd)).catch(() => {});
    return pathTo(await made);
  };
}

interface MountNamespace {
  readonly fd: number;
  /** Of what it has at the workspace's path. */
  readonly identity: string;
}

function pathTo({ fd }: MountNamespace): string {
  return `/proc/${process.pid}/fd/${fd}`;
}

async function makeView(
  { root, isWritable }: Workspace,
  identity: string,
  runBwrap: RunBwrap,
): Promise<MountNamespace> {
  const words = [
    // Bubblewrap builds the new root in /tmp. Directories that it makes unasked are for their owner alone.
    ...["/tmp", ...parentsOf(root)].flatMap((path) => ["--dir", path]),
    ...systemBehindView(),
    ...[isWritable ? "--bind" : "--ro-bind", root, root],
    ...["--die-with-parent", "--", SHELL, "-c", SHOW_ITSELF],
  ];
  const seen = new AbortController();
  const opened: MountNamespace[] = [];
  const ended = await runBwrap(words, {
    signal: seen.signal,
    onOutput(stream, bytes) {
      if (stream === "stderr" || seen.signal.aborted) return;
      opened.push(openView(new TextDecoder().decode(bytes).trim(), root));
      seen.abort();
    },
  });
  const [view] = opened;
  if (view === undefined) throw notStarted(ended, root);
  if (view.identity === identity) return view;
  closeSync(view.fd);
  throw movedAway(root);
}

function openView(pid: string, root: string): MountNamespace {
  return { identity: identityOf(`/proc/${pid}/root${root}`), fd: openSync(`/proc/${pid}/ns/mnt`, "r") };
}

function identityOf(path: string): string {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) throw movedAway(path);
  const { dev, ino, birthtimeNs } = stats;
  return `${dev} ${ino} ${birthtimeNs}`;
}

/** How the workspace is mounted, and what is within it. */
function mountsAbout(root: string): readonly string[] {
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
