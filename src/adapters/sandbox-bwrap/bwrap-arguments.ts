/**
 * One command as arguments of bubblewrap.
 *
 * A1. What the sandbox shows is listed here and nowhere else; what is not listed is not there. Its own root, `/dev` and
 *     `/dev/shm` cannot be written to: they live in memory, and only `/tmp` has a size.
 * A2. The words of the command come after `--` and after the launcher's own: none is ever taken for an option.
 * A3. Later mounts cover earlier ones: a workspace beneath `/tmp` or `/usr` is seen, and a pinned file covers what lies in
 *     the workspace by that name.
 * A4. Root never starts the sandbox itself: an unprivileged user does, from a view in which the workspace can be reached
 *     (`mount-namespaces.ts`).
 * A5. The launcher is the first process within, and bound to bubblewrap's life before it runs: none of ours stands between.
 * A6. What /proc has of it is covered. It has the command's own user, who could otherwise write into its memory, make it
 *     another program that nobody's death ends, and so outlive every timeout.
 */
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

export const SHELL = "/bin/sh";
export const NSENTER = "/usr/bin/nsenter";

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
    ["--cap-drop", "ALL", "--die-with-parent", "--as-pid-1", "--new-session"],
    ["--uid", INNER_ID, "--gid", INNER_ID, "--hostname", "sandbox"],
    ["--seccomp", seccompFd],
    ["--clearenv", ...Object.entries(environment).flatMap(([name, value]) => ["--setenv", name, value])],
    system,
    ["--perms", "0644", "--file", passwdFd, "/etc/passwd", "--perms", "0644", "--file", groupFd, "/etc/group"],
    ["--proc", "/proc", "--tmpfs", "/proc/1", "--remount-ro", "/proc/1", "--dev", "/dev"],
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

/** The same command, for root to start as somebody else, who has no group but this one. */
export function asSomebodyElse(
  inner: readonly string[],
  { uid, gid }: Identity,
  viewPath: string,
  bwrapPath: string,
): { readonly program: string; readonly words: readonly string[] } {
  const change = [`--mount=${viewPath}`, `--setuid=${uid}`, `--setgid=${gid}`];
  return { program: NSENTER, words: [...change, "--", bwrapPath, ...inner] };
}
