/**
 * git, whose options before the subcommand can name any program: almost all of them are refused.
 *
 * J1. Only the subcommands of `git-rules.ts` run. Whether one that reads is harmless also depends on the repository's
 *     configuration, which is for `inspect-repository.ts` to say.
 */

import type { Classification } from "./classification.ts";
import { classifyByRules } from "./classify-by-rules.ts";
import { commandRefused, quoted } from "./command-refused.ts";
import { GIT_ASKING, GIT_LISTING, GIT_READING } from "./git-rules.ts";

const HARMLESS =
  /^(?:--no-pager|-P|--no-optional-locks|--no-replace-objects|--(?:literal|glob|noglob|icase)-pathspecs)$/;

export function classifyGit(args: readonly string[]): Classification {
  const first = args.findIndex((word) => !HARMLESS.test(word));
  const before = first === -1 ? args : args.slice(0, first);
  const [subcommand, ...rest] = args.slice(before.length);
  if (subcommand === undefined || (subcommand === "--version" && rest.length === 0))
    return { args, asks: [], paths: [] };
  if (subcommand === "-C") return judgeElsewhere(before, rest);
  if (subcommand.startsWith("-")) {
    throw commandRefused(`git's ${quoted(subcommand)} before the subcommand can name programs to start`);
  }
  const { args: given, asks, paths } = judgeSubcommand(subcommand, rest);
  return { args: [...before, subcommand, ...given], asks, paths };
}

function judgeElsewhere(before: readonly string[], [directory = ".", ...rest]: readonly string[]): Classification {
  const { args, asks, paths } = classifyGit(rest);
  return {
    args: [...before, "-C", directory, ...args],
    asks: [...asks, "it works on another repository"],
    paths: [directory, ...paths],
  };
}

function judgeSubcommand(name: string, args: readonly string[]): Classification {
  const reading = GIT_READING.get(name);
  if (reading !== undefined) {
    const judged = classifyByRules(`git ${name}`, reading, args);
    const isListing = !GIT_LISTING.has(name) || args.every((word) => word.startsWith("-"));
    return isListing ? judged : { ...judged, asks: [...judged.asks, `git ${name} with a name may change it`] };
  }
  const asking = GIT_ASKING.get(name);
  if (asking === undefined) throw commandRefused(`git ${quoted(name)} is none of the subcommands that are known here`);
  const { args: given, paths } = classifyByRules(`git ${name}`, asking, args);
  return { args: given, asks: [`git ${name} changes the repository`], paths };
}
