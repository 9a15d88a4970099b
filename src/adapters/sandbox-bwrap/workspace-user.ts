/**
 * As root: the user that a command runs as, so that it can use the workspace and nothing else.
 *
 * U1. It is the workspace's owner, so that files of commands and people belong together. It is never root: the kernel does
 *     not count root's processes, so no limit on them would hold.
 * U2. If root owns the workspace, a command that may write first gives the directory itself to the fallback user. Its
 *     contents keep their owners, and commands may do with them what their modes allow others. A directory directly beneath
 *     `/` is never given away.
 * U3. A command that only reads changes no owner: it reads as the fallback user, or is refused with the reason.
 */
import { closeSync, constants, fchownSync, fstatSync, openSync } from "node:fs";
import { dirname } from "node:path";
import type { Identity } from "./bwrap-arguments.ts";
import { closedToOthers } from "./sandbox-failure.ts";

/** Below `nobody`, in a range that neither distributions nor systemd assign. */
export const FALLBACK_USER: Identity = { uid: 65_531, gid: 65_531 };

const READ_BY_OTHERS = 0o005;

export function workspaceUser(
  workspace: { readonly root: string; readonly isWritable: boolean },
  fallbackUser: Identity,
): Identity {
  const { root, isWritable } = workspace;
  const fd = openSync(root, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const { uid, gid, mode } = fstatSync(fd);
    if (uid !== 0) return { uid, gid: gid === 0 ? fallbackUser.gid : gid };
    if (!isWritable && (mode & READ_BY_OTHERS) !== READ_BY_OTHERS) throw closedToOthers(root);
    if (isWritable && dirname(root) !== "/") fchownSync(fd, fallbackUser.uid, fallbackUser.gid);
    return fallbackUser;
  } finally {
    closeSync(fd);
  }
}
