/**
 * Records which paths of the workspace an untrusted context wrote: marks, in the tool state directory. A run that reads
 * such a path has seen untrusted data, in any session; otherwise a file could bypass the latch.
 *
 * A mark is durable before the write it covers. It covers its path, everything beneath it, and its parents, since a
 * directory listing reveals names. A command may copy anything anywhere: one that can write marks the whole workspace,
 * unless its context and every path are trusted. Beyond MAX_MARKS the whole workspace is marked; an unreadable mark
 * counts as one for the whole. A mark is removed when a clean context replaces the whole file, unless the trash may
 * restore the old one; writers are not locked, so each checks again after its write. All other marks stay until the
 * operator removes them; a missing file proves nothing, since its disk may be unmounted. Marks are cached, so there is
 * one instance per workspace, and only the holder of the home's lock changes them.
 */
import { readdir } from "node:fs/promises";
import { hashCanonical } from "../../../kernel/vocabulary/hash.ts";
import { joinLabels, type Labels, UNTRUSTED_LABELS, USER_LABELS } from "../../../kernel/vocabulary/labels.ts";
import { parseJson } from "../../../kernel/vocabulary/parse-json.ts";
import type { CallContext } from "../../../runtime/ports/toolbox.ts";
import { ToolFailure } from "../tool-failure.ts";
import { atomicWrite, removeIfThere, temporaryNameOf } from "./atomic-write.ts";
import { type DirectoryHandle, entryPath } from "./directory-handle.ts";
import { withPathErrors } from "./fs-failure.ts";
import { readUpTo, withRegularFile } from "./regular-file.ts";
import { findToolStateDirectory, openToolStateDirectory } from "./tool-state-directory.ts";
import { hasTrashFrom } from "./trash.ts";
import { inCreatedDirectory, inDirectoryIfThere, type Workspace } from "./workspace.ts";

export const MAX_MARKS = 100;
const FOLDER = "marks";
const SUFFIX = ".json";
/** Enough for the longest path with every character escaped. */
const MAX_BYTES = 32_768;
/** Writing a mark is never aborted: its file may already be written. */
const { signal: NEVER } = new AbortController();
const MARKED_LABELS = joinLabels(USER_LABELS, UNTRUSTED_LABELS);

/** The names from the workspace down; empty for the whole workspace. */
type Names = readonly string[];

/** Who writes, and what its context has seen. */
type WriteContext = Pick<CallContext, "seen" | "idempotencyKey" | "runId" | "requestId">;

export type UntrustedMarks = ReturnType<typeof untrustedMarks>;

