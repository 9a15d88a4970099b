/**
 * The trash: deleted files and directories, in the tool state directory until the operator restores or removes them.
 * Each deletion has its own directory, with `item` and a `manifest.json` that is durable before the item moves. The
 * item moves by one rename, so it is whole in one place or the other. Removal for good renames the item first, so that
 * no half of it can be restored; a crash leaves the rest to the next run.
 */
import { lstatSync, rmdirSync } from "node:fs";
import { readdir, rename, rm, unlink } from "node:fs/promises";
import { Defect } from "../../../kernel/vocabulary/defect.ts";
import { hashCanonical } from "../../../kernel/vocabulary/hash.ts";
import type { Hash } from "../../../kernel/vocabulary/identifiers.ts";
import { parseJson } from "../../../kernel/vocabulary/parse-json.ts";
import { fieldOf } from "../define-tool.ts";
import { ToolFailure } from "../tool-failure.ts";
import { atomicWrite, linkIfFree, removeIfThere } from "./atomic-write.ts";
import { assertNotMoved, type DirectoryHandle, entryPath } from "./directory-handle.ts";
import { errnoOf, pathFailure, withPathErrors } from "./fs-failure.ts";
import { readUpTo, withRegularFile } from "./regular-file.ts";
import { inCreatedDirectory, inDirectoryIfThere, syncDirectory, type Workspace } from "./workspace.ts";
import { directoryNames } from "./workspace-path.ts";

const FOLDER = "trash";
const ITEM = "item";
/** The name of an item while it is removed for good. */
const REMOVING = "going";
const MANIFEST = "manifest.json";
const MAX_MANIFEST_BYTES = 16_384;
const TRASH_ID = /^[0-9a-f]{16}-[0-9a-f]{16}$/;

export interface TrashEntry {
  readonly id: string;
  readonly root: string;
  readonly path: string;
  readonly type: "file" | "directory";
  readonly entries: number;
  readonly bytes: number;
  readonly deletedAt: string;
  readonly runId: string;
}

export function trashIdOf(target: string, key: Hash): string {
  return `${originOf(target)}-${key.slice(0, 16)}`;
}

function originOf(target: string): string {
  return hashCanonical(target).slice(0, 16);
}

export async function findTrashed(state: Workspace | null, id: string): Promise<TrashEntry | null> {
  return await inDirectoryIfThere(state, [FOLDER, id], (entry) => readManifest(entry, id));
}

export async function hasTrashFrom(state: Workspace | null, target: string): Promise<boolean> {
  return (await trashIds(state)).some((id) => id.startsWith(`${originOf(target)}-`));
}

/** Oldest first. */
export async function listTrash(state: Workspace | null): Promise<readonly TrashEntry[]> {
  const found: TrashEntry[] = [];
  for (const id of await trashIds(state)) {
    const trashed = await findTrashed(state, id);
    if (trashed !== null) found.push(trashed);
  }
  return found.sort((a, b) => (a.deletedAt < b.deletedAt ? -1 : 1));
}

interface Source {
  readonly name: string;
  readonly device: bigint;
  readonly inode: bigint;
}

/** False if the name means another file by now, which stays. */
export async function moveToTrash(
  state: Workspace,
  trashed: TrashEntry,
  from: DirectoryHandle,
  source: Source,
  signal: AbortSignal,
): Promise<boolean> {
  return await inCreatedDirectory(state, [FOLDER, trashed.id], async (entry) => {
    if (statsOf(entry, ITEM) !== undefined) throw new Defect("two deletions of one path under one key");
    const content = Buffer.from(JSON.stringify(trashed));
    const manifest = { name: MANIFEST, temporaryName: `${MANIFEST}.tmp`, content, mode: "replace" } as const;
    await atomicWrite(entry, manifest, signal);
    try {
      return await moveItem(from, source, entry);
    } finally {
      await removeEmptyEntry(entry);
    }
  });
}

async function moveItem(from: DirectoryHandle, source: Source, entry: DirectoryHandle): Promise<boolean> {
  const item = entryPath(entry, ITEM);
  assertNotMoved(from);
  await rename(entryPath(from, source.name), item);
  const { dev, ino } = lstatSync(item, { bigint: true });
  const isRight = dev === source.device && ino === source.inode;
  // If the name is taken again already, the item stays in the trash and nothing is lost.
  if (!isRight && statsOf(from, source.name) === undefined) await rename(item, entryPath(from, source.name));
  await syncDirectory(entry);
  await syncDirectory(from);
  return isRight;
}

