/**
 * Sets the owner of what the file tools create. When the gateway runs as root, sandboxed commands run as another user,
 * and both must be able to read and change the files: a new file goes to the owner of its directory, or to
 * `newFileOwner` if root owns the directory.
 */
import { fchownSync, fstatSync, readdirSync } from "node:fs";
import { type DirectoryHandle, entryPath } from "./directory-handle.ts";
import { errnoOf } from "./fs-failure.ts";

export function chownNewFile(fd: number, { fd: directoryFd, newFileOwner }: DirectoryHandle): void {
  if (newFileOwner === null) return;
  const { uid, gid } = fstatSync(directoryFd);
  if (uid === 0) chown(fd, newFileOwner.uid, newFileOwner.gid);
  else chown(fd, uid, gid === 0 ? newFileOwner.gid : gid);
}

/** Writers of the parent may have swapped in another directory: one that is not empty is not ours. */
export function chownNewDirectory(made: DirectoryHandle, parent: DirectoryHandle): void {
  if (parent.newFileOwner !== null && readdirSync(entryPath(made, ".")).length === 0) chownNewFile(made.fd, parent);
}

function chown(fd: number, uid: number, gid: number): void {
  try {
    fchownSync(fd, uid, gid);
  } catch (error) {
    // Root in a container, or a file system without owners: the file stays root's and is still written.
    if (!["EPERM", "EINVAL", "ENOSYS", "ENOTSUP"].includes(errnoOf(error) ?? "")) throw error;
  }
}
