/**
 * The last edit begun on each file, in the tool state directory. A repeat after a crash uses it to recognise its own edit,
 * which the file's content alone cannot prove.
 *
 * The record is durable before the file is replaced; it states the intent, and the file's hash proves the result. There
 * is one per file. An unreadable record counts as none: then the repeat does nothing and says so.
 */
import { hashCanonical } from "../../../kernel/vocabulary/hash.ts";
import type { Hash } from "../../../kernel/vocabulary/identifiers.ts";
import { parseJson } from "../../../kernel/vocabulary/parse-json.ts";
import { fieldOf } from "../define-tool.ts";
import { atomicWrite } from "./atomic-write.ts";
import { readUpTo, withRegularFile } from "./regular-file.ts";
import { inCreatedDirectory, inDirectoryIfThere, type Workspace } from "./workspace.ts";

const FOLDER = ["edits"];
const MAX_BYTES = 4096;

export interface LastEdit {
  readonly key: Hash;
  /** Of the arguments. */
  readonly call: Hash;
  /** Of the edited file. */
  readonly after: Hash;
  readonly replacements: number;
  readonly bytes: number;
}

export async function readLastEdit(state: Workspace | null, target: string): Promise<LastEdit | null> {
  return await inDirectoryIfThere(state, FOLDER, (directory) =>
    withRegularFile(directory, nameOf(target), async (file) =>
      parseLastEdit((await readUpTo(file, MAX_BYTES)).toString()),
    ),
  );
}

export async function writeLastEdit(
  state: Workspace,
  target: string,
  { key, call, after, replacements, bytes }: LastEdit,
  { temporaryName, signal }: { readonly temporaryName: string; readonly signal: AbortSignal },
): Promise<boolean> {
  const content = Buffer.from(JSON.stringify({ key, call, after, replacements, bytes }));
  const write = { name: nameOf(target), temporaryName, content, mode: "replace" } as const;
  return await inCreatedDirectory(state, FOLDER, (directory) => atomicWrite(directory, write, signal));
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
