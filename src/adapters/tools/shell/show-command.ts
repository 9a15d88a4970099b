/**
 * What an approver reads of a command: all of it, as it would be typed.
 *
 * V1. Nothing is shortened. Words that a shell would split or change stand in quotes, so that they can be told apart.
 * V2. Scripts are shown whole, each line behind a bar, so that no text can pass for what stands around it.
 * V3. That a command may read more than is shown is said, and what it is bound to.
 */
import { countUnseen } from "../fs/unseen-characters.ts";
import type { WorkspaceDigest } from "./digest-workspace.ts";
import type { Executable } from "./find-executable.ts";
import type { ScriptFile } from "./read-scripts.ts";

export interface ShownCommand {
  readonly stages: readonly (readonly [name: string, ...args: readonly string[]])[];
  readonly executables: readonly Executable[];
  readonly root: string;
  readonly asks: readonly string[];
  readonly scripts: readonly ScriptFile[];
  /** All that is in the workspace, where the command may read any of it. */
  readonly digest: WorkspaceDigest | null;
  readonly timeoutMs: number;
}

export function showCommand({ stages, executables, root, asks, scripts, digest, timeoutMs }: ShownCommand): string {
  const line = commandLine(stages);
  const changes = asks.length > 0 ? "it may change files of the workspace" : "it only reads";
  return [
    `Run: ${line}`,
    `  in:      ${JSON.stringify(root)}, in a sandbox without network; ${changes}`,
    `  time:    at most ${timeoutMs / 1000} s`,
    ...executables.map(({ path, hash }) => `  program: ${JSON.stringify(path)}, sha256 ${hash}`),
    ...asks.map((reason) => `  asks:    ${reason}`),
    ...(/[^\0-\x7f]/.test(line) ? ["  beware:  it holds characters that may look like others"] : []),
    ...(digest === null ? [] : [showDigest(digest)]),
    ...scripts.flatMap(showScript),
  ].join("\n");
}

export function commandLine(stages: ShownCommand["stages"]): string {
  return stages.map((words) => words.map(quoteWord).join(" ")).join(" | ");
}

function quoteWord(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./^-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

function showDigest({ entries, hash }: WorkspaceDigest): string {
  return `  bound:   it may read files that are not shown here; it runs only while all ${entries} entries of the workspace stay as they are, fingerprint ${hash}`;
}

function showScript({ path, bytes, hash }: ScriptFile): readonly string[] {
  const heading = `  reads:   ${JSON.stringify(path)}, ${bytes.length} bytes, sha256 ${hash}`;
  if (bytes.includes(0)) return [heading];
  const text = bytes.toString("utf8");
  const unseen = countUnseen(text);
  return [
    heading,
    ...(unseen === 0 ? [] : [`  beware:  ${unseen} control or invisible characters in it`]),
    ...text.split("\n").map((row) => `| ${row}`),
  ];
}
