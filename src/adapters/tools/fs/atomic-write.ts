/**
 * A file put into its place whole, or not at all.
 *
 * P1. The bytes are written under another name, in the same directory, and are durable before the name is theirs.
 * P2. `add` never replaces anything, not even what appears at the last moment; `replace` takes the name over, and a
 *     link that stands there is replaced itself, never followed.
 * P3. The other name is made from the call's own key: a call that is repeated after a crash clears away what the first
 *     attempt left, and nobody else's.
 * P4. It is readable by its owner alone, who is the writer or whoever inherits from it (`chown-new-files.ts`). Where it stands in
 *     for another file (`like`), owner and permissions are that one's, but never setuid.
 * P5. After a failure nothing is left under the other name. The signal is not asked once the name may be taken.
 */
import { constants, type Stats } from "node:fs";
import { type FileHandle, link, open, rename, unlink } from "node:fs/promises";
import { passOn } from "./chown-new-files.ts";
import { assertInPlace, type DirectoryHandle, entryPath } from "./directory-handle.ts";
import { errnoOf } from "./fs-failure.ts";
import { syncDirectory } from "./workspace.ts";

const FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

export interface Placement {
  readonly name: string;
  readonly temporaryName: string;
  readonly content: Uint8Array;
  readonly mode: "add" | "replace";
  readonly like?: Stats;
}

/** False where `add` found the name taken. */
export async function placeFile(
  directory: DirectoryHandle,
  { name, temporaryName, content, mode, like }: Placement,
  signal: AbortSignal,
): Promise<boolean> {
  const temporary = entryPath(directory, temporaryName);
  const target = entryPath(directory, name);
  await removeIfThere(temporary);
  try {
    await writeDurably(directory, temporary, content, like);
    signal.throwIfAborted();
    assertInPlace(directory);
    if (mode === "replace") await rename(temporary, target);
    else if (!(await linkIfFree(temporary, target))) return false;
  } finally {
    await removeIfThere(temporary);
  }
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
    // Still empty: where there are only paths, not a byte goes astray before this is known.
    assertInPlace(directory);
    await handle.writeFile(content);
    if (like === undefined) passOn(handle.fd, directory);
    else await resemble(handle, like);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function resemble(handle: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  const own = await handle.stat();
  if (own.uid !== uid || own.gid !== gid) await giveAway(handle, uid, gid);
  await handle.chmod(mode & 0o777);
}

async function giveAway(handle: FileHandle, uid: number, gid: number): Promise<void> {
  try {
    await handle.chown(uid, gid);
  } catch (error) {
    // Only the superuser can. Anybody else could replace the file, so it may as well be theirs.
    if (errnoOf(error) !== "EPERM") throw error;
  }
}

/** Linking, unlike renaming, refuses a name that is taken. */
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
