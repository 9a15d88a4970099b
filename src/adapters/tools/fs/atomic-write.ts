/**
 * Writes a file whole or not at all: write under a temporary name in the same directory, sync, then rename or link.
 * `add` never replaces anything, even if the name appears at the last moment; `replace` replaces a symbolic link
 * instead of following it. The temporary name comes from the call's key, so a repeat after a crash removes only its own
 * leftover. The signal is not checked once the name may be taken.
 */
import { constants, type Stats } from "node:fs";
import { type FileHandle, link, open, rename, unlink } from "node:fs/promises";
import { hashCanonical } from "../../../kernel/vocabulary/hash.ts";
import type { Hash } from "../../../kernel/vocabulary/identifiers.ts";
import type { CallContext } from "../../../runtime/ports/toolbox.ts";
import { chownNewFile } from "./chown-new-files.ts";
import { assertNotMoved, type DirectoryHandle, entryPath } from "./directory-handle.ts";
import { errnoOf } from "./fs-failure.ts";
import { inspectFile } from "./regular-file.ts";
import { syncDirectory } from "./workspace.ts";

const FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

export interface AtomicWrite {
  readonly name: string;
  readonly temporaryName: string;
  readonly content: Uint8Array;
  readonly mode: "add" | "replace";
  readonly like?: Stats;
}

type CallIdentity = Pick<CallContext, "idempotencyKey" | "runId" | "requestId">;

/** Unique to a call, and the same for each repeat of it. */
export function callKey({ idempotencyKey, runId, requestId }: CallIdentity): Hash {
  return idempotencyKey ?? hashCanonical([runId, requestId]);
}

export function temporaryNameOf(context: CallIdentity): string {
  return `.surety-${callKey(context).slice(0, 32)}.tmp`;
}

/** False if `add` found the name taken. */
export async function atomicWrite(
  directory: DirectoryHandle,
  { name, temporaryName, content, mode, like }: AtomicWrite,
  signal: AbortSignal,
): Promise<boolean> {
  const temporary = entryPath(directory, temporaryName);
  const target = entryPath(directory, name);
  await removeIfThere(temporary);
  try {
    await writeDurably(directory, temporary, content, like);
    signal.throwIfAborted();
    assertNotMoved(directory);
    if (mode === "replace") await rename(temporary, target);
    else if (!(await linkIfFree(temporary, target))) return false;
  } finally {
    await removeIfThere(temporary);
  }
  await syncDirectory(directory);
  return true;
}

/** For a repeat after a crash: removes the call's temporary file; true if the content is in place, durably. */
export async function isAlreadyWritten(
  directory: DirectoryHandle,
  name: string,
  hash: Hash | null,
  context: CallContext,
): Promise<boolean> {
  await removeIfThere(entryPath(directory, temporaryNameOf(context)));
  if ((await inspectFile(directory, name))?.hash !== hash) return false;
  await syncDirectory(directory);
  return true;
}

async function writeDurably(
  directory: DirectoryHandle,
  path: string,
  content: Uint8Array,
  like: Stats | undefined,
): Promise<void> {
  const handle = await open(path, FLAGS, 0o600);
  try {
    // Check while the file is empty, so that no content lands in a directory that was swapped in.
    assertNotMoved(directory);
    await handle.writeFile(content);
    if (like === undefined) chownNewFile(handle.fd, directory);
    else await copyOwnerAndMode(handle, like);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function copyOwnerAndMode(handle: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  const own = await handle.stat();
  if (own.uid !== uid || own.gid !== gid) {
    try {
      await handle.chown(uid, gid);
    } catch (error) {
      // Only root may chown. Other users could replace the file, so the new one may belong to them.
      if (errnoOf(error) !== "EPERM") throw error;
    }
  }
  // Never setuid.
  await handle.chmod(mode & 0o777);
}

/** Linking, unlike renaming, fails if the name is taken. */
export async function linkIfFree(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return false;
    throw error;
  }
}

export async function removeIfThere(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}
