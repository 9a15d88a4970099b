/**
 * What an approver reads of a command, as it would be typed and never shortened. Words that a shell would split or change
 * are quoted. Scripts are shown whole, each line behind a bar, so that no text can imitate the frame around it.
 */
import { countInvisible } from "../fs/invisible-characters.ts";
import type { WorkspaceDigest } from "./digest-workspace.ts";
import type { Executable } from "./find-executable.ts";
import type { ScriptFile } from "./read-scripts.ts";

export interface ShownCommand {
  readonly stages: readonly (readonly [name: string, ...args: readonly string[]])[];
  readonly executables: readonly Executable[];
  readonly root: string;
  readonly asks: readonly string[];
  readonly scripts: readonly ScriptFile[];
  /** Set if the command may read any file of the workspace. */
  readonly digest: WorkspaceDigest | null;
  readonly timeoutMs: number;
}

export function showCommand({ stages, executables, root, asks, scripts, digest, timeoutMs }: ShownCommand): string {
  const line = commandLine(stages);
  const changes = asks.length > 0 ? "it may change files" : "it only reads";
  return [
    `Run: ${line}`,
    `  in:      ${JSON.stringify(root)}, in a sandbox without network; ${changes}`,
    `  time:    at most ${timeoutMs / 1000} s`,
    ...executables.map(({ path, hash }) => `  program: ${JSON.stringify(path)}, sha256 ${hash}`),
    ...asks.map((reason) => `  because: ${reason}`),
    ...(/[^\0-\x7f]/.test(line) ? ["  warning: it contains characters that look like others"] : []),
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
  return `  note:    It may read files not shown here. The approval lapses if any workspace file changes first (${entries} entries, sha256 ${hash}).`;
}

function showScript({ path, bytes, hash }: ScriptFile): readonly string[] {
  const heading = `  reads:   ${JSON.stringify(path)}, ${bytes.length} bytes, sha256 ${hash}`;
  if (bytes.includes(0)) return [heading];
  const text = bytes.toString("utf8");
  const invisible = countInvisible(text);
  return [
    heading,
    ...(invisible === 0 ? [] : [`  warning: ${invisible} control or invisible characters in it`]),
    ...text.split("\n").map((row) => `| ${row}`),
  ];
}
