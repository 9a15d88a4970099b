/**
 * As root: who a command is, so that it can use the workspace and nothing else.
 *
 * U1. It is the workspace's owner, so that what commands and people make there belongs together. It is never root: the
 *     kernel does not count root's processes, and no limit on them would hold.
 * U2. A workspace that is root's own is given to the stand-in by a command that may write, the directory alone: what else
 *     lies in it keeps its owner, and commands can do with it what its mode lets others do. A directory right beneath `/`
 *     is never given away; much depends on who owns those.
 * U3. A command that only reads changes no owner: it reads as the stand-in, or says why it cannot.
 */
import { closeSync, constants, fchownSync, fstatSync, openSync } from "node:fs";
import { dirname } from "node:path";
import type { Identity } from "./bwrap-arguments.ts";
import { closedToOthers } from "./sandbox-failure.ts";

/** Beneath `nobody`, where no distribution puts users and systemd no services. */
export const STAND_IN: Identity = { uid: 65_531, gid: 65_531 };

const READ_BY_OTHERS = 0o005;

export function workspaceUser(
  workspace: { readonly root: string; readonly isWritable: boolean },
  standIn: Identity,
): Identity {
  const { root, isWritable } = workspace;
  const fd = openSync(root, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const { uid, gid, mode } = fstatSync(fd);
    if (uid !== 0) return { uid, gid: gid === 0 ? standIn.gid : gid };
    if (!isWritable && (mode & READ_BY_OTHERS) !== READ_BY_OTHERS) throw closedToOthers(root);
    if (isWritable && dirname(root) !== "/") fchownSync(fd, standIn.uid, standIn.gid);
    return standIn;
  } finally {
    closeSync(fd);
  }
}
