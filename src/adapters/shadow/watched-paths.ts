/** Which paths are watched: below the configured ones, without what is ignored; of a repository only what says what it does. */
import { relative } from "node:path";
import ignore from "ignore";
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

/** Asked several times for each change, so patterns are compiled once. They mean what they mean in .gitignore. */
export function watchedPaths({ roots, excluded, ignore: patterns, git }: WatchOrders): (path: string) => boolean {
  const ignored = ignore().add([...patterns]);
  const innermost = [...roots].sort((a, b) => b.length - a.length);
  return (path) => {
    const root = innermost.find((each) => isWithin(path, each));
    if (root === undefined) return false;
    // A root inside what is excluded is an exception to it.
    if (excluded.some((each) => isWithin(path, each) && !isWithin(root, each))) return false;
    const place = placeInGit(path);
    if (place !== null) return git.length > 0 && (place.file === "" || OF_GIT.test(place.file));
    return path === root || !ignored.ignores(relative(root, path));
  };
}
