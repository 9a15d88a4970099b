/**
 * What was deleted, kept in the annex until somebody restores it.
 *
 * T1. One directory a deletion, named after the place it comes from and the call that deleted it: it holds `item`, the
 *     thing itself, and `manifest.json`, which is durable before the thing moves.
 * T2. The thing moves by one rename, so it is in one place or the other, whole; and what arrives is what was meant to
 *     go, or goes back.
 * T3. Restoring replaces nothing. Where the manifest says it belongs is read as any path is: it cannot lead out.
 * T4. What is emptied is out of reach, whole, before the first byte of it goes: nobody restores half of it. What a crash
 *     left of that goes the next time.
 */
import { lstatSync, rmdirSync } from "node:fs";
import { readdir, rename, rm, unlink } from "node:fs/promises";
import { Defect } from "../../../kernel/vocabulary/defect.ts";
import { hashCanonical } from "../../../kernel/vocabulary/hash.ts";
import type { Hash } from "../../../kernel/vocabulary/identifiers.ts";
import { parseJson } from "../../../kernel/vocabulary/parse-json.ts";
import { ToolFailure } from "../tool-failure.ts";
import { linkIfFree, placeFile, removeIfThere } from "./atomic-write.ts";
import { assertInPlace, type DirectoryHandle, entryPath } from "./directory-handle.ts";
import { fieldOf } from "./field-of.ts";
import { errnoOf, naming } from "./fs-failure.ts";
import { readUpTo, withRegularFile } from "./regular-file.ts";
import { inMadeDirectory, inNearestDirectory, syncDirectory, type Workspace } from "./workspace.ts";
import { directoryNames } from "./workspace-path.ts";

const FOLDER = "trash";
const ITEM = "item";
/** Its name while it is being removed for good. */
const GOING = "going";
const MANIFEST = "manifest.json";
const MAX_MANIFEST_BYTES = 16_384;
const TRASH_ID = /^[0-9a-f]{16}-[0-9a-f]{16}$/;

export interface Trashed {
  readonly id: string;
  /** Of the workspace it was deleted from. */
  readonly root: string;
  /** Relative to it. */
  readonly path: string;
  readonly type: "file" | "directory";
  readonly entries: number;
  readonly bytes: number;
  readonly deletedAt: string;
  readonly runId: string;
}

export function trashIdOf(target: string, key: Hash): string {
  return `${placeOf(target)}-${key.slice(0, 16)}`;
}

function placeOf(target: string): string {
  return hashCanonical(target).slice(0, 16);
}

/** Null where it is not, or no longer, in the trash. */
export async function findTrashed(annex: Workspace | null, id: string): Promise<Trashed | null> {
  if (annex === null) return null;
  return await inNearestDirectory(annex, [FOLDER, id], (entry, [absent]) =>
    absent !== undefined || statsOf(entry, ITEM) === undefined ? null : readManifest(entry, id),
  );
}

/** Was something ever deleted from this place that is still in the trash? */
export async function hasTrashFrom(annex: Workspace | null, target: string): Promise<boolean> {
  return (await trashIds(annex)).some((id) => id.startsWith(`${placeOf(target)}-`));
}

/** The oldest first. */
export async function listTrash(annex: Workspace | null): Promise<readonly Trashed[]> {
  const found: Trashed[] = [];
  for (const id of await trashIds(annex)) {
    const trashed = await findTrashed(annex, id);
    if (trashed !== null) found.push(trashed);
  }
  return found.sort((a, b) => (a.deletedAt < b.deletedAt ? -1 : 1));
}

interface Thing {
  readonly name: string;
  readonly device: bigint;
  readonly inode: bigint;
}

/** False: what stands there by now is something else, and stays. */
export async function moveToTrash(
  annex: Workspace,
  trashed: Trashed,
  from: DirectoryHandle,
  thing: Thing,
  signal: AbortSignal,
): Promise<boolean> {
  return await inNearestDirectory(annex, [FOLDER, trashed.id], (start, absent) =>
    inMadeDirectory(start, absent, async (entry) => {
      if (statsOf(entry, ITEM) !== undefined) throw new Defect("two deletions of one place under one key");
      const content = Buffer.from(JSON.stringify(trashed));
      const manifest = { name: MANIFEST, temporaryName: `${MANIFEST}.tmp`, content, mode: "replace" } as const;
      await placeFile(entry, manifest, signal);
      try {
        return await moveThing(from, thing, entry);
      } finally {
        await removeEmptyEntry(entry);
      }
    }),
  );
}

async function moveThing(from: DirectoryHandle, thing: Thing, entry: DirectoryHandle): Promise<boolean> {
  const item = entryPath(entry, ITEM);
  assertInPlace(from);
  await rename(entryPath(from, thing.name), item);
  const { dev, ino } = lstatSync(item, { bigint: true });
  const isRight = dev === thing.device && ino === thing.inode;
  // Were its place taken again already, it would stay in the trash, which loses nothing.
  if (!isRight && statsOf(from, thing.name) === undefined) await rename(item, entryPath(from, thing.name));
  await syncDirectory(entry);
  await syncDirectory(from);
  return isRight;
}

