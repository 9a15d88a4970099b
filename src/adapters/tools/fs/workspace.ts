/**
 * The one directory the file tools can reach (S-4.2), and the ways down from its root. The operator names the root, so
 * links on the way to it are followed; beneath it none is.
 */
import { fsync as fsyncCallback, mkdirSync } from "node:fs";
import { mkdir, realpath } from "node:fs/promises";
import { promisify } from "node:util";
import { chownNewDirectory } from "./chown-new-files.ts";
import {
  type DirectoryHandle,
  enterDirectory,
  entryPath,
  openRoot,
  probeTraversal,
  shownPath,
  type Traversal,
} from "./directory-handle.ts";
import { errnoOf, expectedFailure, missing, withPathErrors } from "./fs-failure.ts";

const fsync = promisify(fsyncCallback);

export interface Workspace {
  readonly root: string;
  readonly traversal: Traversal;
}

/** Creates the directory if it is missing. `traversal` is probed unless a test sets it. */
export async function openWorkspace(path: string, traversal?: Traversal): Promise<Workspace> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  const root = await realpath(path);
  return { root, traversal: traversal ?? probeTraversal(root) };
}

export function inDirectory<Result>(
  workspace: Workspace,
  names: readonly string[],
  use: (directory: DirectoryHandle) => Result | Promise<Result>,
): Promise<Result> {
  return inNearestDirectory(workspace, names, async (directory, [absent]) => {
    if (absent !== undefined) throw missing(shownPath(directory, absent));
    return await use(directory);
  });
}

export async function inDirectoryIfThere<Result>(
  workspace: Workspace | null,
  names: readonly string[],
  use: (directory: DirectoryHandle) => Result | Promise<Result>,
): Promise<Result | null> {
  if (workspace === null) return null;
  return await inNearestDirectory(workspace, names, (directory, [absent]) =>
    absent === undefined ? use(directory) : null,
  );
}

export function inCreatedDirectory<Result>(
  workspace: Workspace,
  names: readonly string[],
  use: (directory: DirectoryHandle) => Result | Promise<Result>,
): Promise<Result> {
  return inNearestDirectory(workspace, names, (start, absent) => createDirectories(start, absent, use));
}

/** In the last directory of the path that exists; `absent` are the names after it. */
export async function inNearestDirectory<Result>(
  { root, traversal }: Workspace,
  names: readonly string[],
  use: (directory: DirectoryHandle, absent: readonly string[]) => Result | Promise<Result>,
): Promise<Result> {
  let directory = await withPathErrors(".", () => openRoot(root, traversal));
  try {
    for (const [index, name] of names.entries()) {
      const parent = directory;
      const child = enterIfThere(parent, name);
      if (child === null) return await use(parent, names.slice(index));
      directory = child;
      parent[Symbol.dispose]();
    }
    return await use(directory, []);
  } finally {
    directory[Symbol.dispose]();
  }
}

/** Durable before `use` runs; new directories have mode 0700. */
export async function createDirectories<Result>(
  from: DirectoryHandle,
  [name, ...others]: readonly string[],
  use: (directory: DirectoryHandle) => Result | Promise<Result>,
): Promise<Result> {
  if (name === undefined) return await use(from);
  using child = await withPathErrors(shownPath(from, name), async () => {
    if (!makeIfMissing(from, name)) return enterDirectory(from, name);
    await syncDirectory(from);
    return enterMade(from, name);
  });
  return await createDirectories(child, others, use);
}

/** Makes the directory's entries survive a power cut. */
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
    chownNewDirectory(made, parent);
    return made;
  } catch (error) {
    made[Symbol.dispose]();
    throw error;
  }
}

function makeIfMissing(parent: DirectoryHandle, name: string): boolean {
  try {
    mkdirSync(entryPath(parent, name), { mode: 0o700 });
    return true;
  } catch (error) {
    // Another process created it, or created a file there: entering it shows which.
    if (errnoOf(error) === "EEXIST") return false;
    throw error;
  }
}
