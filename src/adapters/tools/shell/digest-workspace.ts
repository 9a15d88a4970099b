/**
 * A fingerprint of everything in the workspace, for commands that read more files than their words name: what a script
 * sources, a module imports, a builder includes. Whoever approves such a command approves it for these files.
 *
 * D1. It changes with every name, kind, mode and identity in the workspace, and with size or times of whatever is no
 *     directory. The time of change is among them, which nobody can set back.
 * D2. Nothing is left out, not `.git` and not `node_modules`: code lies there too. More than can be looked at is refused.
 * D3. No content is read, no link followed. A directory that is closed to us is closed to the command, which is no more.
 */
import { createHash } from "node:crypto";
import { type BigIntStats, lstatSync, opendirSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { asHash, type Hash } from "../../../kernel/vocabulary/identifiers.ts";
import {
  type DirectoryHandle,
  enterDirectory,
  entryPath,
  releaseDirectory,
  shownPath,
} from "../fs/directory-handle.ts";
import { kindOf } from "../fs/entry-kind.ts";
import { errnoOf } from "../fs/fs-failure.ts";
import { inDirectory, type Workspace } from "../fs/workspace.ts";
import { ToolFailure } from "../tool-failure.ts";

export interface WorkspaceDigest {
  readonly hash: Hash;
  readonly entries: number;
}

const MAX_ENTRIES = 50_000;
const MAX_DEPTH = 64;
/** Others get a turn after so many: asking about one takes microseconds, about all of them up to a second. */
const ENTRIES_AT_ONCE = 500;

export async function digestWorkspace(workspace: Workspace, maxEntries = MAX_ENTRIES): Promise<WorkspaceDigest> {
  const digest = new Digest(maxEntries);
  await inDirectory(workspace, [], (root) => digest.visit(root, 0));
  return { hash: digest.finish(), entries: digest.entries };
}

class Digest {
  readonly #hash = createHash("sha256");
  readonly #maxEntries: number;
  entries = 0;

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  finish(): Hash {
    return asHash(this.#hash.digest("hex"));
  }

  async visit(directory: DirectoryHandle, depth: number): Promise<void> {
    if (depth > MAX_DEPTH) throw refused(`${JSON.stringify(directory.path)} lies too deep`);
    // Of this very directory, each: working a path out takes longer than asking about what is there.
    const shown = shownPath(directory, ".");
    const entry = entryPath(directory, ".");
    for (const name of namesIn(directory, this.#maxEntries + 1).sort()) {
      if (this.#count() % ENTRIES_AT_ONCE === 0) await setImmediate();
      const path = `${shown}/${name}`;
      const stats = lstatSync(`${entry}/${name}`, { bigint: true, throwIfNoEntry: false });
      // A name that is no text reaches us as another one, of which there is nothing.
      if (stats === undefined) throw refused(`${JSON.stringify(path)} went away, or has a name that is no text`);
      this.#hash.update(`${JSON.stringify([path, ...factsOf(stats)])}\n`);
      if (stats.isDirectory()) await this.#descend(directory, name, depth);
    }
  }

  #count(): number {
    this.entries += 1;
    if (this.entries > this.#maxEntries) throw refused(`it holds more than ${this.#maxEntries} entries`);
    return this.entries;
  }

  async #descend(parent: DirectoryHandle, name: string, depth: number): Promise<void> {
    try {
      const directory = enterDirectory(parent, name);
      try {
        await this.visit(directory, depth + 1);
      } finally {
        releaseDirectory(directory);
      }
    } catch (error) {
      if (errnoOf(error) !== "EACCES") throw error;
    }
  }
}

/** Of a directory no times: what is in it is looked at itself. */
function factsOf(stats: BigIntStats): readonly string[] {
  const { dev, ino, mode, size, mtimeNs, ctimeNs } = stats;
  const contents = stats.isDirectory() ? [] : [size, mtimeNs, ctimeNs];
  return [kindOf(stats), ...[dev, ino, mode, ...contents].map(String)];
}

/** No more than that many: one directory may hold any number. */
function namesIn(directory: DirectoryHandle, limit: number): string[] {
  const names: string[] = [];
  const listing = opendirSync(entryPath(directory, "."), { bufferSize: 512 });
  try {
    for (let entry = listing.readSync(); entry !== null && names.length < limit; entry = listing.readSync()) {
      names.push(entry.name);
    }
  } finally {
    listing.closeSync();
  }
  return names;
}

function refused(problem: string): ToolFailure {
  const message = `The workspace cannot be bound to an approval of this command, which may read any file in it: ${problem}. Move what is not needed out of the workspace, or use commands that start no programs.`;
  return new ToolFailure("invalid.request", message);
}
