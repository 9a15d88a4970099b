/**
 * Which places of the workspace hold what an untrusted context wrote: marks, kept in the annex. Whoever reads such a
 * place has seen untrusted data, in whatever session. Else the latch would open by way of a file.
 *
 * U1. A mark is durable before the write it is for. It is one file, so that nobody's mark is lost to another's.
 * U2. A mark applies to what lies on the way to its place, since a directory tells names, and beneath it. Names match as
 *     on a system that tells no upper case from lower: one file may have several spellings there.
 * U3. A command may copy anything anywhere: one that can write marks the whole workspace, unless neither its context
 *     nor any place is untrusted. Beyond `MAX_MARKS` the whole workspace is marked too, and a mark that cannot be read
 *     is one for the whole.
 * U4. A mark goes when a clean context replaces the whole file, but not while the trash may bring back what it was for.
 *     Writers are not kept apart: each looks again after its write, so that the last of them leaves the mark right. All
 *     others stay until the operator takes them off. That a file is gone proves nothing: it may be on a disk that is not
 *     there just now, and the directories around it keep the names they were given.
 * U5. They are read once, and known from then on. So there is one of these for a workspace, whoever asks it, and only
 *     where the home's lock is held are marks changed.
 */
import { readdir } from "node:fs/promises";
import { hashCanonical } from "../../../kernel/vocabulary/hash.ts";
import { joinLabels, type Labels, UNTRUSTED_LABELS, USER_LABELS } from "../../../kernel/vocabulary/labels.ts";
import { parseJson } from "../../../kernel/vocabulary/parse-json.ts";
import type { CallContext } from "../../../runtime/ports/toolbox.ts";
import { ToolFailure } from "../tool-failure.ts";
import { placeFile, removeIfThere } from "./atomic-write.ts";
import { temporaryNameOf } from "./call-key.ts";
import { type DirectoryHandle, entryPath } from "./directory-handle.ts";
import { naming } from "./fs-failure.ts";
import { readUpTo, withRegularFile } from "./regular-file.ts";
import { findToolStateDirectory, makeToolStateDirectory } from "./tool-state-directory.ts";
import { hasTrashFrom } from "./trash.ts";
import { inMadeDirectory, inNearestDirectory, type Workspace } from "./workspace.ts";

export const MAX_MARKS = 100;
const FOLDER = "marks";
const SUFFIX = ".json";
/** More than the longest path takes, every character of it escaped. */
const MAX_BYTES = 32_768;
/** A mark is not given up half-way: the write it is for may have happened. */
const { signal: NEVER } = new AbortController();
const MARKED_LABELS = joinLabels(USER_LABELS, UNTRUSTED_LABELS);

/** The names from the workspace down; none for the whole of it. */
type Place = readonly string[];

export type UntrustedMarks = ReturnType<typeof untrustedMarks>;

