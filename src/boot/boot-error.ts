/**
 * An expected failure of a command. The message is one line, the hint says what to do; neither holds a secret or a message
 * body. Usage errors exit with 2, all others with 1.
 */
export class BootError extends Error {
  override readonly name = "BootError";
  readonly code: string;
  readonly hint: string;

  constructor(code: string, message: string, hint: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.hint = hint;
  }

  get exitCode(): number {
    return this.code === USAGE ? EXIT.usage : EXIT.failure;
  }
}

const USAGE = "usage";

/** Exit codes (design: Commands). */
export const EXIT = { success: 0, failure: 1, usage: 2, interrupted: 130 } as const;

export function usageError(message: string, hint: string): BootError {
  return new BootError(USAGE, message, hint);
}

/** The code of a failed system call, such as `ENOENT`; null for any other failure. */
export function systemCodeOf(error: unknown): string | null {
  if (!(error instanceof Error) || !("code" in error) || !("syscall" in error)) return null;
  return typeof error.code === "string" ? error.code : null;
}
