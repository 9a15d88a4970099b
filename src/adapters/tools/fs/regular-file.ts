/**
 * Opens regular files for reading, never through a link. The kind is checked before opening, since opening a device has
 * effects, and again on the open file, since it may have been swapped. O_NONBLOCK keeps a pipe from blocking.
 */
import { isUtf8 } from "node:buffer";
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  read as readCallback,
  readSync,
  type Stats,
} from "node:fs";
import { promisify } from "node:util";
import { hashBytes } from "../../../kernel/vocabulary/hash.ts";
import type { Hash } from "../../../kernel/vocabulary/identifiers.ts";
import type { ToolFailure } from "../tool-failure.ts";
import { assertNotMoved, type DirectoryHandle, entryPath, shownPath } from "./directory-handle.ts";
import { errnoOf, pathFailure, symlinkRefused, withPathErrors } from "./fs-failure.ts";

const SMALL_BYTES = 65_536;
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

const read = promisify(readCallback);

export interface OpenFile extends Disposable {
  readonly fd: number;
  readonly stats: Stats;
}

export function withRegularFile<Result>(
  directory: DirectoryHandle,
  name: string,
  use: (file: OpenFile) => Promise<Result>,
): Promise<Result | null> {
  return withPathErrors(shownPath(directory, name), async () => {
    using file = openRegular(directory, name);
    return file === null ? null : await use(file);
  });
}

function openRegular(directory: DirectoryHandle, name: string): OpenFile | null {
  const entry = entryPath(directory, name);
  const before = lstatSync(entry, { throwIfNoEntry: false });
  if (before === undefined) return null;
  if (!before.isFile()) throw irregular(shownPath(directory, name), before);
  const fd = openNoFollow(entry, directory, name);
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw irregular(shownPath(directory, name), stats);
    assertNotMoved(directory);
    return { fd, stats, [Symbol.dispose]: () => closeSync(fd) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function openNoFollow(entry: string, directory: DirectoryHandle, name: string): number {
  try {
    return openSync(entry, FLAGS);
  } catch (error) {
    throw errnoOf(error) === "ELOOP" ? symlinkRefused(shownPath(directory, name)) : error;
  }
}

export const NOT_REGULAR = "is a device, a pipe or a socket, not a regular file";

function irregular(path: string, stats: Stats): ToolFailure {
  if (stats.isSymbolicLink()) return symlinkRefused(path);
  if (stats.isDirectory()) return pathFailure("invalid.request", path, "is a directory: list it with fs.list_dir");
  return pathFailure("policy.denied", path, NOT_REGULAR);
}

/** The other names of a hard-linked file may be outside the workspace. */
export function refuseHardLinks({ stats }: OpenFile, path: string): void {
  if (stats.nlink === 1) return;
  const problem = "has more than one name (hard links), so it may belong outside the workspace: use a copy of it";
  throw pathFailure("policy.denied", path, problem);
}

export function isText(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(0);
}

/** Keeps a byte order mark. */
export function textOf(bytes: Buffer, path: string): string {
  if (isText(bytes)) return bytes.toString();
  throw pathFailure("invalid.request", path, "is not a text file in UTF-8");
}

/** Reads from the beginning; fewer bytes than `limit` only if the file had no more when it was opened. */
export async function readUpTo({ fd, stats }: OpenFile, limit: number, signal?: AbortSignal): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(Math.min(limit, stats.size));
  // For a few pages a synchronous read is faster than a thread hop.
  if (bytes.length <= SMALL_BYTES) return fill(fd, bytes);
  let length = 0;
  while (length < bytes.length) {
    signal?.throwIfAborted();
    const { bytesRead } = await read(fd, bytes, length, bytes.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

/** For worker threads, which may block. `isWanted` decides before anything is read. */
export function readRegularSync(
  directory: DirectoryHandle,
  name: string,
  isWanted: (stats: Stats) => boolean,
): Buffer | null {
  using file = openRegular(directory, name);
  return file !== null && isWanted(file.stats) ? fill(file.fd, Buffer.allocUnsafe(file.stats.size)) : null;
}

/** A plan binds the content it replaces, so that content is read whole. */
export const MAX_REPLACED_BYTES = 16_777_216;

export interface ExistingFile {
  readonly hash: Hash;
  readonly content: Buffer;
}

export async function inspectFile(directory: DirectoryHandle, name: string): Promise<ExistingFile | null> {
  return await withRegularFile(directory, name, async (file) => {
    const content = await readWhole(file, shownPath(directory, name));
    return { hash: hashBytes(content), content };
  });
}

export async function readWhole(file: OpenFile, path: string): Promise<Buffer> {
  const content = await readUpTo(file, MAX_REPLACED_BYTES + 1);
  if (content.length <= MAX_REPLACED_BYTES) return content;
  throw pathFailure("invalid.request", path, "is too large to be replaced as a text: move it away first");
}

function fill(fd: number, bytes: Buffer): Buffer {
  let length = 0;
  while (length < bytes.length) {
    const count = readSync(fd, bytes, length, bytes.length - length, length);
    if (count === 0) return bytes.subarray(0, length);
    length += count;
  }
  return bytes;
}
