/**
 * Opening what is there to be read: regular files only, and never by way of a link.
 *
 * R1. What it is, is asked before it is opened, since opening alone does something to a device, and of the open file
 *     again, since it may have been swapped in between. A pipe does not keep anybody waiting.
 * R2. At most `limit` bytes are read, however large the file is or grows.
 * R3. A file directly in the root is opened by its path where there are handles, and the root is not held: no directory
 *     beneath it is walked, and the file itself is not followed if it is a link. That the root is no link is asked once
 *     the file is open. To swap it in between takes writing beside the workspace, where no file tool and no command in
 *     a sandbox can; and whoever does is followed at the next start anyway (K2). This way only ever finds a file:
 *     whatever is not as expected is left to the walk, which says what is wrong.
 */
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
import { ToolFailure } from "../tool-failure.ts";
import { assertInPlace, type DirectoryHandle, entryPath, shownPath } from "./directory-handle.ts";
import { errnoOf, naming, symlinkRefused } from "./fs-failure.ts";
import { inDirectory, type Workspace } from "./workspace.ts";

const SMALL_BYTES = 65_536;
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

const IF_THERE = { throwIfNoEntry: false } as const;

const read = promisify(readCallback);

export interface OpenFile {
  readonly fd: number;
  readonly stats: Stats;
}

/** The file these names lead down to. Null where there is nothing of that name in its directory. */
export async function withWorkspaceFile<Result>(
  workspace: Workspace,
  parents: readonly string[],
  name: string,
  use: (file: OpenFile) => Promise<Result>,
): Promise<Result | null> {
  const file = parents.length === 0 ? openInRoot(workspace, name) : null;
  if (file === null) return await inDirectory(workspace, parents, (directory) => withRegularFile(directory, name, use));
  return await naming(name, () => closing(file, use));
}

function openInRoot({ root, traversal }: Workspace, name: string): OpenFile | null {
  if (traversal !== "handles") return null;
  const path = `${root}/${name}`;
  let fd: number | null = null;
  try {
    if (!lstatSync(path, IF_THERE)?.isFile()) return null;
    fd = openSync(path, FLAGS);
    const stats = fstatSync(fd);
    if (stats.isFile() && lstatSync(root, IF_THERE)?.isDirectory()) return { fd, stats };
  } catch {
    // The walk meets the same obstacle, and has a word for it.
  }
  if (fd !== null) closeSync(fd);
  return null;
}

/** Null where there is nothing of that name. */
export function withRegularFile<Result>(
  directory: DirectoryHandle,
  name: string,
  use: (file: OpenFile) => Promise<Result>,
): Promise<Result | null> {
  return naming(shownPath(directory, name), async () => {
    const file = openRegular(directory, name);
    return file === null ? null : await closing(file, use);
  });
}

async function closing<Result>(file: OpenFile, use: (file: OpenFile) => Promise<Result>): Promise<Result> {
  try {
    return await use(file);
  } finally {
    closeSync(file.fd);
  }
}

function openRegular(directory: DirectoryHandle, name: string): OpenFile | null {
  const entry = entryPath(directory, name);
  const before = lstatSync(entry, IF_THERE);
  if (before === undefined) return null;
  if (!before.isFile()) throw irregular(shownPath(directory, name), before);
  const fd = openOwn(entry, directory, name);
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw irregular(shownPath(directory, name), stats);
    assertInPlace(directory);
    return { fd, stats };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function openOwn(entry: string, directory: DirectoryHandle, name: string): number {
  try {
    return openSync(entry, FLAGS);
  } catch (error) {
    throw errnoOf(error) === "ELOOP" ? symlinkRefused(shownPath(directory, name)) : error;
  }
}

function irregular(path: string, stats: Stats): ToolFailure {
  if (stats.isSymbolicLink()) return symlinkRefused(path);
  if (stats.isDirectory()) {
    const message = `${JSON.stringify(path)} is a directory: fs.list_dir lists it.`;
    return new ToolFailure("invalid.request", message, { details: { path } });
  }
  const message = `${JSON.stringify(path)} is a device, a pipe or a socket, not a regular file.`;
  return new ToolFailure("policy.denied", message, { details: { path } });
}

/** From its beginning; fewer bytes than `limit` only where the file had no more when it was opened. */
export async function readUpTo({ fd, stats }: OpenFile, limit: number, signal?: AbortSignal): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(Math.min(limit, stats.size));
  // A few pages are read sooner than another thread has been woken to read them.
  return bytes.length <= SMALL_BYTES ? fill(fd, bytes) : await fillElsewhere(fd, bytes, signal);
}

async function fillElsewhere(fd: number, bytes: Buffer, signal?: AbortSignal): Promise<Buffer> {
  let length = 0;
  while (length < bytes.length) {
    signal?.throwIfAborted();
    const { bytesRead } = await read(fd, bytes, length, bytes.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

/** For a thread that has nothing else to do than wait. `wanted` says, before a byte is read, whether any is. */
export function readRegularNow(
  directory: DirectoryHandle,
  name: string,
  wanted: (stats: Stats) => boolean,
): Buffer | null {
  const file = openRegular(directory, name);
  if (file === null) return null;
  try {
    if (!wanted(file.stats)) return null;
    return fill(file.fd, Buffer.allocUnsafe(file.stats.size));
  } finally {
    closeSync(file.fd);
  }
}

/** Replacing a file is bound to what it replaces, so that is read whole. */
export const MAX_PRESENT_BYTES = 16_777_216;

export interface PresentFile {
  readonly hash: Hash;
  readonly bytes: number;
}

export async function inspectFile(directory: DirectoryHandle, name: string): Promise<PresentFile | null> {
  return await withRegularFile(directory, name, async (file) => {
    const content = await readPresent(file, shownPath(directory, name));
    return { hash: hashBytes(content), bytes: content.length };
  });
}

export async function readPresent(file: OpenFile, path: string): Promise<Buffer> {
  const content = await readUpTo(file, MAX_PRESENT_BYTES + 1);
  if (content.length <= MAX_PRESENT_BYTES) return content;
  const message = `${JSON.stringify(path)} is too large to be replaced as a text: move it away first.`;
  throw new ToolFailure("invalid.request", message, { details: { path } });
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
