/** Why nothing was run, with what to do about it. */
import { SandboxError } from "../../runtime/ports/sandbox.ts";
import { type Identity, NSENTER } from "./bwrap-arguments.ts";
import { CANNOT_CLOSE_FILES } from "./close-other-files.ts";
import type { Ended } from "./contain-process.ts";
import { NOT_THE_PLANNED_DIRECTORY } from "./launcher-script.ts";

const NEEDED =
  "It needs bubblewrap 0.8 or newer and a kernel that allows unprivileged user namespaces; as root also nsenter and the capabilities SYS_ADMIN, SYS_CHROOT, SETUID, SETGID and KILL.";
const OLD_KERNEL =
  "The sandbox cannot close the files that a command inherits. Use a kernel of Linux 5.9 or newer, and let no outer sandbox refuse close_range.";
const MAX_QUOTED_CHARS = 300;

export function movedAway(path: string, cause?: unknown): SandboxError {
  const message = `${JSON.stringify(path)} has changed since the command was planned. Plan the command again.`;
  return new SandboxError("sandbox.moved", message, { cause });
}

export function closedToOthers(path: string, { uid, gid }: Identity, isWritable: boolean): SandboxError {
  const use = isWritable ? "write to it" : "read it";
  const message = `The workspace ${JSON.stringify(path)} belongs to root, commands never run as root, and here (overlayfs, or a kernel older than Linux 5.12) no other user can be let ${use}. Give it to a user (for example chown -R ${uid}:${gid}), or run surety as an ordinary user.`;
  return new SandboxError("sandbox.unavailable", message);
}

/** Bubblewrap or the launcher failed: stderr is theirs, since nothing else ran. */
export function notStarted({ exitCode, stderr }: Pick<Ended, "exitCode" | "stderr">, path: string): SandboxError {
  if (exitCode === NOT_THE_PLANNED_DIRECTORY) return movedAway(path);
  if (exitCode === CANNOT_CLOSE_FILES) return new SandboxError("sandbox.unavailable", OLD_KERNEL);
  const output = new TextDecoder().decode(stderr).trim().slice(0, MAX_QUOTED_CHARS);
  if (output.includes("Exceeded maximum number of arguments")) return tooLong();
  return new SandboxError("sandbox.unavailable", `The sandbox cannot be made here (${output || exitCode}). ${NEEDED}`);
}

export function unknownArchitecture(architecture: string): SandboxError {
  return new SandboxError(
    "sandbox.unavailable",
    `The sandbox has no system call filter for the processor ${architecture}. Commands run on x64 and arm64 only.`,
  );
}

function tooLong(cause?: unknown): SandboxError {
  const message = "The command is too long: it has too many words, or one that is too long. Put them into a file.";
  return new SandboxError("sandbox.failed", message, { cause });
}

export function startFailure(error: unknown, bwrapPath: string): unknown {
  if (!(error instanceof Error && "syscall" in error && "code" in error)) return error;
  const { code, syscall } = error;
  if (code === "E2BIG") return tooLong(error);
  const missing = code === "ENOENT" && adviceAbout(String(syscall), bwrapPath);
  const message = missing || `The sandbox could not be started (${syscall}: ${code}). ${NEEDED}`;
  return new SandboxError("sandbox.unavailable", message, { cause: error });
}

function adviceAbout(syscall: string, bwrapPath: string): string | null {
  if (syscall === `spawn ${bwrapPath}`) {
    return `There is no bubblewrap at ${bwrapPath}: install the package bubblewrap, 0.8 or newer.`;
  }
  if (syscall === `spawn ${NSENTER}`) {
    return `There is no ${NSENTER}, with which root starts commands as another user: install the package util-linux.`;
  }
  return null;
}