export function untrustedMarks(workspace: Workspace, stateDirectory: string) {
  const folder = [FOLDER, hashCanonical(workspace.root).slice(0, 32)];
  const findState = () =>
    withPathErrors("tool state directory", () => findToolStateDirectory(workspace, stateDirectory));

  /** By file name; null until first read. */
  let cached: Map<string, Names> | null = null;
  let lastChange: Promise<unknown> = Promise.resolve();

  /** Runs changes one after the other, so that the cache matches the disk. After a failure it is read again. */
  function serialize<Result>(work: (marks: Map<string, Names>) => Promise<Result>): Promise<Result> {
    const change = lastChange.then(async () => {
      try {
        cached ??= await readAll();
        return await work(cached);
      } catch (error) {
        cached = null;
        throw error;
      }
    });
    lastChange = change.catch(() => {});
    return change;
  }

  async function readAll(): Promise<Map<string, Names>> {
    return (await inDirectoryIfThere(await findState(), folder, readMarks)) ?? new Map();
  }

  async function isMarked(names: Names): Promise<boolean> {
    const marks = cached ?? (await serialize(async (read) => read));
    return [...marks.values()].some((mark) => isParentOrChild(mark, names));
  }

  function mark(names: Names, context: WriteContext): Promise<void> {
    return serialize(async (marks) => {
      if ([...marks.values()].some(({ length }) => length === 0)) return;
      const isOneMore = !marks.has(nameOf(names));
      const marked = isOneMore && marks.size >= MAX_MARKS ? [] : names;
      const content = Buffer.from(JSON.stringify(marked));
      const name = nameOf(marked);
      const write = { name, temporaryName: temporaryNameOf(context), content, mode: "replace" } as const;
      const state = await openToolStateDirectory(workspace, stateDirectory);
      await inCreatedDirectory(state, folder, (directory) => atomicWrite(directory, write, NEVER));
      marks.set(name, marked);
    });
  }

  function unmark(names: Names): Promise<boolean> {
    return serialize(async (marks) => {
      if (marks.size === 0 || !marks.has(nameOf(names)) || (await isInTrash(names))) return false;
      await removeMarks(marks, [nameOf(names)]);
      return true;
    });
  }

  async function removeMarks(marks: Map<string, Names>, files: readonly string[]): Promise<void> {
    if (files.length === 0) return;
    await inDirectoryIfThere(await findState(), folder, async (directory) => {
      for (const file of files) await removeIfThere(entryPath(directory, file));
    });
    for (const file of files) marks.delete(file);
  }

  /** Deleted, alone or with a parent directory, and not restored yet. */
  async function isInTrash(names: Names): Promise<boolean> {
    const state = await findState();
    for (let depth = 1; depth <= names.length; depth += 1) {
      if (await hasTrashFrom(state, [workspace.root, ...names.slice(0, depth)].join("/"))) return true;
    }
    return false;
  }

  return {
    async list(): Promise<readonly string[]> {
      const paths = new Set(await serialize(async (marks) => [...marks.values()].map(pathOf)));
      return [...paths].toSorted();
    },

    /** For the operator, who vouches for the file, and for what is in the trash. */
    remove(path: string): Promise<boolean> {
      return serialize(async (marks) => {
        const files = [...marks].filter(([, names]) => pathOf(names) === path).map(([file]) => file);
        await removeMarks(marks, files);
        return files.length > 0;
      });
    },

    /** The labels of what a tool reads at this path and beneath it. */
    async labelsOf(names: Names): Promise<Labels> {
      return (await isMarked(names)) ? MARKED_LABELS : USER_LABELS;
    },

    /** After reading: fails if the labels no longer match the plan. */
    async assertLabelled(labels: Labels, names: Names): Promise<void> {
      if (labels.integrity !== "untrusted" && (await isMarked(names))) throw markedSince(names);
    },

    async beforeWrite(names: Names, context: WriteContext): Promise<void> {
      if (isUntrusted(context)) await mark(names, context);
    },

    async afterWrite(names: Names, context: WriteContext): Promise<void> {
      if (isUntrusted(context) && !(await isMarked(names))) await mark(names, context);
    },

    /** After a whole file was written; `isUnchanged` checks that it still is that file. */
    async afterReplace(names: Names, context: WriteContext, isUnchanged: () => Promise<boolean>): Promise<void> {
      if (isUntrusted(context)) return await this.afterWrite(names, context);
      if ((await unmark(names)) && !(await isUnchanged())) await mark(names, context);
    },

    /** Before and after a command that can write. */
    async aroundCommand(context: WriteContext): Promise<void> {
      if (isUntrusted(context) || (await isMarked([]))) await mark([], context);
    },
  };
}

function markedSince(names: Names): ToolFailure {
  const message =
    "Untrusted data was written there since the call was planned, so the result is withheld. Call it again.";
  return new ToolFailure("policy.denied", message, { details: { path: pathOf(names) } });
}

function isUntrusted({ seen }: Pick<CallContext, "seen">): boolean {
  return seen.integrity === "untrusted";
}

async function readMarks(directory: DirectoryHandle): Promise<Map<string, Names>> {
  const found = new Map<string, Names>();
  for (const name of await readdir(entryPath(directory, "."))) {
    // Other names are temporary: the file they are for is not written yet.
    if (!name.endsWith(SUFFIX)) continue;
    const names = await withRegularFile(directory, name, async (file) =>
      parseNames((await readUpTo(file, MAX_BYTES)).toString()),
    );
    if (names !== null) found.set(name, names);
  }
  return found;
}

function parseNames(text: string): Names {
  const parsed = parseJson(text);
  const names: unknown = parsed.ok ? parsed.value : null;
  return Array.isArray(names) && names.every((name) => typeof name === "string") ? names : [];
}

function pathOf(names: Names): string {
  return names.join("/") || ".";
}

function nameOf(names: Names): string {
  return `${hashCanonical([...names]).slice(0, 32)}${SUFFIX}`;
}

function isParentOrChild(a: Names, b: Names): boolean {
  const [shorter, longer] = a.length <= b.length ? [a, b] : [b, a];
  return shorter.every((name, index) => folded(name) === folded(longer[index] ?? ""));
}

/** Without case: one file may have several spellings on some systems. */
function folded(name: string): string {
  return name.normalize("NFD").toUpperCase();
}
