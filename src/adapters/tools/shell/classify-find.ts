/**
 * Classifies find, whose arguments are an expression of tests and actions. A word that deletes, executes or writes is
 * refused anywhere, even as another test's value; an unknown test needs approval.
 */
import { type Classification, commandRefused } from "./classification.ts";

const FORBIDDEN = /^-(?:delete|exec(?:dir)?|ok(?:dir)?|fprint0?|fprintf|fls)$/;

const ALONE = new Set(
  (
    "-H -L -P ( ) ! , -not -a -and -o -or -true -false -daystart -depth -d -follow -mount -xdev -x -noleaf -warn -nowarn " +
    "-ignore_readdir_race -noignore_readdir_race -empty -nouser -nogroup -readable -writable -executable -print -print0 " +
    "-ls -prune -quit --help --version"
  ).split(" "),
);
const WITH_VALUE = new Set(
  (
    "-maxdepth -mindepth -regextype -amin -atime -cmin -ctime -mmin -mtime -fstype -gid -group -uid -user -lname -ilname " +
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -inum -links -perm -size -type -xtype -used -printf"
  ).split(" "),
);
const WITH_PATH = /^-(?:anewer|cnewer|newer|samefile|newer[aBcm][aBcm])$/;

export function classifyFind(args: readonly string[]): Classification {
  const forbidden = args.find((word) => FORBIDDEN.test(word));
  if (forbidden !== undefined) throw commandRefused(`find ${forbidden} deletes, executes or writes`);
  const asks: string[] = [];
  const paths: string[] = [];
  const rest = [...args];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (ALONE.has(word)) continue;
    if (WITH_VALUE.has(word)) rest.shift();
    else if (WITH_PATH.test(word)) paths.push(rest.shift() ?? ".");
    else if (word.startsWith("-")) asks.push(`find has the unknown test ${word}`);
    else paths.push(word);
  }
  return { args, asks, paths };
}
