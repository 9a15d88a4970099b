/**
 * Checks from inside that the sandbox provides its properties on this machine, with programs that every Linux has and
 * under smaller limits than commands have. A property holds only with evidence: a check that could not run has failed.
 */
import { statSync } from "node:fs";
import { type SandboxCommand, SandboxError, type SandboxWatcher } from "../../runtime/ports/sandbox.ts";
import type { Ended } from "./contain-process.ts";
import { notStarted } from "./sandbox-failure.ts";
import { DEFAULT_LIMITS, type SandboxLimits } from "./sandbox-limits.ts";

type Contain = (command: SandboxCommand, watcher: SandboxWatcher, limits: SandboxLimits) => Promise<Ended>;

interface PropertyCheck {
  readonly property: string;
  readonly advice?: string;
  isHeld(seen: string): boolean;
}

/** Exists on every system, and is read-only for commands. */
const DIRECTORY = "/usr";
const TIMEOUT_MS = 10_000;
const MAX_OUTPUT_BYTES = 256 * 1024;

const LOOK_AROUND = `
echo "[top]" /*
echo "[processes]" /proc/[0-9]*
echo "[own]" /proc/$$
echo "[first]" $(ls -A /proc/1)
for fd in /proc/$$/fd/*; do
  case "$fd" in */[012]) ;; *) [ ! -e "$fd" ] || echo "[stray] $fd";; esac
done
cat /proc/self/status /proc/self/mountinfo /proc/self/net/dev /proc/self/net/route
dd if=/dev/zero of=/tmp/small bs=1k count=1 2>/dev/null; echo "[control] $?"
dd if=/dev/zero of=/tmp/large bs=64k count=1 2>/dev/null; echo "[file] $?"
dd if=/dev/zero of=/dev/null bs=256M count=1 2>/dev/null; echo "[memory] $?"
`;
const SMALL_LIMITS: SandboxLimits = { ...DEFAULT_LIMITS, memoryBytes: 64 * 1024 * 1024, fileBytes: 4096 };

const REPORT = "report it, with the versions of kernel and bubblewrap";

