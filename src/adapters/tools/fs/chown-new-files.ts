/**
 * Sets the owner of what the file tools create. When the gateway runs as root, sandboxed commands run as the workspace's
 * owner, and both must be able to read and change the files: a new file goes to the owner of its directory.
 */
import { fchownSync, fstatSync, readdirSync } from "node:fs";
import { type DirectoryHandle, entryPath } from "./directory-handle.ts";
import { errnoOf } from "./fs-failure.ts";

export function chownNewFile(fd: number, directory: DirectoryHandle): void {
  if (!isRoot()) return;
  const owner = fstatSync(directory.fd);
  if (owner.uid !== 0) chownOpenFile(fd, owner);
}

/** Writers of the parent may have swapped in another directory: one that is not empty is not ours. */
export function chownNewDirectory(made: DirectoryHandle, parent: DirectoryHandle): void {
  if (isRoot() && readdirSync(entryPath(made, ".")).length === 0) chownNewFile(made.fd, parent);
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

export function chownOpenFile(fd: number, { uid, gid }: { readonly uid: number; readonly gid: number }): void {
  try {
    fchownSync(fd, uid, gid);
  } catch (error) {
    // Root in a container, or a file system without owners: the file stays root's and is still written.
    if (!["EPERM", "EINVAL", "ENOSYS", "ENOTSUP"].includes(errnoOf(error) ?? "")) throw error;
  }
}
