/**
 * As root: the views from which somebody else makes sandboxes. Root's own directories are closed to others, so a mount
 * namespace has the workspace at its path beneath directories that are not, and what a sandbox is made of.
 *
 * V1. A view is made once for a workspace, by bubblewrap, and held by a descriptor: no process waits in it. It goes with
 *     the gateway.
 * V2. A view is of one directory, known by device and inode, which no other can have while the view holds it. Another in
 *     its place gets a view of its own, and a view that shows another than it was made for is none.
 * V3. What it shows are directories of the host: whatever changes in them is seen, and no view has to be made again for it.
 */
import { closeSync, lstatSync, openSync } from "node:fs";
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
  const views = new Map<string, Promise<string>>();
  return (workspace) => {
    const identity = identityOf(workspace.root);
    const key = [workspace.isWritable, identity, workspace.root].join(" ");
    const held = views.get(key);
    if (held !== undefined) return held;
    const made = makeView(workspace, identity, runBwrap);
    views.set(key, made);
    made.catch(() => views.delete(key));
    return made;
  };
}

async function makeView({ root, isWritable }: Workspace, identity: string, runBwrap: RunBwrap): Promise<string> {
  const words = [
    // Bubblewrap builds the new root in /tmp. Directories that it makes unasked are for their owner alone.
    ...["/tmp", ...parentsOf(root)].flatMap((path) => ["--dir", path]),
    ...systemBehindView(),
    ...[isWritable ? "--bind" : "--ro-bind", root, root],
    ...["--die-with-parent", "--", SHELL, "-c", SHOW_ITSELF],
  ];
  const seen = new AbortController();
  const opened: OpenView[] = [];
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
  if (view.identity === identity) return `/proc/${process.pid}/fd/${view.fd}`;
  closeSync(view.fd);
  throw movedAway(root);
}

interface OpenView {
  readonly fd: number;
  /** Of what it has at the workspace's path. */
  readonly identity: string;
}

function openView(pid: string, root: string): OpenView {
  return { identity: identityOf(`/proc/${pid}/root${root}`), fd: openSync(`/proc/${pid}/ns/mnt`, "r") };
}

function identityOf(path: string): string {
  const { dev, ino } = lstatSync(path, { bigint: true });
  return `${dev} ${ino}`;
}

/** `/root/home/workspace`: `/root`, `/root/home`. */
function parentsOf(path: string): readonly string[] {
  const parent = dirname(path);
  return parent === "/" ? [] : [...parentsOf(parent), parent];
}
