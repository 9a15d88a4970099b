/** What stands under a name, without asking where a link leads. */
import type { Dirent } from "node:fs";

export type EntryKind = "file" | "directory" | "symlink" | "other";

export function kindOf(entry: Pick<Dirent, "isFile" | "isDirectory" | "isSymbolicLink">): EntryKind {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "directory";
  return entry.isSymbolicLink() ? "symlink" : "other";
}
