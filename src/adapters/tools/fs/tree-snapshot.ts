/**
 * Lists everything under a name, for the approver, and takes a fingerprint of it, which changes with any name, inode,
 * permission or file content. Beyond MAX_HASHED_BYTES, size and ctime stand for the content, since users cannot set
 * ctime. A tree too large to show is refused.
 */
import { type BigIntStats, lstatSync } from "node:fs";
import { hashBytes, hashCanonical } from "../../../kernel/vocabulary/hash.ts";
import type { Hash } from "../../../kernel/vocabulary/identifiers.ts";
import {
  type DirectoryHandle,
  type EntryKind,
  enterDirectory,
  entryPath,
  kindOf,
  shownPath,
  sortedEntries,
} from "./directory-handle.ts";
import { pathFailure, withPathErrors } from "./fs-failure.ts";
import { readUpTo, withRegularFile } from "./regular-file.ts";

const MAX_ENTRIES = 1_000;
const MAX_DEPTH = 64;
const MAX_HASHED_BYTES = 16_777_216;

interface SnapshotEntry {
  readonly path: string;
  readonly kind: EntryKind;
  readonly bytes: number;
}

export interface TreeSnapshot {
  readonly kind: EntryKind;
  readonly device: bigint;
  readonly inode: bigint;
  readonly entries: readonly SnapshotEntry[];
  readonly bytes: number;
  readonly fingerprint: Hash;
}

export async function snapshotTree(directory: DirectoryHandle, name: string): Promise<TreeSnapshot | null> {
  const stats = statsOf(directory, name);
  if (stats === undefined) return null;
  const builder = new SnapshotBuilder();
  await builder.visit(directory, name, stats, 0);
  const { entries, bytes, facts } = builder;
  const { dev: device, ino: inode } = stats;
  return { kind: kindOf(stats), device, inode, entries, bytes, fingerprint: hashCanonical(facts) };
}

class SnapshotBuilder {
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
    if (kind === "directory") await withPathErrors(path, () => this.#descend(directory, name, path, depth));
  }

  #list(entry: SnapshotEntry): void {
    if (this.entries.length === MAX_ENTRIES) {
      const problem = `holds more than ${MAX_ENTRIES} entries, too many to review: delete it in parts`;
      throw pathFailure("invalid.request", this.entries[0]?.path ?? "", problem);
    }
    this.entries.push(entry);
    this.bytes += entry.bytes;
  }

  async #descend(parent: DirectoryHandle, name: string, path: string, depth: number): Promise<void> {
    if (depth === MAX_DEPTH) throw pathFailure("invalid.request", path, "is nested too deeply");
    using directory = enterDirectory(parent, name);
    for (const entry of sortedEntries(directory, MAX_ENTRIES + 1)) {
      const stats = statsOf(directory, entry.name);
      if (stats !== undefined) await this.visit(directory, entry.name, stats, depth + 1);
      else this.#listUnreadable(shownPath(directory, entry.name), kindOf(entry));
    }
  }

  /** Removed meanwhile, or a name that is not valid text and cannot be looked up. */
  #listUnreadable(path: string, kind: EntryKind): void {
    this.#list({ path, kind, bytes: 0 });
    this.facts.push([path, kind]);
  }

  async #hash(directory: DirectoryHandle, name: string, bytes: number): Promise<string | null> {
    if (this.#hashedBytes + bytes > MAX_HASHED_BYTES) return null;
    this.#hashedBytes += bytes;
    return await withRegularFile(directory, name, async (file) => hashBytes(await readUpTo(file, bytes + 1)));
  }
}

function statsOf(directory: DirectoryHandle, name: string): BigIntStats | undefined {
  return lstatSync(entryPath(directory, name), { bigint: true, throwIfNoEntry: false });
}
