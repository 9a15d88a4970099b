/**
 * What the operating system says, in our codes.
 *
 * E1. Only what is listed here is expected; any other error stays what it is, and is reported as a defect.
 */
import type { ErrorCode } from "../../../kernel/vocabulary/error-code.ts";
import { ToolFailure } from "../tool-failure.ts";

const EXPECTED: Readonly<Record<string, readonly [code: ErrorCode, message: string, retryable: boolean]>> = {
  EACCES: ["invalid.request", "The operating system does not let the gateway do this", false],
  EPERM: ["invalid.request", "The operating system does not let the gateway do this", false],
  EROFS: ["invalid.request", "The workspace is on a read-only file system", false],
  ENOENT: ["invalid.request", "There is no such file or directory", false],
  ENOTDIR: ["invalid.request", "A name on the way is not a directory", false],
  EISDIR: ["invalid.request", "A directory stands there", false],
  ENAMETOOLONG: ["tool.input_invalid", "A name is too long for this file system", false],
  EILSEQ: ["tool.input_invalid", "This file system cannot hold such a name", false],
  EINVAL: ["tool.input_invalid", "This file system cannot hold such a name", false],
  ENOTSUP: ["invalid.request", "The file system of the workspace cannot do this (it needs hard links)", false],
  EOPNOTSUPP: ["invalid.request", "The file system of the workspace cannot do this (it needs hard links)", false],
  ENOSPC: ["internal.error", "The disk is full: free some space", true],
  EDQUOT: ["internal.error", "The disk quota is used up: free some space", true],
  EXDEV: ["invalid.request", "It is on another file system than the trash, so it cannot be moved there", false],
  EBUSY: ["invalid.request", "The operating system is using it", true],
  EFBIG: ["internal.error", "The file would be larger than the system allows", false],
  EIO: ["internal.error", "The disk reports an error", false],
  EMFILE: ["internal.error", "The gateway has too many files open: try again", true],
  ENFILE: ["internal.error", "The system has too many files open: try again", true],
};

export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** Does it, and says what went wrong with `path`, which is relative to the workspace. */
export function named<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw expectedFailure(error, path) ?? error;
  }
}

/** The same for work that takes its time. */
export async function naming<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw expectedFailure(error, path) ?? error;
  }
}

/** Null for what is not expected. */
export function expectedFailure(cause: unknown, path: string): ToolFailure | null {
  const expected = EXPECTED[errnoOf(cause) ?? ""];
  if (expected === undefined) return null;
  const [code, message, retryable] = expected;
  return new ToolFailure(code, `${message}: ${JSON.stringify(path)}.`, { retryable, details: { path }, cause });
}

export function symlinkRefused(path: string): ToolFailure {
  return new ToolFailure(
    "policy.denied",
    `There is a symbolic link at ${JSON.stringify(path)}; links are never followed. Use the real path beneath the workspace.`,
    { details: { path } },
  );
}

export function missing(path: string): ToolFailure {
  const message = `There is no such file or directory: ${JSON.stringify(path)}; fs.list_dir shows what there is.`;
  return new ToolFailure("invalid.request", message, { details: { path } });
}

/** The world is no longer the one that was planned for. */
export function changedSince(path: string, { isRepeat }: { readonly isRepeat: boolean }): ToolFailure {
  const done = isRepeat
    ? "this attempt did nothing, and what the interrupted one did is not known: look before you call it again"
    : "nothing was done. Call it again";
  return new ToolFailure(
    "policy.denied",
    `What is at ${JSON.stringify(path)} has changed since the call was planned; ${done}.`,
    { details: { path } },
  );
}
