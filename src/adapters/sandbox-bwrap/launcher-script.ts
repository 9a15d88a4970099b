/**
 * The script that runs first inside the sandbox: it sets limits, checks its directory, and starts the command.
 *
 * L1. No word of the command is part of the script's text: words arrive as parameters, and the script refers to them by
 *     position. The shell therefore interprets none of them.
 * L2. The command starts in the planned directory, or not at all. The directory is held open outside; comparing it with the
 *     current one leaves no gap, since a process keeps its directory.
 * L3. The mark is written when only the command is left to start, and its answer awaited. Without the mark nothing of the
 *     command ran; without the answer the gateway is gone or has cancelled it.
 * L4. The command has no descriptors except input, output and errors. The planned directory's would lead out of the
 *     sandbox. All others were closed before (`close-other-files.ts`).
 * L5. A limit that cannot be set is already lower. Shells differ in the option for the number of processes.
 * L6. It stays until the command has ended: it is the first process of the namespace, and the kernel ends the others with
 *     it. The command itself cannot be first, because signals from inside do not reach the first process.
 * L7. The command cannot reach it: its /proc files are hidden (A6), from itself too, so it checks through a child. An
 *     interrupt, which shells react to, changes nothing.
 */
import { RESERVED_PER_USED, type SandboxLimits } from "./sandbox-limits.ts";

/** Shells support single digits only. */
export const MARK_FD = 3;
export const DIRECTORY_FD = 4;
/** Free: closed before the launcher began. */
const ERRORS_FD = 5;

export const STARTED_MARK = "started\n";
export const ANSWER_TO_MARK = "\n";
export const NOT_THE_PLANNED_DIRECTORY = 64;

const KIB = 1024;
const FILE_BLOCK = 512;

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
    // The shell's own message about a killed stage is not output of the command.
    `exec ${ERRORS_FD}>&2 2>/dev/null`,
    pipeline(stageSizes),
    // Keeps the shell from replacing itself by its last command.
    "exit",
  ].join("\n");
}

function pipeline(stageSizes: readonly number[]): string {
  let position = 0;
  const stages = stageSizes.map((size) => {
    const words = Array.from({ length: size }, () => `"\${${++position}}"`).join(" ");
    // In parentheses: some shells redirect themselves for a lone command and print there.
    return `( ${words} 2>&${ERRORS_FD} ${ERRORS_FD}>&- )`;
  });
  return stages.join(" | ");
}
