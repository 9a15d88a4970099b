/**
 * What runs first inside the sandbox: a script of ours that limits itself, looks where it is, and starts the command.
 *
 * L1. No word of the command is part of its text: words arrive as parameters, and the script only says which of them stand
 *     where. So the shell, which is there to limit and to connect, reads nothing that it was not meant to read.
 * L2. The command starts in the directory that was planned, or not at all. The directory is held open outside; to compare
 *     it with the one the sandbox leads to leaves no moment in between, since a process keeps its directory.
 * L3. The mark is written once nothing but the command is left to do, and its answer waited for: without the one nothing of
 *     the command ever ran. Without the other nobody wants it any more: the gateway is gone, or has called it off.
 * L4. The command has no descriptor but input, output and errors. The planned directory's would lead out of the sandbox.
 * L5. A limit that cannot be set is lower already. The number of processes has no option that every shell knows.
 * L6. It stays until the command has ended. It is the first process of the namespace, and the kernel ends the others with
 *     it; the command itself cannot be the first, whom signals from within do not reach.
 * L7. The command cannot reach it: its files in /proc are hidden (A6), from itself too, so that it looks through the eyes of
 *     a child. An interrupt, which shells listen to, changes nothing.
 */
import { RESERVED_PER_USED, type SandboxLimits } from "./sandbox-limits.ts";

/** Shells take single digits only. */
export const MARK_FD = 3;
export const DIRECTORY_FD = 4;
/** Free by now: what bwrap was to read through it, it has read. */
const ERRORS_FD = 5;

export const STARTED_MARK = "started\n";
export const ANSWER_TO_MARK = "\n";
export const NOT_THE_PLANNED_DIRECTORY = 64;

const KIB = 1024;
const FILE_BLOCK = 512;

/** `stageSizes`: of how many words each stage consists. */
export function launcherScript(limits: SandboxLimits, stageSizes: readonly number[]): string {
  return [
    `ulimit -p ${limits.processes} 2>/dev/null || ulimit -u ${limits.processes} || exit 1`,
    `{ ulimit -c 0`,
    `ulimit -t ${limits.cpuSeconds}`,
    `ulimit -d ${Math.floor(limits.memoryBytes / KIB)}`,
    `ulimit -v ${Math.floor((limits.memoryBytes * RESERVED_PER_USED) / KIB)}`,
    `ulimit -f ${Math.floor(limits.fileBytes / FILE_BLOCK)}`,
    `ulimit -n ${limits.openFiles}; } 2>/dev/null`,
    "trap : INT",
    `( [ . -ef /proc/self/fd/${DIRECTORY_FD} ] ) || exit ${NOT_THE_PLANNED_DIRECTORY}`,
    `exec ${DIRECTORY_FD}<&-`,
    `echo ${STARTED_MARK.trim()} >&${MARK_FD} && read -r _ <&${MARK_FD} || exit 1`,
    `exec ${MARK_FD}>&-`,
    // What the shell has to say about a stage that a signal ended is no output of the command.
    `exec ${ERRORS_FD}>&2 2>/dev/null`,
    pipeline(stageSizes),
    // A shell may turn into its last command: this one is its own.
    "exit",
  ].join("\n");
}

function pipeline(stageSizes: readonly number[]): string {
  let position = 0;
  const stages = stageSizes.map((size) => {
    const words = Array.from({ length: size }, () => `"\${${++position}}"`).join(" ");
    // In parentheses, for some shells redirect themselves for a command that stands alone, and speak there.
    return `( ${words} 2>&${ERRORS_FD} ${ERRORS_FD}>&- )`;
  });
  return stages.join(" | ");
}
