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
  /** The output of each is the input of the next. Executables are real paths; `argv[0]` is what it was called by. */
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
  /** Rejects with a `SandboxError`; with the signal's reason when it had aborted before anything was started. */
  run(command: SandboxCommand, watcher: SandboxWatcher): Promise<SandboxResult>;
}

export type SandboxErrorCode =
  /** Nothing of the command ran: another directory has taken the place of the planned one. */
  | "sandbox.moved"
  /** Nothing of the command ran: the sandbox could not be made. */
  | "sandbox.unavailable"
  /** It may have run: its end was never seen. */
  | "sandbox.failed";

/** Every way a sandbox refuses; the message says what to do. */
export class SandboxError extends Error {
  override readonly name = "SandboxError";
  readonly code: SandboxErrorCode;
  constructor(code: SandboxErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
