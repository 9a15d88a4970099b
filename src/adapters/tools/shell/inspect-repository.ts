/**
 * Can git read this workspace without starting programs that the workspace names?
 *
 * Yes without a repository, or for a plain one whose configuration is inert; git is then shown the very bytes that were
 * checked. A repository elsewhere, a linked work tree, or a configuration in several files: no.
 */
import { lstatSync } from "node:fs";
import { join } from "node:path";
import type { Workspace } from "../fs/workspace.ts";
import { readScript, type ScriptFile } from "./read-scripts.ts";

export interface Repository {
  readonly isInert: boolean;
  readonly config: ScriptFile | null;
}

export async function inspectRepository(workspace: Workspace): Promise<Repository> {
  const statsOf = (name: string) => lstatSync(join(workspace.root, name), { throwIfNoEntry: false });
  const repository = statsOf(".git");
  if (repository === undefined) return { isInert: statsOf("HEAD") === undefined, config: null };
  if (!repository.isDirectory()) return { isInert: false, config: null };
  const config = await readScript(workspace, ".git/config");
  const isPlain = [".git/commondir", ".git/config.worktree"].every((name) => statsOf(name) === undefined);
  return { isInert: isPlain && config !== null && isInertGitConfig(config.bytes.toString("utf8")), config };
}

/** Keys that start no program. Filters, diff and merge drivers, aliases, includes and other work trees are missing. */
const KEYS: ReadonlyMap<string, readonly string[]> = new Map([
  ["branch", ["remote", "merge", "rebase", "description"]],
  ["color", ["ui"]],
  [
    "core",
    [
      ...["repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode"],
      ...["symlinks", "autocrlf", "eol", "safecrlf", "quotepath"],
    ],
  ],
  ["init", ["defaultbranch"]],
  ["pull", ["rebase", "ff"]],
  ["push", ["default"]],
  ["remote", ["url", "fetch", "pushurl"]],
  ["user", ["name", "email"]],
]);

/** A section, a key or a comment, on one line. */
const LINE =
  /^[ \t]*(?:\[(?<section>[A-Za-z]+)(?: "[^"\\]*")?\]|(?<key>[A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[^\r\\]*)?|[#;][^\r\\]*)?$/;

/** A line that git might parse differently makes the whole file suspect. */
export function isInertGitConfig(text: string): boolean {
  let keys: readonly string[] = [];
  for (const line of text.split("\n")) {
    const match = LINE.exec(line.trimEnd());
    if (match === null) return false;
    const { section, key } = match.groups ?? {};
    if (section !== undefined) keys = KEYS.get(section.toLowerCase()) ?? [];
    // An unknown section has no known keys.
    if (key !== undefined && !keys.includes(key.toLowerCase())) return false;
  }
  return true;
}