const TOP = ["bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "tmp", "usr"];
const WRITABLE_MOUNT = /^(?:\/proc|\/tmp|\/dev\/.+)$/;

const CHECKS: readonly PropertyCheck[] = [
  {
    property: "no capabilities",
    isHeld: (seen) => ["CapPrm", "CapEff", "CapBnd", "CapAmb"].every((set) => statusIs(seen, set, /^0+$/)),
  },
  {
    property: "no new privileges",
    isHeld: (seen) => statusIs(seen, "NoNewPrivs", /^1$/),
  },
  {
    property: "filtered system calls",
    advice: "use a kernel with seccomp filters (CONFIG_SECCOMP_FILTER)",
    isHeld: (seen) => statusIs(seen, "Seccomp", /^2$/),
  },
  {
    property: "no network",
    advice: "use a kernel with network namespaces (CONFIG_NET_NS)",
    isHeld: (seen) => /^Iface\t/m.test(seen) && !/^\S+\t[0-9A-F]{8}\t/m.test(seen) && interfaces(seen).join() === "lo",
  },
  {
    property: "nothing of the host but its programs",
    isHeld: (seen) => listed(seen, "top").every((path) => TOP.includes(path.slice(1))),
  },
  {
    property: "no open file of the gateway",
    isHeld: (seen) => seen.includes("[top]") && !seen.includes("[stray]"),
  },
  {
    property: "no other process in sight",
    advice: "use a kernel with process namespaces (CONFIG_PID_NS)",
    isHeld: (seen) => listed(seen, "processes").join() === ["/proc/1", ...listed(seen, "own")].join(),
  },
  {
    property: "a first process out of reach",
    isHeld: (seen) => /^\[first\]$/m.test(seen),
  },
  {
    property: "a system that cannot be written to",
    isHeld: (seen) => {
      const mounts = [...seen.matchAll(/^\d+ \d+ \d+:\d+ \S+ (?<point>\S+) (?<mode>r[ow])[, ]/gm)];
      return (
        mounts.length > 0 &&
        mounts.every(({ groups }) => groups?.["mode"] === "ro" || WRITABLE_MOUNT.test(groups?.["point"] ?? ""))
      );
    },
  },
  {
    property: "bounded files",
    isHeld: (seen) => exitOf(seen, "control") === 0 && exitOf(seen, "file") > 0,
  },
  {
    property: "bounded memory",
    isHeld: (seen) => exitOf(seen, "control") === 0 && exitOf(seen, "memory") > 0,
  },
];

export async function checkProperties(contain: Contain): Promise<readonly string[]> {
  try {
    const [looked, isCounted, isEnded] = await Promise.all([
      contain(shellCommand(LOOK_AROUND), silent(), SMALL_LIMITS),
      areProcessesCounted(contain),
      areAllProcessesEnded(contain),
    ]);
    if (!looked.hasStarted) return [notStarted(looked, DIRECTORY).message];
    const seen = new TextDecoder().decode(looked.stdout);
    return [
      ...CHECKS.filter((check) => !check.isHeld(seen)).map(missing),
      ...(isCounted ? [] : [missing({ property: "bounded processes", advice: "use a kernel of Linux 5.14 or newer" })]),
      ...(isEnded ? [] : [missing({ property: "an end for every process" })]),
    ];
  } catch (error) {
    if (error instanceof SandboxError) return [error.message];
    throw error;
  }
}

/** With a limit of two processes, the launcher and the program, the program cannot start another. */
async function areProcessesCounted(contain: Contain): Promise<boolean> {
  const command = commandOf("/usr/bin/env", ["env", "timeout", "5", "true"]);
  const [bounded, control] = await Promise.all([
    contain(command, silent(), { ...DEFAULT_LIMITS, processes: 2 }),
    contain(command, silent(), DEFAULT_LIMITS),
  ]);
  return bounded.hasStarted && bounded.exitCode !== 0 && control.exitCode === 0;
}

/** A command that ignores SIGTERM, with a child in another session. */
async function areAllProcessesEnded(contain: Contain): Promise<boolean> {
  const stop = new AbortController();
  const command = shellCommand(`trap "" TERM; setsid sleep 60 & echo ready; wait`);
  const ended = await contain(command, { signal: stop.signal, onOutput: () => stop.abort() }, DEFAULT_LIMITS);
  return stop.signal.aborted && !ended.isTimedOut;
}

function shellCommand(script: string): SandboxCommand {
  return commandOf("/bin/sh", ["sh", "-c", script]);
}

function commandOf(executable: string, argv: readonly string[]): SandboxCommand {
  const { dev, ino } = statSync(DIRECTORY, { bigint: true });
  return {
    stages: [{ executable, argv }],
    workspace: { root: DIRECTORY, isWritable: false },
    cwd: { path: DIRECTORY, device: `${dev}`, inode: `${ino}` },
    environment: { PATH: "/usr/bin:/bin", LC_ALL: "C" },
    pinned: [],
    timeoutMs: TIMEOUT_MS,
    maxOutputBytes: MAX_OUTPUT_BYTES,
  };
}

function silent(): SandboxWatcher {
  return { signal: new AbortController().signal, onOutput: null };
}

function missing({ property, advice = REPORT }: Pick<PropertyCheck, "property" | "advice">): string {
  return `This machine's sandbox does not provide "${property}": ${advice}.`;
}

function statusIs(seen: string, field: string, expected: RegExp): boolean {
  const value = new RegExp(`^${field}:\\t(.*)$`, "m").exec(seen)?.[1];
  return value !== undefined && expected.test(value);
}

function interfaces(seen: string): readonly string[] {
  return [...seen.matchAll(/^ *(\S+):(?: +\d+){16}/gm)].map((match) => match[1] ?? "");
}

function listed(seen: string, name: string): readonly string[] {
  return new RegExp(`^\\[${name}\\] (.*)$`, "m").exec(seen)?.[1]?.split(" ") ?? ["nothing"];
}

/** NaN if the line is missing: neither zero nor positive. */
function exitOf(seen: string, name: string): number {
  return Number(new RegExp(`^\\[${name}\\] (\\d+)$`, "m").exec(seen)?.[1]);
}
