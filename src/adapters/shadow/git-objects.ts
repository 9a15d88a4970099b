/**
 * What git keeps, read from its files: no git is run, since a repository's own config may name programs that it would start.
 *
 * O1. Loose objects only. What was just committed or staged is loose; what is packed came before.
 * O2. Everything is bounded, and an object that is packed, too large or broken is null.
 */
import { join } from "node:path";
import { inflateSync } from "node:zlib";
import { readGuarded } from "./guarded-read.ts";

const MAX_COMPRESSED_BYTES = 4_194_304;
export const MAX_OBJECT_BYTES = 1_048_576;
const ID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;

export type GitObject = { readonly type: string; readonly data: Buffer };

export function readObject(gitDirectory: string, id: string, maxBytes = MAX_OBJECT_BYTES): GitObject | null {
  if (!ID.test(id)) return null;
  const file = readGuarded(join(gitDirectory, "objects", id.slice(0, 2), id.slice(2)), MAX_COMPRESSED_BYTES);
  if (file === null) return null;
  try {
    const whole = inflateSync(file.bytes, { maxOutputLength: maxBytes + 64 });
    const end = whole.indexOf(0);
    const [type = ""] = whole.toString("latin1", 0, end).split(" ");
    return { type, data: whole.subarray(end + 1) };
  } catch {
    return null;
  }
}

/** Whether the file has a zero byte near its beginning, as git itself tells binary files; null: it cannot be read. */
export function isBinaryObject(gitDirectory: string, id: string): boolean | null {
  if (!ID.test(id)) return null;
  const file = readGuarded(join(gitDirectory, "objects", id.slice(0, 2), id.slice(2)), 65_536);
  if (file === null) return null;
  try {
    // The file may go on: what there is of it is enough.
    const start = inflateSync(file.bytes, { finishFlush: 2, maxOutputLength: 67_108_864 });
    return start.subarray(start.indexOf(0) + 1, 8_192).includes(0);
  } catch {
    return null;
  }
}

interface Commit {
  readonly tree: string;
  readonly parents: readonly string[];
}

export function readCommit(gitDirectory: string, id: string): Commit | null {
  const object = readObject(gitDirectory, id);
  if (object?.type !== "commit") return null;
  const head = object.data.toString("utf8").split("\n\n")[0] ?? "";
  const tree = /^tree ([0-9a-f]+)$/m.exec(head)?.[1];
  const parents = [...head.matchAll(/^parent ([0-9a-f]+)$/gm)].map(([, parent = ""]) => parent);
  return tree === undefined ? null : { tree, parents };
}

interface TreeEntry {
  readonly name: string;
  readonly id: string;
  readonly isTree: boolean;
}

function readTree(gitDirectory: string, id: string): readonly TreeEntry[] | null {
  const object = readObject(gitDirectory, id);
  if (object?.type !== "tree") return null;
  const { data } = object;
  const idBytes = id.length / 2;
  const entries: TreeEntry[] = [];
  for (let at = 0; at < data.length; ) {
    const end = data.indexOf(0, at);
    if (end < 0 || end + idBytes >= data.length + 1) return null;
    const [mode = "", ...name] = data.toString("utf8", at, end).split(" ");
    const entryId = data.toString("hex", end + 1, end + 1 + idBytes);
    // Links and submodules have no content of their own.
    if (mode !== "120000" && mode !== "160000")
      entries.push({ name: name.join(" "), id: entryId, isTree: mode === "40000" });
    at = end + 1 + idBytes;
  }
  return entries;
}

export interface ChangedBlob {
  readonly path: string;
  readonly id: string;
}

/** The files that a commit adds or changes, against its first parent; at most `limit`. */
export function changedBlobs(gitDirectory: string, commit: Commit, limit: number): readonly ChangedBlob[] {
  const [parent] = commit.parents;
  const before = parent === undefined ? null : (readCommit(gitDirectory, parent)?.tree ?? null);
  const changed: ChangedBlob[] = [];
  let left = limit * 4;
  const walk = (tree: string, earlier: string | null, prefix: string): void => {
    left -= 1;
    // A packed tree is as old as its pack: nothing in it is new.
    const entries = tree === earlier || left <= 0 ? null : readTree(gitDirectory, tree);
    if (entries === null) return;
    const known = new Map(
      (earlier === null ? [] : (readTree(gitDirectory, earlier) ?? [])).map((entry) => [entry.name, entry.id]),
    );
    for (const { name, id, isTree } of entries) {
      if (known.get(name) === id || changed.length >= limit) continue;
      if (isTree) walk(id, known.get(name) ?? null, `${prefix}${name}/`);
      else changed.push({ path: `${prefix}${name}`, id });
    }
  };
  walk(commit.tree, before, "");
  return changed;
}
