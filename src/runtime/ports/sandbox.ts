/**
 * Runs commands cut off from the network, the home, other processes and every privilege.
 *
 * `check` tests each property before anything runs and names those that do not hold. `run` starts the given executables
 * directly: no shell, no lookup by name. When the signal aborts or the time is over, every process of the command is gone
 * within two seconds, including children that left its process group. Output beyond the limit is read and dropped, so
 * memory is bounded and the command does not block.
 */

export interface SandboxCommand {
  /** A pipeline. Executables are real paths; `argv[0]` is the name used in the call. */
  readonly stages: readonly { readonly executable: string; readonly argv: readonly string[] }[];
  /** The root is the only visible part of the home file system, at the same path. */
  readonly workspace: { readonly root: string; readonly isWritable: boolean };
  /** The start directory, inside the workspace; refused when another directory has replaced it. */
  readonly cwd: { readonly path: string; readonly device: string; readonly inode: string };
  readonly environment: Readonly<Record<string, string>>;
  /** Workspace files that the command sees with these bytes, even if they changed since. */
  readonly pinned: readonly { readonly path: string; readonly bytes: Uint8Array }[];
  readonly timeoutMs: number;
  /** Of stdout and of stderr. */
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
  /** Output as it arrives, within the limit; chunks may split a character. */
  readonly onOutput: ((stream: "stdout" | "stderr", bytes: Uint8Array) => void) | null;
}

export interface Sandbox {
  /**
   * The properties that do not hold here, each with what to do about it; empty when a command may run. Tested until all
   * hold, at growing intervals.
   */
  check(): Promise<readonly string[]>;
  /** Rejects with a `SandboxError`, or with the signal's reason if it aborted before anything started. */
  run(command: SandboxCommand, watcher: SandboxWatcher): Promise<SandboxResult>;
}

export type SandboxErrorCode =
  /** Nothing ran: another directory has replaced the planned one. */
  | "sandbox.moved"
  /** Nothing ran: the sandbox could not be created. */
  | "sandbox.unavailable"
  /** The command may have run; its end was not observed. */
  | "sandbox.failed";

/** The message says what to do. */
export class SandboxError extends Error {
  override readonly name = "SandboxError";
  readonly code: SandboxErrorCode;
  constructor(code: SandboxErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
