/** Which paths are watched: below the configured ones, without what is ignored; of a repository only what says what it does. */
import { basename, matchesGlob, relative } from "node:path";
import type { WatchOrders } from "../../assistant/shadow/trouble.ts";
import { isWithin } from "./guarded-read.ts";

const OF_GIT = /^(?:index|HEAD|logs|logs\/HEAD|logs\/refs|logs\/refs\/remotes(?:\/.*)?)$/;

export interface PlaceInGit {
  /** The directory that holds `.git`. */
  readonly repository: string;
  /** Empty: `.git` itself. */
  readonly file: string;
}

/** Null: the path is not git's own. */
export function placeInGit(path: string): PlaceInGit | null {
  const found = /^(.*?)\/\.git(?:\/(.*))?$/.exec(path);
  const [, repository = "", file = ""] = found ?? [];
  return found === null ? null : { repository: repository === "" ? "/" : repository, file };
}

export function isWatched(path: string, { roots, excluded, ignore, git }: WatchOrders): boolean {
  const root = roots.filter((each) => isWithin(path, each)).sort((a, b) => b.length - a.length)[0];
  if (root === undefined) return false;
  // A root inside what is excluded is an exception to it.
  if (excluded.some((each) => isWithin(path, each) && !isWithin(root, each))) return false;
  const place = placeInGit(path);
  if (place !== null) return git.length > 0 && (place.file === "" || OF_GIT.test(place.file));
  return path === root || !isIgnored(relative(root, path), ignore);
}

/** A pattern without a slash fits a name at any depth; what lies in a directory that fits is ignored, too. */
function isIgnored(path: string, patterns: readonly string[]): boolean {
  const steps = path.split("/");
  const paths = steps.map((_, index) => steps.slice(0, index + 1).join("/"));
  return patterns.some((pattern) =>
    paths.some((each) => matchesGlob(pattern.includes("/") ? each : basename(each), pattern)),
  );
}