export async function restoreTrash(workspace: Workspace, state: Workspace | null, id: string): Promise<TrashEntry> {
  if (!TRASH_ID.test(id)) throw notInTrash(id);
  const restored = await inDirectoryIfThere(state, [FOLDER, id], async (entry) => {
    const trashed = await readManifest(entry, id);
    if (trashed === null) return null;
    if (trashed.root !== workspace.root) {
      const message = `It was deleted from another workspace: ${JSON.stringify(trashed.root)}.`;
      throw new ToolFailure("invalid.request", message, { details: { id } });
    }
    // Parsed like any other path, so it cannot leave the workspace.
    const names = directoryNames(trashed.path);
    const name = names.at(-1);
    if (name === undefined) throw notInTrash(id);
    await inCreatedDirectory(workspace, names.slice(0, -1), (parent) =>
      withPathErrors(trashed.path, () => moveBack(entry, parent, name, trashed)),
    );
    await removeEmptyEntry(entry);
    return trashed;
  });
  if (restored === null) throw notInTrash(id);
  return restored;
}

async function moveBack(
  entry: DirectoryHandle,
  parent: DirectoryHandle,
  name: string,
  trashed: TrashEntry,
): Promise<void> {
  const item = entryPath(entry, ITEM);
  const target = entryPath(parent, name);
  assertNotMoved(parent);
  if (statsOf(parent, name) !== undefined) throw occupied(trashed.path);
  if (statsOf(entry, ITEM)?.isDirectory()) await rename(item, target);
  else if (await linkIfFree(item, target)) await unlink(item);
  else throw occupied(trashed.path);
  await syncDirectory(parent);
  await syncDirectory(entry);
}

/** Removes for good what was deleted before `beforeMs`. An item that cannot be removed does not stop the rest. */
export async function emptyTrash(state: Workspace | null, beforeMs: number) {
  const removed: TrashEntry[] = [];
  /** The ids of items the system refused to remove. */
  const failed: string[] = [];
  for (const id of await trashIds(state)) {
    try {
      const trashed = await removeOld(state, id, beforeMs);
      if (trashed !== null) removed.push(trashed);
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      failed.push(id);
    }
  }
  return { removed, failed };
}

async function removeOld(state: Workspace | null, id: string, beforeMs: number): Promise<TrashEntry | null> {
  return await inDirectoryIfThere(state, [FOLDER, id], async (entry) => {
    const trashed = await readManifest(entry, id);
    const isOld = trashed !== null && Date.parse(trashed.deletedAt) < beforeMs;
    if (isOld) await rename(entryPath(entry, ITEM), entryPath(entry, REMOVING));
    else if (statsOf(entry, REMOVING) === undefined) return null;
    await rm(entryPath(entry, REMOVING), { recursive: true, force: true });
    await removeEmptyEntry(entry);
    return trashed;
  });
}

async function removeEmptyEntry(entry: DirectoryHandle): Promise<void> {
  if (statsOf(entry, ITEM) !== undefined) return;
  await removeIfThere(entryPath(entry, MANIFEST));
  rmdirSync(entry.path);
}

async function trashIds(state: Workspace | null): Promise<readonly string[]> {
  const names = await inDirectoryIfThere(state, [FOLDER], (folder) => readdir(entryPath(folder, ".")));
  return names?.filter((name) => TRASH_ID.test(name)) ?? [];
}

/** Null without an item: it is not in the trash yet, or no longer. */
async function readManifest(entry: DirectoryHandle, id: string): Promise<TrashEntry | null> {
  if (statsOf(entry, ITEM) === undefined) return null;
  return await withRegularFile(entry, MANIFEST, async (file) => {
    const parsed = parseJson((await readUpTo(file, MAX_MANIFEST_BYTES)).toString());
    return parsed.ok ? parseTrashed(parsed.value, id) : null;
  });
}

function parseTrashed(value: unknown, id: string): TrashEntry | null {
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
  return new ToolFailure("invalid.request", `${JSON.stringify(id)} is not in the trash.`, { details: { id } });
}

function occupied(path: string): ToolFailure {
  return pathFailure("invalid.request", path, "exists again: move it away before restoring");
}
