/**
 * An open directory. What is done through the handle happens in this directory, even if its path leads elsewhere by
 * now: each directory is opened from its parent with O_NOFOLLOW, and on Linux `/proc/self/fd/N/name` is `name` in the
 * directory open as N. Elsewhere only paths exist, and `assertNotMoved` checks, after each step and around each effect,
 * that the path still leads to the open directory; a process that can already write in the workspace could swap it in
 * between. Names are looked up synchronously: a lookup takes microseconds, a thread hop many.
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

export type Traversal = "handles" | "paths";

/** Declare it with `using`, which closes it. */
export interface DirectoryHandle extends Disposable {
  /** For display and plans; not for opening. */
  readonly path: string;
  readonly fd: number;
  readonly root: string;
  readonly traversal: Traversal;
}

/** What a name is, without following links. */
export type EntryKind = "file" | "directory" | "symlink" | "other";

const FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

export function openRoot(root: string, traversal: Traversal): DirectoryHandle {
  return {
    ...{ path: root, root, traversal, fd: openSync(root, FLAGS) },
    [Symbol.dispose]() {
      closeSync(this.fd);
    },
  };
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
    child[Symbol.dispose]();
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
  using listing = opendirSync(entryPath(directory, "."), { bufferSize: 512 });
  for (let entry = listing.readSync(); entry !== null && entries.length < limit; entry = listing.readSync()) {
    entries.push(entry);
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
  using handle = openRoot(root, "handles");
  const own = fstatSync(handle.fd, { bigint: true });
  const through = statSync(entryPath(handle, "."), { bigint: true, throwIfNoEntry: false });
  return through?.ino === own.ino && through.dev === own.dev ? "handles" : "paths";
}
