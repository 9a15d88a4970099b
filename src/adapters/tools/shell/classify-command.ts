/**
 * May this command run, and does it only read? Decided from its words, the allowlist and the workspace's path alone.
 *
 * J1. What is not allowlisted, by its bare name, is refused. So is a path: what a name means is for us to find out.
 * J2. It only reads when a table says so for every option, and every path it names is in the workspace.
 * J3. Interpreters, wrappers and all commands without a table have to be asked for.
 */
import { posix } from "node:path";
import type { Classification } from "./classification.ts";
import { classifyByRules } from "./classify-by-rules.ts";
import { classifyFind } from "./classify-find.ts";
import { classifyGit } from "./classify-git.ts";
import { commandRefused, quoted } from "./command-refused.ts";
import { COMMAND_RULES } from "./command-rules.ts";
import { startsPrograms } from "./program-kinds.ts";

export interface ClassifiedCommand extends Classification {
  readonly name: string;
  /** A table says what its words mean. */
  readonly isKnown: boolean;
}

interface Bounds {
  readonly allow: readonly string[];
  /** The workspace, which is the current directory as well. */
  readonly root: string;
}

export function classifyCommand([name = "", ...args]: readonly string[], { allow, root }: Bounds): ClassifiedCommand {
  refuseName(name, allow);
  const judged = judgeKnown(name, args);
  if (judged === null) {
    const why = startsPrograms(name) ? "starts other programs" : "may change things: nothing is known of its options";
    return { name, args, asks: [`${name} ${why}`], paths: [], isKnown: false };
  }
  const outside = judged.paths.find((path) => !isWithin(root, path));
  if (outside !== undefined) {
    throw commandRefused(`${quoted(outside)} is outside of the workspace, where commands start: name files in it`);
  }
  return { name, ...judged, isKnown: true };
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._+-]*$/;
const MAX_NAMES_SHOWN = 60;

function refuseName(name: string, allow: readonly string[]): void {
  if (/^[A-Za-z_]\w*=/.test(name)) throw commandRefused("it sets a variable: the environment of commands is fixed");
  if (name.includes("/")) throw commandRefused(`${quoted(name)} is a path: call an allowed command by its name`);
  if (["cd", "pushd"].includes(name))
    throw commandRefused("every command starts in the workspace: use paths from there");
  if (NAME.test(name) && allow.includes(name)) return;
  const allowed = allow.slice(0, MAX_NAMES_SHOWN).join(", ") || "none";
  throw commandRefused(`${quoted(name)} is not one of the allowed commands (tools.shell.allow): ${allowed}`);
}

function judgeKnown(name: string, args: readonly string[]): Classification | null {
  // They print their words, options among them; a shell's own echo reads no other.
  if (name === "echo" || name === "printf") return { args, asks: [], paths: [] };
  if (name === "find") return classifyFind(args);
  if (name === "git") return classifyGit(args);
  const rules = COMMAND_RULES.get(name);
  if (rules === undefined) return null;
  if (name !== "tar") return classifyByRules(name, rules, args);
  return { ...classifyByRules(name, rules, withDashes(args)), args };
}

/** tar's letters without a dash take their values from the words that follow, in order. */
function withDashes([bundle = "", ...words]: readonly string[]): readonly string[] {
  if (bundle.startsWith("-") || bundle === "") return [bundle, ...words];
  const rest = [...words];
  const spread = [...bundle].flatMap((letter) => [
    `-${letter}`,
    ...("bCfFgHIKLNTVX".includes(letter) ? rest.splice(0, 1) : []),
  ]);
  return [...spread, ...rest];
}

/** By its text. Links are followed in the sandbox only, which shows nothing else. */
export function isWithin(root: string, path: string): boolean {
  if (path === "-" || path === "/dev/null") return true;
  const resolved = posix.resolve(root, path);
  return resolved === root || resolved.startsWith(`${root}/`);
}
