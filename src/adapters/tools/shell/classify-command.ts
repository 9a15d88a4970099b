/**
 * Classifies a command by its words, the allowlist and the workspace's path: refused, needs approval, or only reads. It
 * only reads if a table lists every option and all its paths are in the workspace. Interpreters, wrappers and commands
 * without a table need approval.
 */
import { posix } from "node:path";
import { type Classification, commandRefused, quoted } from "./classification.ts";
import { classifyGit } from "./classify-git.ts";
import { COMMAND_RULES } from "./command-rules.ts";
import { startsPrograms } from "./program-kinds.ts";
import { classifyByRules } from "./read-options.ts";

export interface ClassifiedCommand extends Classification {
  readonly name: string;
  /** A table describes its options. */
  readonly isKnown: boolean;
}

interface Bounds {
  readonly allow: readonly string[];
  /** The workspace, and the current directory. */
  readonly root: string;
}

export function classifyCommand([name = "", ...args]: readonly string[], { allow, root }: Bounds): ClassifiedCommand {
  refuseName(name, allow);
  const classified = classifyKnown(name, args);
  if (classified === null) {
    const why = startsPrograms(name) ? "starts other programs" : "is an unknown command and may change files";
    return { name, args, asks: [`${name} ${why}`], paths: [], isKnown: false };
  }
  const outside = classified.paths.find((path) => !isWithin(root, path));
  if (outside !== undefined) {
    throw commandRefused(`${quoted(outside)} is outside the workspace: use paths inside it`);
  }
  return { name, ...classified, isKnown: true };
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._+-]*$/;
const MAX_NAMES_SHOWN = 60;

function refuseName(name: string, allow: readonly string[]): void {
  if (/^[A-Za-z_]\w*=/.test(name)) throw commandRefused("it sets a variable, but the environment is fixed");
  if (name.includes("/")) throw commandRefused(`${quoted(name)} is a path: call an allowed command by its name`);
  if (["cd", "pushd"].includes(name))
    throw commandRefused("every command starts in the workspace: use paths relative to it");
  if (NAME.test(name) && allow.includes(name)) return;
  const allowed = allow.slice(0, MAX_NAMES_SHOWN).join(", ") || "none";
  const how = NAME.test(name) ? ` Allow it: surety config add tools.shell.allow ${name}.` : "";
  throw commandRefused(`${quoted(name)} is not in tools.shell.allow.${how} Allowed now: ${allowed}`);
}

function classifyKnown(name: string, args: readonly string[]): Classification | null {
  // They only print their words.
  if (name === "echo" || name === "printf") return { args, asks: [], paths: [] };
  if (name === "find") return classifyFind(args);
  if (name === "git") return classifyGit(args);
  const rules = COMMAND_RULES.get(name);
  if (rules === undefined) return null;
  if (name !== "tar") return classifyByRules(name, rules, args);
  return { ...classifyByRules(name, rules, withDashes(args)), args };
}

/** tar's bundle without a dash takes its values from the following words, in order. */
function withDashes([bundle = "", ...words]: readonly string[]): readonly string[] {
  if (bundle.startsWith("-") || bundle === "") return [bundle, ...words];
  const rest = [...words];
  const spread = [...bundle].flatMap((letter) => [
    `-${letter}`,
    ...("bCfFgHIKLNTVX".includes(letter) ? rest.splice(0, 1) : []),
  ]);
  return [...spread, ...rest];
}

/** By text alone. Only the sandbox follows links, and it shows only the workspace. */
export function isWithin(root: string, path: string): boolean {
  if (path === "-" || path === "/dev/null") return true;
  const resolved = posix.resolve(root, path);
  return resolved === root || resolved.startsWith(`${root}/`);
}

/** find's arguments are an expression. A word that deletes, executes or writes is refused even as a test's value. */
const FIND_FORBIDDEN = /^-(?:delete|exec(?:dir)?|ok(?:dir)?|fprint0?|fprintf|fls)$/;

const FIND_ALONE = new Set(
  (
    "-H -L -P ( ) ! , -not -a -and -o -or -true -false -daystart -depth -d -follow -mount -xdev -x -noleaf -warn -nowarn " +
    "-ignore_readdir_race -noignore_readdir_race -empty -nouser -nogroup -readable -writable -executable -print -print0 " +
    "-ls -prune -quit --help --version"
  ).split(" "),
);
const FIND_WITH_VALUE = new Set(
  (
    "-maxdepth -mindepth -regextype -amin -atime -cmin -ctime -mmin -mtime -fstype -gid -group -uid -user -lname -ilname " +
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -inum -links -perm -size -type -xtype -used -printf"
  ).split(" "),
);
const FIND_WITH_PATH = /^-(?:anewer|cnewer|newer|samefile|newer[aBcm][aBcm])$/;

function classifyFind(args: readonly string[]): Classification {
  const forbidden = args.find((word) => FIND_FORBIDDEN.test(word));
  if (forbidden !== undefined) throw commandRefused(`find ${forbidden} deletes, executes or writes`);
  const asks: string[] = [];
  const paths: string[] = [];
  const rest = [...args];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (FIND_ALONE.has(word)) continue;
    if (FIND_WITH_VALUE.has(word)) rest.shift();
    else if (FIND_WITH_PATH.test(word)) paths.push(rest.shift() ?? ".");
    else if (word.startsWith("-")) asks.push(`find has the unknown test ${word}`);
    else paths.push(word);
  }
  return { args, asks, paths };
}
