/**
 * Reads the files that decide what a command does: scripts, and what a builder or git reads by default. An approval
 * covers their bytes, and the sandbox shows the command these bytes, even if the file changes. What they include in
 * turn is covered by `digest-workspace.ts`. Other files passed to an interpreter are data, and pinned only if they look
 * like scripts.
 */
import { posix } from "node:path";
import { hashBytes } from "../../../kernel/vocabulary/hash.ts";
import type { Hash } from "../../../kernel/vocabulary/identifiers.ts";
import { pathFailure } from "../fs/fs-failure.ts";
import { readUpTo, withRegularFile } from "../fs/regular-file.ts";
import { inNearestDirectory, type Workspace } from "../fs/workspace.ts";
import { ToolFailure } from "../tool-failure.ts";
import { type ClassifiedCommand, isWithin } from "./classify-command.ts";
import { startsPrograms } from "./program-kinds.ts";

export interface ScriptFile {
  readonly path: string;
  readonly bytes: Buffer;
  readonly hash: Hash;
}

const MAX_SCRIPT_BYTES = 262_144;
const SCRIPT_NAME =
  /\.(?:awk|bash|cjs|cts|exp|jq|js|jsx|ksh|lua|mjs|mk|mts|php|pl|ps1|py|r|rb|sed|sh|sql|tcl|ts|tsx|zsh)$/i;

const IMPLICIT: Readonly<Record<string, readonly string[]>> = {
  make: ["GNUmakefile", "makefile", "Makefile"],
  npm: ["package.json"],
  npx: ["package.json"],
  pnpm: ["package.json"],
  yarn: ["package.json"],
};

export async function readScripts(workspace: Workspace, commands: readonly ClassifiedCommand[]): Promise<ScriptFile[]> {
  const scripts = new Map<string, ScriptFile>();
  for (const { name, args, isKnown } of commands) {
    if (isKnown || !startsPrograms(name)) continue;
    const directory = workingDirectory(args);
    const within = (word: string): string => from(directory, word);
    const implicit = Object.hasOwn(IMPLICIT, name) ? (IMPLICIT[name] ?? []) : [];
    for (const file of await filesOf(workspace, implicit.map(within))) scripts.set(file.path, file);
    const words = args.flatMap(wordsWithin);
    const [first, ...others] = await filesOf(workspace, directory === "." ? words : [...words, ...words.map(within)]);
    if (first !== undefined && (isScript(first) || isText(first))) scripts.set(first.path, first);
    for (const file of others) if (isScript(file)) scripts.set(file.path, file);
  }
  return [...scripts.values()];
}

/** `--file=x` names x, and so does `-fx`. */
function wordsWithin(word: string): readonly string[] {
  if (!word.startsWith("-")) return [word];
  const attached = word.startsWith("--") ? [] : [word.slice(2)];
  return word.includes("=") ? [word.slice(word.indexOf("=") + 1), ...attached] : attached;
}

/** The directory a builder changes to: `-C x`, `-Cx`, `--directory=x`, `--prefix x`, each relative to the last. */
function workingDirectory(args: readonly string[]): string {
  let directory = ".";
  for (const [index, word] of args.entries()) {
    const [, attached] = /^(?:-C|--(?:directory|prefix)(?:=|$))(.*)$/s.exec(word) ?? [];
    if (attached !== undefined) directory = from(directory, attached || (args[index + 1] ?? "."));
  }
  return directory;
}

function from(directory: string, path: string): string {
  return posix.isAbsolute(path) ? path : posix.join(directory, path);
}

async function filesOf(workspace: Workspace, words: readonly string[]): Promise<ScriptFile[]> {
  const files: ScriptFile[] = [];
  for (const word of words) {
    const file = isWithin(workspace.root, word) ? await readScript(workspace, word) : null;
    if (file !== null) files.push(file);
  }
  return files;
}

/** Null if the word does not name a regular file. */
export async function readScript(workspace: Workspace, word: string): Promise<ScriptFile | null> {
  const names = namesOf(workspace.root, word);
  const name = names.at(-1);
  if (name === undefined || names.some((one) => Buffer.byteLength(one) > 255)) return null;
  try {
    return await inNearestDirectory(workspace, names.slice(0, -1), async (directory, missing) => {
      if (missing.length > 0) return null;
      const bytes = await withRegularFile(directory, name, (file) => readUpTo(file, MAX_SCRIPT_BYTES + 1));
      const path = [workspace.root, ...names].join("/");
      return bytes === null ? null : { path, bytes, hash: hashBytes(bytes) };
    });
  } catch (error) {
    // The word only looks like a path: a directory, or a path beneath a file.
    if (error instanceof ToolFailure && error.code === "invalid.request") return null;
    throw error;
  }
}

function namesOf(root: string, word: string): readonly string[] {
  const path = word.startsWith(`${root}/`) ? word.slice(root.length + 1) : word;
  const names: string[] = [];
  for (const name of path.split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return names;
}

function isScript({ path, bytes }: ScriptFile): boolean {
  const is = SCRIPT_NAME.test(path) || bytes.subarray(0, 2).toString("latin1") === "#!";
  if (!is || bytes.length <= MAX_SCRIPT_BYTES) return is;
  throw pathFailure("invalid.request", path, `has more than ${MAX_SCRIPT_BYTES} bytes, too many to review`);
}

function isText({ bytes }: ScriptFile): boolean {
  return bytes.length <= MAX_SCRIPT_BYTES && !bytes.includes(0);
}
