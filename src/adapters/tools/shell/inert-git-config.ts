/**
 * Can this repository's configuration start no program? Only what is listed is believed: filters, diff and merge
 * drivers, aliases, includes, other work trees and lazily fetched objects are not.
 *
 * A line that git might read in another way than these patterns makes the whole file suspect.
 */
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

/** A section, a key, or a comment; nothing that goes on in the next line. */
const LINE =
  /^[ \t]*(?:\[(?<section>[A-Za-z]+)(?: "[^"\\]*")?\]|(?<key>[A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[^\r\\]*)?|[#;][^\r\\]*)?$/;

export function isInertGitConfig(text: string): boolean {
  let keys: readonly string[] = [];
  for (const line of text.split("\n")) {
    const match = LINE.exec(line.trimEnd());
    if (match === null) return false;
    const { section, key } = match.groups ?? {};
    if (section !== undefined) keys = KEYS.get(section.toLowerCase()) ?? [];
    // A section nobody knows holds no key that is known.
    if (key !== undefined && !keys.includes(key.toLowerCase())) return false;
  }
  return true;
}
