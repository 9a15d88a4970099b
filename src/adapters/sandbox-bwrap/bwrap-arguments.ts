/**
 * One command as arguments of bubblewrap.
 *
 * A1. What the sandbox shows is listed here and nowhere else; what is not listed is not there. Its own root, `/dev` and
 *     `/dev/shm` cannot be written to: they live in memory, and only `/tmp` has a size.
 * A2. The words of the command come after `--` and after the launcher's own: none is ever taken for an option.
 * A3. Later mounts cover earlier ones: a workspace beneath `/tmp` or `/usr` is seen, and a pinned file covers what lies in
 *     the workspace by that name.
 * A4. Root never starts the sandbox itself. An outer bubblewrap shows the same files to an unprivileged user, who could not
 *     have reached the workspace through root's own directories, and that user starts it.
 */
import { dirname } from "node:path";
import { DIRECTORY_FD, launcherScript, MARK_FD } from "./launcher-script.ts";
import type { SandboxLimits } from "./sandbox-limits.ts";

export interface ContainedCommand {
  readonly stages: readonly { readonly executable: string; readonly argv: readonly string[] }[];
  readonly workspace: { readonly root: string; readonly isWritable: boolean };
  readonly cwdPath: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly pinned: readonly { readonly path: string; readonly bytes: Uint8Array }[];
  readonly limits: SandboxLimits;
}

export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

interface Arguments {
  readonly words: readonly string[];
  /** What bubblewrap is to read from descriptors, the first from `FIRST_INPUT_FD`. */
  readonly inputs: readonly Uint8Array[];
}

export const FIRST_INPUT_FD = Math.max(MARK_FD, DIRECTORY_FD) + 1;

const SETPRIV = "/usr/bin/setpriv";
const SHELL = "/bin/sh";

/** The one user there is inside, whoever that is outside. */
const INNER_ID = "1000";
const PASSWD = Buffer.from(`agent:x:${INNER_ID}:${INNER_ID}::/nonexistent:/bin/false\n`);
const GROUP = Buffer.from(`agent:x:${INNER_ID}:\n`);

export function bwrapArguments(
  { stages, workspace, cwdPath, environment, pinned, limits }: ContainedCommand,
  system: readonly string[],
  seccompFilter: Uint8Array,
): Arguments {
  const inputs = [seccompFilter, PASSWD, GROUP, ...pinned.map(({ bytes }) => bytes)];
  const [seccompFd, passwdFd, groupFd, ...pinnedFds] = inputs.map((_, index) => `${FIRST_INPUT_FD + index}`);
  const words = [
    ["--unshare-all", "--unshare-user", "--disable-userns", "--assert-userns-disabled"],
    ["--cap-drop", "ALL", "--die-with-parent", "--new-session"],
    ["--uid", INNER_ID, "--gid", INNER_ID, "--hostname", "sandbox"],
    ["--seccomp", seccompFd],
    ["--clearenv", ...Object.entries(environment).flatMap(([name, value]) => ["--setenv", name, value])],
    system,
    ["--perms", "0644", "--file", passwdFd, "/etc/passwd", "--perms", "0644", "--file", groupFd, "/etc/group"],
    ["--proc", "/proc", "--dev", "/dev"],
    ["--perms", "1777", "--size", `${limits.temporaryBytes}`, "--tmpfs", "/tmp"],
    [workspace.isWritable ? "--bind" : "--ro-bind", workspace.root, workspace.root],
    pinned.flatMap(({ path }, index) => ["--ro-bind-data", pinnedFds[index], path]),
    ["--remount-ro", "/dev", "--remount-ro", "/"],
    ["--chdir", cwdPath],
    [
      "--",
      SHELL,
      "-c",
      launcherScript(
        limits,
        stages.map(({ argv }) => argv.length),
      ),
      "launcher",
    ],
    // A program is told its real path as its name: a shell cannot tell it another.
    stages.flatMap(({ executable, argv }) => [executable, ...argv.slice(1)]),
  ];
  return { words: words.flat().filter((word) => word !== undefined), inputs };
}

/** The same command, for root to start as somebody else. */
export function asSomebodyElse(
  inner: readonly string[],
  { workspace }: Pick<ContainedCommand, "workspace">,
  system: readonly string[],
  { uid, gid }: Identity,
  bwrapPath: string,
): readonly string[] {
  return [
    // Bubblewrap builds the new root in /tmp. Directories that it makes unasked are for their owner alone.
    ...["/etc", "/tmp", ...parentsOf(workspace.root)].flatMap((path) => ["--dir", path]),
    ...[...system, "--dev-bind", "/dev", "/dev", "--bind", "/proc", "/proc"],
    ...[workspace.isWritable ? "--bind" : "--ro-bind", workspace.root, workspace.root],
    // Its watching process gives up the right to end another user's: the kernel does it, with the first process in here.
    ...["--unshare-pid", "--die-with-parent"],
    ...["--", SETPRIV, `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", "--inh-caps=-all", "--no-new-privs"],
    ...["--", bwrapPath, ...inner],
  ];
}

/** `/root/home/workspace`: `/root`, `/root/home`. */
function parentsOf(path: string): readonly string[] {
  const parent = dirname(path);
  return parent === "/" ? [] : [...parentsOf(parent), parent];
}
