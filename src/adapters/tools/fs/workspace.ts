/**
 * The one directory the file tools know (S-4.2): its root, and the ways down from it.
 *
 * K1. What is opened on the way is closed when `use` is done with it, failed or not.
 * K2. The root is named by the operator: links on the way to it are theirs. Beneath it none is followed.
 */
import { fsync as fsyncCallback, mkdirSync } from "node:fs";
import { mkdir, realpath } from "node:fs/promises";
import { promisify } from "node:util";
import { ToolFailure } from "../tool-failure.ts";
import { passOnDirectory } from "./chown-new-files.ts";
import {
  type DirectoryHandle,
  enterDirectory,
  entryPath,
  type Heir,
  holdRoot,
  probeTraversal,
  releaseDirectory,
  shownPath,
  type Traversal,
} from "./directory-handle.ts";
import { errnoOf, expectedFailure, named, naming } from "./fs-failure.ts";

const fsync = promisify(fsyncCallback);

export interface Workspace {
  /** Absolute, and real. */
  readonly root: string;
  readonly traversal: Traversal;
  /** Absent: nobody; what is made stays the maker's. */
  readonly heir?: Heir;
}

/** Makes the directory when it is missing. `traversal` is found out unless a test knows better. */
export async function openWorkspace(path: string, traversal?: Traversal): Promise<Workspace> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  const root = await realpath(path);
  return { root, traversal: traversal ?? probeTraversal(root) };
}

/** In the directory these names lead down to. */
export function inDirectory<Result>(
  workspace: Workspace,
  names: readonly string[],
  use: (directory: DirectoryHandle) => Result | Promise<Result>,
): Promise<Result> {
  return inNearestDirectory(workspace, names, async (directory, [missing]) => {
    if (missing === undefined) return await use(directory);
    const path = shownPath(directory, missing);
    throw new ToolFailure("invalid.request", `There is no directory ${JSON.stringify(path)}.`, { details: { path } });
  });
}

/** In the last directory on the way down that exists; `missing` are the names after it. */
export async function inNearestDirectory<Result>(
  { root, traversal, heir }: Workspace,
  names: readonly string[],
  use: (directory: DirectoryHandle, missing: readonly string[]) => Result | Promise<Result>,
): Promise<Result> {
  let directory = named(".", () => holdRoot(root, traversal, heir));
  try {
    for (const [index, name] of names.entries()) {
      const held = directory;
      const child = enterIfThere(held, name);
      if (child === null) return await use(held, names.slice(index));
      directory = child;
      releaseDirectory(held);
    }
    return await use(directory, []);
  } finally {
    releaseDirectory(directory);
  }
}

/** In the directory these names lead down to from another; what is missing is made, durably, for one owner alone. */
export async function inMadeDirectory<Result>(
  from: DirectoryHandle,
  [name, ...others]: readonly string[],
  use: (directory: DirectoryHandle) => Result | Promise<Result>,
): Promise<Result> {
  if (name === undefined) return await use(from);
  const child = await naming(shownPath(from, name), async () => {
    if (!makeIfMissing(from, name)) return enterDirectory(from, name);
    await syncDirectory(from);
    return enterMade(from, name);
  });
  try {
    return await inMadeDirectory(child, others, use);
  } finally {
    releaseDirectory(child);
  }
}

/** After this, the names in it survive a power cut. */
export function syncDirectory({ fd }: DirectoryHandle): Promise<void> {
  return fsync(fd);
}

function enterIfThere(directory: DirectoryHandle, name: string): DirectoryHandle | null {
  try {
    return enterDirectory(directory, name);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return null;
    throw expectedFailure(error, shownPath(directory, name)) ?? error;
  }
}

function enterMade(parent: DirectoryHandle, name: string): DirectoryHandle {
  const made = enterDirectory(parent, name);
  try {
    passOnDirectory(made, parent);
    return made;
  } catch (error) {
    releaseDirectory(made);
    throw error;
  }
}

function makeIfMissing(parent: DirectoryHandle, name: string): boolean {
  try {
    mkdirSync(entryPath(parent, name), { mode: 0o700 });
    return true;
  } catch (error) {
    // Somebody else made it, or made something else: entering it will tell.
    if (errnoOf(error) === "EEXIST") return false;
    throw error;
  }
}
