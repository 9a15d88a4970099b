/**
 * As root: shows root's workspace to commands as their user's own, and keeps what they make root's. An identity-mapped
 * mount exchanges the two owners on the way to the disk and back; no file changes its owner.
 *
 * E1. The exchange is described by a user namespace, in which no process stays. All other owners are mapped to themselves.
 * E2. The mount is made in the workspace's mount namespace alone; the host does not see it.
 * E3. Not every kernel and file system can do it (Linux 5.12 or newer; not overlayfs). Then nothing is mapped.
 */
import { openSync, writeFileSync } from "node:fs";
import { assembleProgram, type SystemCall } from "./assemble-program.ts";
import type { Identity } from "./bwrap-arguments.ts";
import { CLOSE_OTHERS, FIRST_FREE_FD } from "./close-other-files.ts";
import type { Architecture } from "./seccomp-filter.ts";

export const UNSHARE = "/usr/bin/unshare";
export const CANNOT_EXCHANGE_OWNERS = 66;

const LAST_ID = 2 ** 32 - 2;

/** Turns the new, empty user namespace of a process into one that exchanges root and `user`, and holds it open. */
export function openExchange(pid: string, { uid, gid }: Identity): number {
  writeFileSync(`/proc/${pid}/uid_map`, exchanging(uid));
  writeFileSync(`/proc/${pid}/gid_map`, exchanging(gid));
  return openSync(`/proc/${pid}/ns/user`, "r");
}

/** Lines of the first id on the disk, the first id as seen, and how many. The kernel takes them in one write. */
function exchanging(id: number): string {
  return `0 ${id} 1\n1 1 ${id - 1}\n${id} 0 1\n${id + 1} ${id + 1} ${LAST_ID - id}\n`;
}

// The numbers are the same on both machines.
const OPEN_TREE = 428;
const MOVE_MOUNT = 429;
const MOUNT_SETATTR = 442;

const AT_FDCWD = -100;
const OPEN_TREE_CLONE = 1;
const AT_EMPTY_PATH = 0x1000;
const AT_RECURSIVE = 0x8000;
const MOVE_MOUNT_F_EMPTY_PATH = 4;
const MOUNT_ATTR_IDMAP = 0x100000;

/** Covers `root` with a mapped copy of itself, including what is mounted in it. The exchange is open as `exchangeFd`. */
export function exchangeOwners(architecture: Architecture, root: string, exchangeFd: number): Uint8Array {
  const path = Buffer.from(`${root}\0`);
  const nothing = Buffer.from("\0");
  // The first one that is free after the others are closed.
  const tree = FIRST_FREE_FD;
  // `struct mount_attr`: attr_set, attr_clr, propagation, userns_fd.
  const attributes = new Uint8Array(BigUint64Array.of(BigInt(MOUNT_ATTR_IDMAP), 0n, 0n, BigInt(exchangeFd)).buffer);
  const calls: readonly Omit<SystemCall, "exitCodeOnFailure">[] = [
    { number: OPEN_TREE, args: [AT_FDCWD, path, OPEN_TREE_CLONE + AT_RECURSIVE] },
    { number: MOUNT_SETATTR, args: [tree, nothing, AT_EMPTY_PATH + AT_RECURSIVE, attributes, attributes.length] },
    { number: MOVE_MOUNT, args: [tree, nothing, AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH] },
  ];
  return assembleProgram(architecture, [
    CLOSE_OTHERS,
    ...calls.map((call) => ({ ...call, exitCodeOnFailure: CANNOT_EXCHANGE_OWNERS })),
  ]);
}
