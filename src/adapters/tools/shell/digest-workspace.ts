/**
 * A fingerprint of the whole workspace, for commands that may read files their words do not name (sourced scripts,
 * imported modules, includes): an approval of such a command holds for exactly these files. Nothing is left out,
 * neither `.git` nor `node_modules`; a workspace too large is refused. No content is read: ctime stands for it, which
 * users cannot set. A directory that is unreadable for us is unreadable for the command too.
 */
import { createHash } from "node:crypto";
import { type BigIntStats, lstatSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { asHash, type Hash } from "../../../kernel/vocabulary/identifiers.ts";
import {
  type DirectoryHandle,
  enterDirectory,
  entryPath,
  kindOf,
  shownPath,
  sortedEntries,
} from "../fs/directory-handle.ts";
import { errnoOf } from "../fs/fs-failure.ts";
import { inDirectory, type Workspace } from "../fs/workspace.ts";
import { ToolFailure } from "../tool-failure.ts";

export interface WorkspaceDigest {
  readonly hash: Hash;
  readonly entries: number;
}

const MAX_ENTRIES = 50_000;
const MAX_DEPTH = 64;
/** Yields to the event loop after this many; all entries together may take a second. */
const ENTRIES_PER_TICK = 500;

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
    if (depth > MAX_DEPTH) throw refused(`${JSON.stringify(directory.path)} is nested too deeply`);
    const shown = shownPath(directory, ".");
    const entry = entryPath(directory, ".");
    for (const { name } of sortedEntries(directory, this.#maxEntries + 1)) {
      if (this.#count() % ENTRIES_PER_TICK === 0) await setImmediate();
      const path = `${shown}/${name}`;
      const stats = lstatSync(`${entry}/${name}`, { bigint: true, throwIfNoEntry: false });
      // A name that is not valid text is decoded to another one, which does not exist.
      if (stats === undefined) throw refused(`${JSON.stringify(path)} was removed, or its name is not valid text`);
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
      using directory = enterDirectory(parent, name);
      await this.visit(directory, depth + 1);
    } catch (error) {
      if (errnoOf(error) !== "EACCES") throw error;
    }
  }
}

/** Without the times of a directory: its entries are checked themselves. */
function factsOf(stats: BigIntStats): readonly string[] {
  const { dev, ino, mode, size, mtimeNs, ctimeNs } = stats;
  const contents = stats.isDirectory() ? [] : [size, mtimeNs, ctimeNs];
  return [kindOf(stats), ...[dev, ino, mode, ...contents].map(String)];
}

function refused(problem: string): ToolFailure {
  const message = `An approval of this command would cover every file of the workspace, but ${problem}. Move files out of the workspace, or use commands that start no other programs.`;
  return new ToolFailure("invalid.request", message);
}