/** Back to where it was, unless something else is there by now. */
export async function restoreTrash(workspace: Workspace, annex: Workspace | null, id: string): Promise<Trashed> {
  if (annex === null || !TRASH_ID.test(id)) throw notInTrash(id);
  return await inNearestDirectory(annex, [FOLDER, id], async (entry, [absent]) => {
    const trashed = absent === undefined && statsOf(entry, ITEM) !== undefined ? await readManifest(entry, id) : null;
    if (trashed === null) throw notInTrash(id);
    if (trashed.root !== workspace.root) {
      const message = `It was deleted from another workspace: ${JSON.stringify(trashed.root)}.`;
      throw new ToolFailure("invalid.request", message, { details: { id } });
    }
    const names = directoryNames(trashed.path);
    const name = names.at(-1);
    if (name === undefined) throw notInTrash(id);
    await inNearestDirectory(workspace, names.slice(0, -1), (start, missingNames) =>
      inMadeDirectory(start, missingNames, (parent) =>
        naming(trashed.path, () => putBack(entry, parent, name, trashed)),
      ),
    );
    await removeEmptyEntry(entry);
    return trashed;
  });
}

async function putBack(entry: DirectoryHandle, parent: DirectoryHandle, name: string, trashed: Trashed): Promise<void> {
  const item = entryPath(entry, ITEM);
  const target = entryPath(parent, name);
  assertInPlace(parent);
  if (statsOf(parent, name) !== undefined) throw occupied(trashed.path);
  if (statsOf(entry, ITEM)?.isDirectory()) await rename(item, target);
  else if (await linkIfFree(item, target)) await unlink(item);
  else throw occupied(trashed.path);
  await syncDirectory(parent);
  await syncDirectory(entry);
}

/** Removes for good what was deleted before. Nothing that cannot be removed keeps the rest. */
export async function emptyTrash(annex: Workspace | null, beforeMs: number): Promise<Emptied> {
  const removed: Trashed[] = [];
  const failed: string[] = [];
  for (const id of await trashIds(annex)) {
    try {
      const trashed = await removeOld(annex, id, beforeMs);
      if (trashed !== null) removed.push(trashed);
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      failed.push(id);
    }
  }
  return { removed, failed };
}

interface Emptied {
  readonly removed: readonly Trashed[];
  /** The ids of what the system would not let go. */
  readonly failed: readonly string[];
}

async function removeOld(annex: Workspace | null, id: string, beforeMs: number): Promise<Trashed | null> {
  if (annex === null) return null;
  return await inNearestDirectory(annex, [FOLDER, id], async (entry, [absent]) => {
    if (absent !== undefined) return null;
    const trashed = statsOf(entry, ITEM) === undefined ? null : await readManifest(entry, id);
    const isOld = trashed !== null && Date.parse(trashed.deletedAt) < beforeMs;
    if (isOld) await rename(entryPath(entry, ITEM), entryPath(entry, GOING));
    else if (statsOf(entry, GOING) === undefined) return null;
    await rm(entryPath(entry, GOING), { recursive: true, force: true });
    await removeEmptyEntry(entry);
    return trashed;
  });
}

async function removeEmptyEntry(entry: DirectoryHandle): Promise<void> {
  if (statsOf(entry, ITEM) !== undefined) return;
  await removeIfThere(entryPath(entry, MANIFEST));
  rmdirSync(entry.path);
}

async function trashIds(annex: Workspace | null): Promise<readonly string[]> {
  if (annex === null) return [];
  return await inNearestDirectory(annex, [FOLDER], async (folder, [absent]) => {
    if (absent !== undefined) return [];
    return (await readdir(entryPath(folder, "."))).filter((name) => TRASH_ID.test(name));
  });
}

async function readManifest(entry: DirectoryHandle, id: string): Promise<Trashed | null> {
  return await withRegularFile(entry, MANIFEST, async (file) => {
    const parsed = parseJson((await readUpTo(file, MAX_MANIFEST_BYTES)).toString());
    return parsed.ok ? parseTrashed(parsed.value, id) : null;
  });
}

function parseTrashed(value: unknown, id: string): Trashed | null {
  const [root, path, deletedAt, runId] = ["root", "path", "deletedAt", "runId"].map((name) => fieldOf(value, name));
  const [entries, bytes] = ["entries", "bytes"].map((name) => fieldOf(value, name));
  if (typeof root !== "string" || typeof path !== "string" || path === "") return null;
  if (typeof deletedAt !== "string" || typeof runId !== "string") return null;
  if (typeof entries !== "number" || typeof bytes !== "number") return null;
  const type = fieldOf(value, "type") === "directory" ? "directory" : "file";
  return { id, root, path, type, entries, bytes, deletedAt, runId };
}

function statsOf(directory: DirectoryHandle, name: string) {
  return lstatSync(entryPath(directory, name), { throwIfNoEntry: false });
}

function notInTrash(id: string): ToolFailure {
  return new ToolFailure("invalid.request", `There is no ${JSON.stringify(id)} in the trash.`, { details: { id } });
}

function occupied(path: string): ToolFailure {
  const message = `Something is at ${JSON.stringify(path)} again: move it away before restoring.`;
  return new ToolFailure("invalid.request", message, { details: { path } });
}
