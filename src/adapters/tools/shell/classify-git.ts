/**
 * Classifies git. Options before the subcommand can name any program, so almost all are refused, and so are subcommands
 * that `git-rules.ts` does not list. Whether a reading subcommand is harmless also depends on the repository's
 * configuration (`inspect-repository.ts`).
 */
import { type Classification, commandRefused, quoted } from "./classification.ts";
import { GIT_ASKING, GIT_LISTING, GIT_READING } from "./git-rules.ts";
import { classifyByRules } from "./read-options.ts";

const HARMLESS =
  /^(?:--no-pager|-P|--no-optional-locks|--no-replace-objects|--(?:literal|glob|noglob|icase)-pathspecs)$/;

export function classifyGit(args: readonly string[]): Classification {
  const first = args.findIndex((word) => !HARMLESS.test(word));
  const before = first === -1 ? args : args.slice(0, first);
  const [subcommand, ...rest] = args.slice(before.length);
  if (subcommand === undefined || (subcommand === "--version" && rest.length === 0))
    return { args, asks: [], paths: [] };
  if (subcommand === "-C") return classifyElsewhere(before, rest);
  if (subcommand.startsWith("-")) {
    throw commandRefused(`git with ${quoted(subcommand)} before the subcommand can start other programs`);
  }
  const { args: given, asks, paths } = classifySubcommand(subcommand, rest);
  return { args: [...before, subcommand, ...given], asks, paths };
}

function classifyElsewhere(before: readonly string[], [directory = ".", ...rest]: readonly string[]): Classification {
  const { args, asks, paths } = classifyGit(rest);
  return {
    args: [...before, "-C", directory, ...args],
    asks: [...asks, "it uses another repository"],
    paths: [directory, ...paths],
  };
}

function classifySubcommand(name: string, args: readonly string[]): Classification {
  const reading = GIT_READING.get(name);
  if (reading !== undefined) {
    const classified = classifyByRules(`git ${name}`, reading, args);
    const isListing = !GIT_LISTING.has(name) || args.every((word) => word.startsWith("-"));
    return isListing
      ? classified
      : { ...classified, asks: [...classified.asks, `git ${name} with a name may change it`] };
  }
  const asking = GIT_ASKING.get(name);
  if (asking === undefined) throw commandRefused(`git ${name.slice(0, 64).toWellFormed()} is not a known subcommand`);
  const { args: given, paths } = classifyByRules(`git ${name}`, asking, args);
  return { args: given, asks: [`git ${name} changes the repository`], paths };
}
