/**
 * The program that runs before the launcher and closes every descriptor that the launcher does not use. Node passes on
 * what its process was started with, and threads of the process open files that a new process inherits for a moment. One
 * that refers to a directory of the host would lead out of the sandbox.
 */
import { assembleProgram, type SystemCall } from "./assemble-program.ts";
import { DIRECTORY_FD, MARK_FD } from "./launcher-script.ts";
import type { Architecture } from "./seccomp-filter.ts";

export const FIRST_FREE_FD = Math.max(MARK_FD, DIRECTORY_FD) + 1;
export const CANNOT_CLOSE_FILES = 65;

/** `close_range`, of Linux 5.9, has the same number on both machines. */
const CLOSE_RANGE = 436;
const LAST_FD = 0xffffffff;

export const CLOSE_OTHERS: SystemCall = {
  number: CLOSE_RANGE,
  args: [FIRST_FREE_FD, LAST_FD, 0],
  exitCodeOnFailure: CANNOT_CLOSE_FILES,
};

export function closeOtherFiles(architecture: Architecture): Uint8Array {
  return assembleProgram(architecture, [CLOSE_OTHERS]);
}
