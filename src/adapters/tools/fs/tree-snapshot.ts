/**
 * What exactly stands under a name, all of it: what an approver is shown before it goes, and a fingerprint of it.
 *
 * S1. The fingerprint changes with a name, an inode, permissions or the content of a file anywhere in it. Beyond
 *     MAX_HASHED_BYTES, size and time of change, which nobody can set, stand for the content.
 * S2. No link is followed. What is a link, a device or a pipe inside a directory is listed as what it is, and not opened.
 * S3. More than can be shown is refused.
 */
import { type BigIntStats, type Dirent, lstatSync } from "node:fs";
import { opendir } from "node:fs/promises";
import { hashBytes, hashCanonical } from "../../../kernel/vocabulary/hash.ts";
import type { Hash } from "../../../kernel/vocabulary/identifiers.ts";
import { ToolFailure } from "../tool-failure.ts";
import { type DirectoryHandle, enterDirectory, entryPath, releaseDirectory, shownPath } from "./directory-handle.ts";
import { type EntryKind, kindOf } from "./entry-kind.ts";
import { naming } from "./fs-failure.ts";
import { readUpTo, withRegularFile } from "./regular-file.ts";

const MAX_ENTRIES = 1_000;
const MAX_DEPTH = 64;
const MAX_HASHED_BYTES = 16_777_216;

interface SnapshotEntry {
  /** Relative to the workspace. */
  readonly path: string;
  readonly kind: EntryKind;
  readonly bytes: number;
}

export interface TreeSnapshot {
  readonly kind: EntryKind;
  readonly device: bigint;
  readonly inode: bigint;
  /** The thing itself is the first. */
  readonly entries: readonly SnapshotEntry[];
  readonly bytes: number;
  readonly fingerprint: Hash;
}

/** Null where nothing stands. */
export async function survey(directory: DirectoryHandle, name: string): Promise<TreeSnapshot | null> {
  const stats = statsOf(directory, name);
  if (stats === undefined) return null;
  const surveyor = new Surveyor();
  await surveyor.visit(directory, name, stats, 0);
  const { entries, bytes, facts } = surveyor;
  return {
    kind: kindOf(stats),
    device: stats.dev,
    inode: stats.ino,
    entries,
    bytes,
    fingerprint: hashCanonical(facts),
  };
}

class Surveyor {
  readonly entries: SnapshotEntry[] = [];
  readonly facts: (readonly (string | null)[])[] = [];
  bytes = 0;
  #hashedBytes = 0;

  async visit(directory: DirectoryHandle, name: string, stats: BigIntStats, depth: number): Promise<void> {
    const path = shownPath(directory, name);
    const kind = kindOf(stats);
    const bytes = kind === "file" ? Number(stats.size) : 0;
    this.#list({ path, kind, bytes });
    const identity = [stats.dev, stats.ino, stats.mode].map(String);
    const content =
      kind === "file" ? ((await this.#hash(directory, name, bytes)) ?? `${stats.size} ${stats.ctimeNs}`) : null;
    this.facts.push([path, kind, ...identity, content]);
    if (kind === "directory") await naming(path, () => this.#descend(directory, name, path, depth));
  }

  #list(entry: SnapshotEntry): void {
    if (this.entries.length === MAX_ENTRIES) {
      const path = this.entries[0]?.path ?? "";
      const message = `${JSON.stringify(path)} holds more than ${MAX_ENTRIES} entries, more than anybody would read: go by its parts.`;
      throw new ToolFailure("invalid.request", message, { details: { path } });
    }
    this.entries.push(entry);
    this.bytes += entry.bytes;
  }

  async #descend(parent: DirectoryHandle, name: string, path: string, depth: number): Promise<void> {
    if (depth === MAX_DEPTH) {
      throw new ToolFailure("invalid.request", `${JSON.stringify(path)} lies too deep.`, { details: { path } });
    }
    const directory = enterDirectory(parent, name);
    try {
      for (const entry of await entriesOf(directory)) {
        const stats = statsOf(directory, entry.name);
        if (stats !== undefined) await this.visit(directory, entry.name, stats, depth + 1);
        else this.#listUnnamed(shownPath(directory, entry.name), kindOf(entry));
      }
    } finally {
      releaseDirectory(directory);
    }
  }

  /** Gone meanwhile, or a name that is no text, which cannot be asked about: it was there all the same. */
  #listUnnamed(path: string, kind: EntryKind): void {
    this.#list({ path, kind, bytes: 0 });
    this.facts.push([path, kind]);
  }

  async #hash(directory: DirectoryHandle, name: string, bytes: number): Promise<string | null> {
    if (this.#hashedBytes + bytes > MAX_HASHED_BYTES) return null;
    this.#hashedBytes += bytes;
    return await withRegularFile(directory, name, async (file) => hashBytes(await readUpTo(file, bytes + 1)));
  }
}

/** One more than can be shown at most: then it is refused. */
async function entriesOf(directory: DirectoryHandle): Promise<readonly Dirent[]> {
  const entries: Dirent[] = [];
  for await (const entry of await opendir(entryPath(directory, "."))) {
    entries.push(entry);
    if (entries.length > MAX_ENTRIES) break;
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function statsOf(directory: DirectoryHandle, name: string): BigIntStats | undefined {
  return lstatSync(entryPath(directory, name), { bigint: true, throwIfNoEntry: false });
}
