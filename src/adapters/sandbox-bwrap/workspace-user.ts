/**
 * As root: the user that a command runs as, so that it can use the workspace and nothing else.
 *
 * U1. It is the workspace's owner, so that files of commands and people belong together. It is never root: the kernel does
 *     not count root's processes, so no limit on them would hold.
 * U2. If root owns the workspace, it is the fallback user, who sees what is root's as its own (`exchange-owners.ts`).
 * U3. Where that cannot be done, the fallback user may do what the directory allows everybody; a command that needs more is
 *     refused with the remedy. The sandbox changes no owner.
 */
import { statfsSync } from "node:fs";
import type { Identity } from "./bwrap-arguments.ts";
import { closedToOthers } from "./sandbox-failure.ts";

/** Below `nobody`, in a range that neither distributions nor systemd assign. */
export const FALLBACK_USER: Identity = { uid: 65_531, gid: 65_531 };

const OVERLAYFS = 0x794c7630;
const READ_BY_OTHERS = 0o005;
const WRITTEN_BY_OTHERS = 0o007;

export function workspaceUser(
  { root, isWritable }: { readonly root: string; readonly isWritable: boolean },
  { uid, gid, mode }: Identity & { readonly mode: number },
  areOwnersExchanged: boolean,
  fallbackUser: Identity,
): Identity {
  if (uid !== 0) return { uid, gid: gid === 0 ? fallbackUser.gid : gid };
  const needed = isWritable ? WRITTEN_BY_OTHERS : READ_BY_OTHERS;
  if (!areOwnersExchanged && (mode & needed) !== needed) throw closedToOthers(root, fallbackUser, isWritable);
  return fallbackUser;
}

/** The usual file system in containers, the only usual one that cannot exchange owners. */
export function isOverlay(root: string): boolean {
  return statfsSync(root).type === OVERLAYFS;
}
