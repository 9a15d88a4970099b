/**
 * A directory held open. What is done through it happens in this very directory, whatever its path leads to by now.
 *
 * H1. No symbolic link is followed on the way: each directory is opened from the one above with O_NOFOLLOW.
 * H2. On Linux `/proc/self/fd/N/name` is `name` in the directory held open as N: nobody can swap a parent in between.
 * H3. Elsewhere there are only paths. There `assertInPlace` asks, after each step and around each effect, whether the
 *     path still leads to what is held. A swap between the asking and the doing is not excluded: whoever can win that
 *     race writes in the workspace with the user's own rights already.
 * H4. Names are looked up without waiting. To look one up takes a few microseconds; to hand it to another thread, many.
 *     Contents are read and written elsewhere, and waited for.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, realpathSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { ToolFailure } from "../tool-failure.ts";
import { errnoOf, symlinkRefused } from "./fs-failure.ts";

/** How an entry of a held directory is reached. */
export type Traversal = "handles" | "paths";

/** As root: who gets what is made in a directory of root's own (`chown-new-files.ts`). Null for everybody else. */
export type Heir = { readonly uid: number; readonly gid: number } | null;

export interface DirectoryHandle {
  /** For people and plans; not for opening. */
  readonly path: string;
  readonly fd: number;
  readonly root: string;
  readonly traversal: Traversal;
  readonly heir: Heir;
}

const FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Held until whoever opened it releases it, as with `enterDirectory`. */
export function holdRoot(root: string, traversal: Traversal, heir: Heir = null): DirectoryHandle {
  return { path: root, root, traversal, heir, fd: openSync(root, FLAGS) };
}

export function releaseDirectory({ fd }: DirectoryHandle): void {
  closeSync(fd);
}

/** A path that leads to the entry itself; `.` is the directory. */
export function entryPath({ fd, traversal, path }: DirectoryHandle, name: string): string {
  return traversal === "handles" ? `/proc/self/fd/${fd}/${name}` : join(path, name);
}

export function enterDirectory(parent: DirectoryHandle, name: string): DirectoryHandle {
  const child = { ...parent, path: join(parent.path, name), fd: openChild(parent, name) };
  try {
    assertInPlace(child);
  } catch (error) {
    releaseDirectory(child);
    throw error;
  }
  return child;
}

function openChild(parent: DirectoryHandle, name: string): number {
  try {
    return openSync(entryPath(parent, name), FLAGS);
  } catch (error) {
    // To be asked for a directory and not to follow it is, for a link, to be no directory.
    if (["ENOTDIR", "ELOOP"].includes(errnoOf(error) ?? "")) refuseSymlink(parent, name);
    throw error;
  }
}

function refuseSymlink(directory: DirectoryHandle, name: string): void {
  const stats = lstatSync(entryPath(directory, name), { throwIfNoEntry: false });
  if (stats?.isSymbolicLink()) throw symlinkRefused(shownPath(directory, name));
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

export function assertInPlace({ path, root, fd, traversal }: DirectoryHandle): void {
  if (traversal === "handles") return;
  const real = realpathSync(path);
  const there = lstatSync(path, { bigint: true });
  const held = fstatSync(fd, { bigint: true });
  const isBeneath = real === root || real.startsWith(root + sep);
  if (isBeneath && there.dev === held.dev && there.ino === held.ino) return;
  throw new ToolFailure("policy.denied", "A directory on the way was replaced meanwhile. Try again when it stays.");
}

/** Asked of the system itself, so that no list of platforms can be wrong. */
export function probeTraversal(root: string): Traversal {
  const held = holdRoot(root, "handles");
  try {
    const own = fstatSync(held.fd, { bigint: true });
    const through = statSync(entryPath(held, "."), { bigint: true, throwIfNoEntry: false });
    return through?.ino === own.ino && through.dev === own.dev ? "handles" : "paths";
  } finally {
    releaseDirectory(held);
  }
}
