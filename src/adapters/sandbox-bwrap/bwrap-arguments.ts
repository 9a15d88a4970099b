/**
 * One command as arguments of bubblewrap.
 *
 * A1. Everything that the sandbox shows is listed here; nothing else is visible. Its root, `/dev` and `/dev/shm` are
 *     read-only: they live in memory, and only `/tmp` has a size limit.
 * A2. The words of the command come after `--` and after the launcher's own, so none is read as an option.
 * A3. Later mounts cover earlier ones: a workspace beneath `/tmp` or `/usr` is visible, and a pinned file covers the
 *     workspace's file of that name.
 * A4. Root never starts the sandbox itself: an unprivileged user does, from a mount namespace in which the workspace is
 *     reachable (`mount-namespaces.ts`).
 * A5. The launcher is the first process of the sandbox and dies with bubblewrap; no process of ours is in between. Before it
 *     is the launcher, it closes inherited descriptors (`close-other-files.ts`).
 * A6. The launcher's /proc directory is covered. It runs as the command's user, who could otherwise write into its memory
 *     and turn it into a program that survives every timeout.
 */
import { FIRST_FREE_FD } from "./close-other-files.ts";
import { launcherScript } from "./launcher-script.ts";
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
  /** Bubblewrap reads these from descriptors, beginning at `FIRST_FREE_FD`. */
  readonly inputs: readonly Uint8Array[];
}

export const SHELL = "/bin/sh";
export const NSENTER = "/usr/bin/nsenter";

/** Where a sandbox and a mount namespace have our own program that runs first (`assemble-program.ts`). */
export const FIRST_PROGRAM = "/.first";

/** The only user inside, whichever user it is outside. */
const INNER_ID = "1000";
const PASSWD = Buffer.from(`agent:x:${INNER_ID}:${INNER_ID}::/nonexistent:/bin/false\n`);
const GROUP = Buffer.from(`agent:x:${INNER_ID}:\n`);

export function bwrapArguments(
  { stages, workspace, cwdPath, environment, pinned, limits }: ContainedCommand,
  system: readonly string[],
  seccompFilter: Uint8Array,
  firstProgram: Uint8Array,
): Arguments {
  const inputs = [seccompFilter, firstProgram, PASSWD, GROUP, ...pinned.map(({ bytes }) => bytes)];
  const [seccompFd, programFd, passwdFd, groupFd, ...pinnedFds] = inputs.map((_, index) => `${FIRST_FREE_FD + index}`);
  const words = [
    ["--unshare-all", "--unshare-user", "--disable-userns", "--assert-userns-disabled"],
    ["--cap-drop", "ALL", "--die-with-parent", "--as-pid-1", "--new-session"],
    ["--uid", INNER_ID, "--gid", INNER_ID, "--hostname", "sandbox"],
    ["--seccomp", seccompFd],
    ["--clearenv", ...Object.entries(environment).flatMap(([name, value]) => ["--setenv", name, value])],
    system,
    ["--perms", "0555", "--file", programFd, FIRST_PROGRAM],
    ["--perms", "0644", "--file", passwdFd, "/etc/passwd", "--perms", "0644", "--file", groupFd, "/etc/group"],
    ["--proc", "/proc", "--tmpfs", "/proc/1", "--remount-ro", "/proc/1", "--dev", "/dev"],
    ["--perms", "1777", "--size", `${limits.temporaryBytes}`, "--tmpfs", "/tmp"],
    [workspace.isWritable ? "--bind" : "--ro-bind", workspace.root, workspace.root],
    pinned.flatMap(({ path }, index) => ["--ro-bind-data", pinnedFds[index], path]),
    ["--remount-ro", "/dev", "--remount-ro", "/"],
    ["--chdir", cwdPath],
    [
      "--",
      FIRST_PROGRAM,
      SHELL,
      "-c",
      launcherScript(
        limits,
        stages.map(({ argv }) => argv.length),
      ),
      "launcher",
    ],
    // argv[0] is the program's real path: a shell cannot set another.
    stages.flatMap(({ executable, argv }) => [executable, ...argv.slice(1)]),
  ];
  return { words: words.flat().filter((word) => word !== undefined), inputs };
}

/** The same command, started by root as another user with a single group, in another mount namespace. */
export function asUser(
  inner: readonly string[],
  { user, namespacePath }: { readonly user: Identity; readonly namespacePath: string },
  bwrapPath: string,
): { readonly program: string; readonly words: readonly string[] } {
  const change = [`--mount=${namespacePath}`, `--setuid=${user.uid}`, `--setgid=${user.gid}`];
  return { program: NSENTER, words: [...change, "--", bwrapPath, ...inner] };
}
