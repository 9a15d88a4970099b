/** A workspace in a temporary directory, and commands run in it by the real sandbox. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createBwrapSandbox } from "../../../src/adapters/sandbox-bwrap/create-bwrap-sandbox.ts";
import { FALLBACK_USER } from "../../../src/adapters/sandbox-bwrap/workspace-user.ts";
import { systemClock } from "../../../src/boot/system-clock.ts";
import type { Sandbox, SandboxCommand, SandboxResult, SandboxWatcher } from "../../../src/runtime/ports/sandbox.ts";

const BWRAP = "/usr/bin/bwrap";

export interface Boxed {
  readonly root: string;
  readonly sandbox: Sandbox;
  run(change?: Partial<SandboxCommand>, watcher?: Partial<SandboxWatcher>): Promise<SandboxResult>;
  /** What a shell script prints. */
  shell(script: string, change?: Partial<SandboxCommand>): Promise<string>;
  dispose(): void;
}

export function openSandbox(bwrapPath = BWRAP, architecture: string = process.arch): Sandbox {
  const fallbackUser = process.getuid?.() === 0 ? FALLBACK_USER : null;
  return createBwrapSandbox({ clock: systemClock, bwrapPath, architecture, fallbackUser });
}

export function boxed(sandbox: Sandbox = openSandbox()): Boxed {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "surety-sandbox-")));
  const run: Boxed["run"] = (change = {}, watcher = {}) =>
    sandbox.run(
      {
        stages: [shellStage("true")],
        workspace: { root, isWritable: true },
        cwd: identified(root),
        environment: { PATH: "/usr/bin:/bin", LC_ALL: "C" },
        pinned: [],
        timeoutMs: 30_000,
        maxOutputBytes: 1_000_000,
        ...change,
      },
      { signal: new AbortController().signal, onOutput: null, ...watcher },
    );
  return {
    root,
    sandbox,
    run,
    async shell(script, change = {}) {
      const { stdout, stderr } = await run({ stages: [shellStage(script)], ...change });
      return textOf(stdout) + textOf(stderr);
    },
    dispose: () => rmSync(root, { recursive: true, force: true }),
  };
}

export function shellStage(script: string): SandboxCommand["stages"][number] {
  return { executable: "/bin/sh", argv: ["sh", "-c", script] };
}

export function identified(path: string): SandboxCommand["cwd"] {
  const { dev, ino } = statSync(path, { bigint: true });
  return { path, device: `${dev}`, inode: `${ino}` };
}

export function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

/** Seconds to sleep that nobody else sleeps: its sleepers are found by them. */
export function distinctNap(): string {
  return `300.${randomBytes(6).readUIntBE(0, 6)}`;
}

/** The processes of the host that sleep so long. */
export function sleepers(nap: string): readonly string[] {
  return processesWith((words) => words.join() === `sleep,${nap}`);
}

/** The processes of the host whose words are such. */
export function processesWith(isSuch: (words: readonly string[]) => boolean): readonly string[] {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name) && isSuch(wordsOf(name)));
}

function wordsOf(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0").slice(0, -1);
  } catch {
    return [];
  }
}