/** `annexPath`: where the annex is, as `tool-state-directory.ts` has it. */
export function untrustedMarks(workspace: Workspace, annexPath: string) {
  const folder = [FOLDER, hashCanonical(workspace.root).slice(0, 32)];
  const annexIfThere = () => naming("annex", () => findToolStateDirectory(workspace, annexPath));

  /** By the names of their files; null until somebody asks. */
  let known: Map<string, Place> | null = null;
  let lastTurn: Promise<unknown> = Promise.resolve();

  /** What we know is what is there, since one change comes after the other. After a failure nobody can say: it is read again. */
  function inTurn<Result>(work: (marks: Map<string, Place>) => Promise<Result>): Promise<Result> {
    const turn = lastTurn.then(async () => {
      try {
        known ??= await readAll();
        return await work(known);
      } catch (error) {
        known = null;
        throw error;
      }
    });
    lastTurn = turn.catch(() => {});
    return turn;
  }

  async function readAll(): Promise<Map<string, Place>> {
    const annex = await annexIfThere();
    if (annex === null) return new Map();
    return await inNearestDirectory(annex, folder, async (directory, [missing]) =>
      missing === undefined ? await readMarks(directory) : new Map(),
    );
  }

  async function isMarked(place: Place): Promise<boolean> {
    return isMarkedBy(known ?? (await inTurn(async (read) => read)), place);
  }

  function mark(place: Place, context: CallContext): Promise<void> {
    return inTurn(async (marks) => {
      if ([...marks.values()].some(isWhole)) return;
      const isOneMore = !marks.has(nameOf(place));
      const marked = isOneMore && marks.size >= MAX_MARKS ? [] : place;
      const content = Buffer.from(JSON.stringify(marked));
      const name = nameOf(marked);
      const placement = { name, temporaryName: temporaryNameOf(context), content, mode: "replace" } as const;
      await inNearestDirectory(await makeToolStateDirectory(workspace, annexPath), folder, (start, missing) =>
        inMadeDirectory(start, missing, (directory) => placeFile(directory, placement, NEVER)),
      );
      marks.set(name, marked);
    });
  }

  /** Whether there was one, and is none any more. */
  function unmark(place: Place): Promise<boolean> {
    return inTurn(async (marks) => {
      if (marks.size === 0 || !marks.has(nameOf(place)) || (await mayComeBack(place))) return false;
      await takeOff(marks, [nameOf(place)]);
      return true;
    });
  }

  async function takeOff(marks: Map<string, Place>, names: readonly string[]): Promise<void> {
    const annex = names.length === 0 ? null : await annexIfThere();
    if (annex !== null) {
      await inNearestDirectory(annex, folder, async (directory, [missing]) => {
        for (const name of missing === undefined ? names : []) await removeIfThere(entryPath(directory, name));
      });
    }
    for (const name of names) marks.delete(name);
  }

  /** Deleted, itself or with a directory around it, and not restored yet. */
  async function mayComeBack(place: Place): Promise<boolean> {
    const annex = await annexIfThere();
    for (let depth = 1; depth <= place.length; depth += 1) {
      if (await hasTrashFrom(annex, [workspace.root, ...place.slice(0, depth)].join("/"))) return true;
    }
    return false;
  }

  return {
    async list(): Promise<readonly string[]> {
      const paths = new Set(await inTurn(async (marks) => [...marks.values()].map(pathOf)));
      return [...paths].toSorted();
    },

    /** By the operator, who vouches for what is there: also for what lies in the trash. */
    remove(path: string): Promise<boolean> {
      return inTurn(async (marks) => {
        const names = [...marks].filter(([, place]) => pathOf(place) === path).map(([name]) => name);
        await takeOff(marks, names);
        return names.length > 0;
      });
    },

    /** Of what a tool brings back from this place and all beneath it. */
    async labelsOf(place: Place): Promise<Labels> {
      return labelsWhen(await isMarked(place));
    },

    /** After reading: what was read is labelled as it was planned, or not told. */
    async assertLabelled(labels: Labels, place: Place): Promise<void> {
      if (labels.integrity !== "untrusted" && (await isMarked(place))) throw markedMeanwhile(place);
    },

    async beforeWrite(place: Place, context: CallContext): Promise<void> {
      if (isUntrusted(context)) await mark(place, context);
    },

    /** After a part of a file, or all of it, was written. */
    async afterWrite(place: Place, context: CallContext): Promise<void> {
      if (isUntrusted(context) && !(await isMarked(place))) await mark(place, context);
    },

    /** After a whole file was written; `isInPlace` tells whether it is that one still. */
    async afterReplace(place: Place, context: CallContext, isInPlace: () => Promise<boolean>): Promise<void> {
      if (isUntrusted(context)) return await this.afterWrite(place, context);
      if ((await unmark(place)) && !(await isInPlace())) await mark(place, context);
    },

    /** Before and after a command that can write. */
    async aroundCommand(context: CallContext): Promise<void> {
      if (isUntrusted(context) || (await isMarked([]))) await mark([], context);
    },
  };
}

function isMarkedBy(marks: ReadonlyMap<string, Place>, place: Place): boolean {
  for (const mark of marks.values()) if (isOnTheWay(mark, place)) return true;
  return false;
}

function labelsWhen(isMarked: boolean): Labels {
  return isMarked ? MARKED_LABELS : USER_LABELS;
}

function markedMeanwhile(place: Place): ToolFailure {
  const message =
    "Something untrusted was written there since the call was planned; nothing of it is told. Call it again.";
  return new ToolFailure("policy.denied", message, { details: { path: pathOf(place) } });
}

function isUntrusted({ seen }: CallContext): boolean {
  return seen.integrity === "untrusted";
}

async function readMarks(directory: DirectoryHandle): Promise<Map<string, Place>> {
  const found = new Map<string, Place>();
  for (const name of await readdir(entryPath(directory, "."))) {
    // Under any other name it is a mark in the making, and nothing has been written yet.
    if (!name.endsWith(SUFFIX)) continue;
    const place = await withRegularFile(directory, name, async (file) =>
      parsePlace((await readUpTo(file, MAX_BYTES)).toString()),
    );
    if (place !== null) found.set(name, place);
  }
  return found;
}

function parsePlace(text: string): Place {
  const parsed = parseJson(text);
  const names: unknown = parsed.ok ? parsed.value : null;
  return Array.isArray(names) && names.every((name) => typeof name === "string") ? names : [];
}

function isWhole({ length }: Place): boolean {
  return length === 0;
}

function pathOf(place: Place): string {
  return place.join("/") || ".";
}

function nameOf(place: Place): string {
  return `${hashCanonical([...place]).slice(0, 32)}${SUFFIX}`;
}

/** Does one of them lead to, or through, the other? */
function isOnTheWay(a: Place, b: Place): boolean {
  const [shorter, longer] = a.length <= b.length ? [a, b] : [b, a];
  return shorter.every((name, index) => folded(name) === folded(longer[index] ?? ""));
}

function folded(name: string): string {
  return name.normalize("NFD").toUpperCase();
}
