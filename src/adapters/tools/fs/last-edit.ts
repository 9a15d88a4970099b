/**
 * The last edit that was begun of each file, kept in the annex. An edit cannot be told by its result alone, as a whole
 * text can: this is how a repeat after a crash finds its own done.
 *
 * J1. It is durable before the file is replaced. So it says what was intended; that it was done, the file's hash says.
 * J2. One a file, the next edit takes its place: it does not grow with use.
 * J3. One that cannot be read counts as none: then a repeat does nothing, and says so.
 */
import { hashCanonical } from "../../../kernel/vocabulary/hash.ts";
import type { Hash } from "../../../kernel/vocabulary/identifiers.ts";
import { parseJson } from "../../../kernel/vocabulary/parse-json.ts";
import { placeFile } from "./atomic-write.ts";
import { fieldOf } from "./field-of.ts";
import { readUpTo, withRegularFile } from "./regular-file.ts";
import { inMadeDirectory, inNearestDirectory, type Workspace } from "./workspace.ts";

const FOLDER = "edits";
const MAX_BYTES = 4096;

export interface LastEdit {
  readonly key: Hash;
  /** Of the arguments. */
  readonly call: Hash;
  /** Of the file with the edit. */
  readonly after: Hash;
  readonly replacements: number;
  readonly bytes: number;
}

export async function readLastEdit(annex: Workspace | null, target: string): Promise<LastEdit | null> {
  if (annex === null) return null;
  return await inNearestDirectory(annex, [FOLDER], (directory, [missing]) =>
    missing !== undefined
      ? null
      : withRegularFile(directory, nameOf(target), async (file) =>
          parseLastEdit((await readUpTo(file, MAX_BYTES)).toString()),
        ),
  );
}

export async function writeLastEdit(
  annex: Workspace,
  target: string,
  edit: LastEdit,
  { temporaryName, signal }: { readonly temporaryName: string; readonly signal: AbortSignal },
): Promise<boolean> {
  const { key, call, after, replacements, bytes } = edit;
  const content = Buffer.from(JSON.stringify({ key, call, after, replacements, bytes }));
  const placement = { name: nameOf(target), temporaryName, content, mode: "replace" } as const;
  return await inNearestDirectory(annex, [FOLDER], (start, missing) =>
    inMadeDirectory(start, missing, (directory) => placeFile(directory, placement, signal)),
  );
}

function nameOf(target: string): string {
  return `${hashCanonical(target).slice(0, 32)}.json`;
}

function parseLastEdit(text: string): LastEdit | null {
  const parsed = parseJson(text);
  const value = parsed.ok ? parsed.value : null;
  const [key, call, after] = ["key", "call", "after"].map((name) => fieldOf(value, name));
  const [replacements, bytes] = ["replacements", "bytes"].map((name) => fieldOf(value, name));
  if (typeof key !== "string" || typeof call !== "string" || typeof after !== "string") return null;
  if (typeof replacements !== "number" || typeof bytes !== "number") return null;
  return { key: key as Hash, call: call as Hash, after: after as Hash, replacements, bytes };
}
