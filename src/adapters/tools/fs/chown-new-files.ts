/**
 * Whose a thing is that the file tools make. Where they work as root, sandboxed commands work as somebody else, and what
 * one of them makes the other must be able to read and change.
 *
 * I1. As root it is given to the owner of the directory it is made in; to the heir where that directory is root's own.
 * I2. For everybody else, and where no heir is named, nothing is given: it stays the maker's.
 * I3. What is given is the very thing that was made: by its descriptor, and a directory only while it is empty.
 */
import { fchownSync, fstatSync, readdirSync } from "node:fs";
import { type DirectoryHandle, entryPath } from "./directory-handle.ts";
import { errnoOf } from "./fs-failure.ts";

/** `fd`: of what was made in the directory. */
export function passOn(fd: number, { fd: directoryFd, heir }: DirectoryHandle): void {
  if (heir === null) return;
  const { uid, gid } = fstatSync(directoryFd);
  if (uid === 0) give(fd, heir.uid, heir.gid);
  else give(fd, uid, gid === 0 ? heir.gid : gid);
}

/** Whoever writes in the parent may have put another directory into its place: one that holds something is not ours. */
export function passOnDirectory(made: DirectoryHandle, parent: DirectoryHandle): void {
  if (parent.heir !== null && readdirSync(entryPath(made, ".")).length === 0) passOn(made.fd, parent);
}

function give(fd: number, uid: number, gid: number): void {
  try {
    fchownSync(fd, uid, gid);
  } catch (error) {
    // Root of a container, or on a file system that knows no other owners: then it stays ours, and is written all the same.
    if (!["EPERM", "EINVAL", "ENOSYS", "ENOTSUP"].includes(errnoOf(error) ?? "")) throw error;
  }
}
