/**
 * Where commands run: cut off from the network, the home, other processes and every privilege.
 *
 * X1. What a sandbox cannot hold is known before anything runs: `check` tries each property, and names those that fail.
 * X2. `run` starts what it is given, as it is given: no shell reads it, nothing is looked up by name.
 * X3. When the signal aborts or the time is over, every process of the command is gone within two seconds, children that
 *     left its group included.
 * X4. Output beyond the limit is read and dropped: memory is bounded, and the command is not held up.
 */

export interface SandboxCommand {
  /** The output of each is the input of the next. Executables are real paths. */
  readonly stages: readonly { readonly executable: string; readonly argv: readonly string[] }[];
  /** Of the whole command; its root is all of the home file system that can be seen, at the same path. */
  readonly workspace: { readonly root: string; readonly isWritable: boolean };
  /** The directory it starts in, in or beneath the workspace: refused when another has taken its place. */
  readonly cwd: { readonly path: string; readonly device: string; readonly inode: string };
  readonly environment: Readonly<Record<string, string>>;
  /** Files of the workspace that are seen with these bytes, whatever lies there by now. */
  readonly pinned: readonly { readonly path: string; readonly bytes: Uint8Array }[];
  readonly timeoutMs: number;
  /** Of standard output and error each. */
  readonly maxOutputBytes: number;
}

export interface SandboxResult {
  /** Of the last stage; 128 + n when signal n ended it. */
  readonly exitCode: number;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  /** Bytes were dropped. */
  readonly isCut: boolean;
  readonly isTimedOut: boolean;
  readonly durationMs: number;
}

export interface SandboxWatcher {
  readonly signal: AbortSignal;
  /** Output as it comes, within the limit; cut anywhere, in the middle of a character too. */
  readonly onOutput: ((stream: "stdout" | "stderr", bytes: Uint8Array) => void) | null;
}

export interface Sandbox {
  /** The properties that do not hold here, each with what to do about it; empty when a command may run. Tried once. */
  check(): Promise<readonly string[]>;
  run(command: SandboxCommand, watcher: SandboxWatcher): Promise<SandboxResult>;
}
