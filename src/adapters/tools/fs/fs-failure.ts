/** Translates errors of the operating system into tool failures. An error that is not listed here is a defect. */
import type { ErrorCode } from "../../../kernel/vocabulary/error-code.ts";
import { ToolFailure } from "../tool-failure.ts";

const NOT_PERMITTED = "The operating system denies the gateway access";
const UNUSABLE_NAME = "The file system does not accept this name";
const NEEDS_HARD_LINKS = "The workspace's file system has no hard links, which this needs";

const EXPECTED: Readonly<Record<string, readonly [code: ErrorCode, message: string, retryable: boolean]>> = {
  EACCES: ["invalid.request", NOT_PERMITTED, false],
  EPERM: ["invalid.request", NOT_PERMITTED, false],
  EROFS: ["invalid.request", "The workspace is on a read-only file system", false],
  ENOENT: ["invalid.request", "No such file or directory", false],
  ENOTDIR: ["invalid.request", "A name in the path is not a directory", false],
  EISDIR: ["invalid.request", "It is a directory", false],
  ENAMETOOLONG: ["tool.input_invalid", "A name is too long for this file system", false],
  EILSEQ: ["tool.input_invalid", UNUSABLE_NAME, false],
  EINVAL: ["tool.input_invalid", UNUSABLE_NAME, false],
  ENOTSUP: ["invalid.request", NEEDS_HARD_LINKS, false],
  EOPNOTSUPP: ["invalid.request", NEEDS_HARD_LINKS, false],
  ENOSPC: ["internal.error", "The disk is full: free some space", true],
  EDQUOT: ["internal.error", "The disk quota is used up: free some space", true],
  EXDEV: ["invalid.request", "The trash is on another file system, so this cannot be moved there", false],
  EBUSY: ["invalid.request", "The operating system is using it", true],
  EFBIG: ["internal.error", "The file would be larger than the system allows", false],
  EIO: ["internal.error", "The disk reports an error", false],
  EMFILE: ["internal.error", "The gateway has too many files open: try again", true],
  ENFILE: ["internal.error", "The system has too many files open: try again", true],
};

export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** Runs `work` and translates its errors; `path` is relative to the workspace. */
export async function withPathErrors<Result>(path: string, work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw expectedFailure(error, path) ?? error;
  }
}

export function expectedFailure(cause: unknown, path: string): ToolFailure | null {
  const expected = EXPECTED[errnoOf(cause) ?? ""];
  if (expected === undefined) return null;
  const [code, message, retryable] = expected;
  return new ToolFailure(code, `${message}: ${JSON.stringify(path)}.`, { retryable, details: { path }, cause });
}

/** `problem` follows the path: `"a.txt" is a directory`. */
export function pathFailure(code: ErrorCode, path: string, problem: string): ToolFailure {
  return new ToolFailure(code, `${JSON.stringify(path)} ${problem}.`, { details: { path } });
}

export function symlinkRefused(path: string): ToolFailure {
  return pathFailure("policy.denied", path, "is a symbolic link, and links are never followed. Use the real path");
}

export function missing(path: string): ToolFailure {
  return pathFailure("invalid.request", path, "does not exist. fs.list_dir shows what does");
}

export function changedSince(path: string, { isRepeat }: { readonly isRepeat: boolean }): ToolFailure {
  const done = isRepeat
    ? "this attempt did nothing, but the interrupted one may have: check before you call it again"
    : "nothing was done. Call it again";
  return pathFailure("policy.denied", path, `has changed since the call was planned; ${done}`);
}
