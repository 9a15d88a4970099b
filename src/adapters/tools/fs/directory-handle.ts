/**
 * An open directory. What is done through the handle happens in this directory, even if its path leads elsewhere by now.
 *
 * H1. No symbolic link is followed: each directory is opened from its parent with O_NOFOLLOW.
 * H2. On Linux `/proc/self/fd/N/name` is `name` in the directory open as N, so a swapped parent has no effect.
 * H3. Elsewhere only paths exist. `assertNotMoved` checks, after each step and around each effect, that the path still
 *     leads to the open directory. A swap between check and effect remains possible for a process that can already write
 *     in the workspace with the user's rights.
 * H4. Names are looked up synchronously: a lookup takes microseconds, a thread hop many. Contents are read and written
 *     asynchronously.
 */
import {
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  realpathSync,
  statSync,
} from "node:fs";
import { join, relative, sep } from "node:path";
import { ToolFailure } from "../tool-failure.ts";
import { errnoOf, symlinkRefused } from "./fs-failure.ts";

/** How an entry of an open directory is addressed. */
export type Traversal = "handles" | "paths";

/** As root: the owner of new files in directories that root owns (`chown-new-files.ts`). Null for other users. */
export type NewFileOwner = { readonly uid: number; readonly gid: number } | null;

export interface DirectoryHandle {
  /** For display and plans; not for opening. */
  readonly path: string;
  readonly fd: number;
  readonly root: string;
  readonly traversal: Traversal;
  readonly newFileOwner: NewFileOwner;
}

/** What a name is, without following links. */
export type EntryKind = "file" | "directory" | "symlink" | "other";

const FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** The caller closes it, as with `enterDirectory`. */
export function openRoot(root: string, traversal: Traversal, newFileOwner: NewFileOwner = null): DirectoryHandle {
  return { path: root, root, traversal, newFileOwner, fd: openSync(root, FLAGS) };
}

export function closeDirectory({ fd }: DirectoryHandle): void {
  closeSync(fd);
}

/** A path that leads to the entry itself; `.` is the directory. */
export function entryPath({ fd, traversal, path }: DirectoryHandle, name: string): string {
  return traversal === "handles" ? `/proc/self/fd/${fd}/${name}` : join(path, name);
}

export function enterDirectory(parent: DirectoryHandle, name: string): DirectoryHandle {
  const child = { ...parent, path: join(parent.path, name), fd: openChild(parent, name) };
  try {
    assertNotMoved(child);
  } catch (error) {
    closeDirectory(child);
    throw error;
  }
  return child;
}

function openChild(parent: DirectoryHandle, name: string): number {
  try {
    return openSync(entryPath(parent, name), FLAGS);
  } catch (error) {
    // For a link, O_DIRECTORY with O_NOFOLLOW fails with ENOTDIR.
    const isLink = (): boolean =>
      lstatSync(entryPath(parent, name), { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
    if (["ENOTDIR", "ELOOP"].includes(errnoOf(error) ?? "") && isLink()) throw symlinkRefused(shownPath(parent, name));
    throw error;
  }
}

/** At most `limit` entries: a directory may hold any number. */
export function sortedEntries(directory: DirectoryHandle, limit: number): readonly Dirent[] {
  const entries: Dirent[] = [];
  const listing = opendirSync(entryPath(directory, "."), { bufferSize: 512 });
  try {
    for (let entry = listing.readSync(); entry !== null && entries.length < limit; entry = listing.readSync()) {
      entries.push(entry);
    }
  } finally {
    listing.closeSync();
  }
  return entries.sort(byName);
}

export function byName(a: Dirent, b: Dirent): number {
  if (a.name === b.name) return 0;
  return a.name < b.name ? -1 : 1;
}

export function kindOf(entry: Pick<Dirent, "isFile" | "isDirectory" | "isSymbolicLink">): EntryKind {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "directory";
  return entry.isSymbolicLink() ? "symlink" : "other";
}

/** Relative to the workspace, as models and people write it. */
export function shownPath({ root, path }: DirectoryHandle, name: string): string {
  return relative(root, join(path, name)).replaceAll(sep, "/");
}

/** Decimal digits, because inodes have 64 bits. */
export function identityOf({ fd }: DirectoryHandle): { readonly device: string; readonly inode: string } {
  const { dev, ino } = fstatSync(fd, { bigint: true });
  return { device: `${dev}`, inode: `${ino}` };
}

/** True if the plan was made for this directory. */
export function isDirectoryOf(
  planned: { readonly device: string; readonly inode: string } | null,
  directory: DirectoryHandle,
): boolean {
  const { device, inode } = identityOf(directory);
  return planned?.device === device && planned.inode === inode;
}

export function assertNotMoved({ path, root, fd, traversal }: DirectoryHandle): void {
  if (traversal === "handles") return;
  const real = realpathSync(path);
  const atPath = lstatSync(path, { bigint: true });
  const open = fstatSync(fd, { bigint: true });
  const isBeneath = real === root || real.startsWith(root + sep);
  if (isBeneath && atPath.dev === open.dev && atPath.ino === open.ino) return;
  throw new ToolFailure("policy.denied", "A directory of the path was replaced during the call. Call it again.");
}

/** Asks the system instead of a list of platforms. */
export function probeTraversal(root: string): Traversal {
  const handle = openRoot(root, "handles");
  try {
    const own = fstatSync(handle.fd, { bigint: true });
    const through = statSync(entryPath(handle, "."), { bigint: true, throwIfNoEntry: false });
    return through?.ino === own.ino && through.dev === own.dev ? "handles" : "paths";
  } finally {
    closeDirectory(handle);
  }
}
