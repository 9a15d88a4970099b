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
 *     Writers are not kept apart: each looks again after its write, so that the last of them leaves the mark right.
 *     That of the whole workspace stays until the operator removes it, from `marks` in the annex.
 */
import { statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { hashCanonical } from "../../../kernel/vocabulary/hash.ts";
import { joinLabels, type Labels, UNTRUSTED_LABELS, USER_LABELS } from "../../../kernel/vocabulary/labels.ts";
import { parseJson } from "../../../kernel/vocabulary/parse-json.ts";
import { after, type NowOrLater } from "../../../runtime/now-or-later.ts";
import type { CallContext } from "../../../runtime/ports/toolbox.ts";
import { ToolFailure } from "../tool-failure.ts";
import { findAnnex, makeAnnex } from "./annex.ts";
import { temporaryNameOf } from "./call-key.ts";
import { naming } from "./fs-failure.ts";
import { entryPath, type HeldDirectory } from "./held-directory.ts";
import { placeFile, removeIfThere } from "./place-file.ts";
import { readUpTo, withRegularFile } from "./regular-file.ts";
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

/** `annexPath`: where the annex is, as `annex.ts` has it. */
export function untrustedMarks(workspace: Workspace, annexPath: string) {
  const folder = [FOLDER, hashCanonical(workspace.root).slice(0, 32)];
  const annexIfThere = () => naming("annex", () => findAnnex(workspace, annexPath));

  const folderPath = join(annexPath, ...folder);
  let known: { readonly version: string; readonly marks: readonly Place[] } | null = null;
  /** How often we have changed them ourselves: the directory's time may be too coarse to tell. */
  let changes = 0;

  /** Every read asks, and marks seldom change: they are read again when their directory has changed. */
  function marks(): NowOrLater<readonly Place[]> {
    const directory = versionOf(folderPath);
    if (directory === null) return [];
    const version = `${directory} ${changes}`;
    if (known?.version === version) return known.marks;
    return readAll().then((found) => {
      known = { version, marks: found };
      return found;
    });
  }

  async function readAll(): Promise<readonly Place[]> {
    const annex = await annexIfThere();
    if (annex === null) return [];
    return await inNearestDirectory(annex, folder, async (directory, [missing]) =>
      missing === undefined ? await readMarks(directory) : [],
    );
  }

  function isMarked(place: Place): NowOrLater<boolean> {
    return after(marks(), (all) => all.some((mark) => isOnTheWay(mark, place)));
  }

  async function mark(place: Place, context: CallContext): Promise<void> {
    const present = await marks();
    if (present.some(({ length }) => length === 0)) return;
    const isOneMore = !present.some((other) => nameOf(other) === nameOf(place));
    const marked = isOneMore && present.length >= MAX_MARKS ? [] : place;
    const content = Buffer.from(JSON.stringify(marked));
    const name = nameOf(marked);
    const placement = { name, temporaryName: temporaryNameOf(context), content, mode: "replace" } as const;
    await inNearestDirectory(await makeAnnex(workspace, annexPath), folder, (start, missing) =>
      inMadeDirectory(start, missing, (directory) => placeFile(directory, placement, NEVER)),
    );
    changes += 1;
  }

  /** Whether there was one, and is none any more. */
  async function unmark(place: Place): Promise<boolean> {
    const annex = await annexIfThere();
    if (annex === null) return false;
    return await inNearestDirectory(annex, folder, async (directory, [missing]) => {
      const isThere =
        missing === undefined && (await withRegularFile(directory, nameOf(place), async () => true)) !== null;
      if (!isThere || (await mayComeBack(annex, place))) return false;
      await removeIfThere(entryPath(directory, nameOf(place)));
      changes += 1;
      return true;
    });
  }

  /** Deleted, itself or with a directory around it, and not restored yet. */
  async function mayComeBack(annex: Workspace, place: Place): Promise<boolean> {
    for (let depth = 1; depth <= place.length; depth += 1) {
      if (await hasTrashFrom(annex, [workspace.root, ...place.slice(0, depth)].join("/"))) return true;
    }
    return false;
  }

  return {
    /** Of what a tool brings back from this place and all beneath it. */
    labelsOf(place: Place): NowOrLater<Labels> {
      return after(isMarked(place), (isUntrusted) => (isUntrusted ? MARKED_LABELS : USER_LABELS));
    },

    /** After reading: what was read is labelled as it was planned, or not told. */
    assertLabelled(labels: Labels, place: Place): NowOrLater<void> {
      if (labels.integrity === "untrusted") return;
      return after(isMarked(place), (isUntrusted) => {
        if (!isUntrusted) return;
        const message =
          "Something untrusted was written there since the call was planned; nothing of it is told. Call it again.";
        throw new ToolFailure("policy.denied", message, { details: { path: place.join("/") || "." } });
      });
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

function isUntrusted({ seen }: CallContext): boolean {
  return seen.integrity === "untrusted";
}

/** Null where there is no such directory. */
function versionOf(directory: string): string | null {
  const stats = statSync(directory, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? null : `${stats.dev} ${stats.ino} ${stats.mtimeNs} ${stats.ctimeNs}`;
}

async function readMarks(directory: HeldDirectory): Promise<readonly Place[]> {
  const found: Place[] = [];
  for (const name of await readdir(entryPath(directory, "."))) {
    // Under any other name it is a mark in the making, and nothing has been written yet.
    if (!name.endsWith(SUFFIX)) continue;
    const place = await withRegularFile(directory, name, async (file) =>
      parsePlace((await readUpTo(file, MAX_BYTES)).toString()),
    );
    if (place !== null) found.push(place);
  }
  return found;
}

function parsePlace(text: string): Place {
  const parsed = parseJson(text);
  const names: unknown = parsed.ok ? parsed.value : null;
  return Array.isArray(names) && names.every((name) => typeof name === "string") ? names : [];
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
