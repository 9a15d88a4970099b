/**
 * Classifies git. Options before the subcommand can name any program, so almost all are refused. So are subcommands listed
 * nowhere: git would run them as an alias or as a program of that name. Attributes and configuration may name programs for
 * diffs and conversions; options we add keep git from starting them. Reading commands do not enter submodules, whose own
 * configuration our settings cannot override. Whether a reading subcommand is harmless also depends on the repository's
 * configuration (`inspect-repository.ts`).
 */
import { type Classification, commandRefused, quoted } from "./classification.ts";
import { type CommandRules, classifyByRules, type ReadOptions } from "./read-options.ts";

const EXECUTES = "--ext-diff --textconv --output --show-signature";
const DIFF_LONG =
  "patch no-patch raw stat=? numstat shortstat summary name-only name-status dirstat=? patch-with-stat unified= " +
  "no-renames find-renames=? find-copies=? find-copies-harder color=? no-color color-words=? word-diff=? " +
  "word-diff-regex= ignore-all-space ignore-space-change ignore-space-at-eol ignore-blank-lines function-context " +
  "minimal patience histogram diff-algorithm= diff-filter= exit-code quiet relative=? text full-index binary abbrev=? " +
  "no-abbrev check inter-hunk-context= src-prefix= dst-prefix= no-prefix no-ext-diff no-textconv compact-summary " +
  "color-moved=? pickaxe-regex pickaxe-all";
const LOG_LONG =
  "oneline graph all branches=? tags=? remotes=? decorate=? no-decorate decorate-refs= max-count= skip= since= after= " +
  "until= before= author= committer= grep= all-match invert-grep regexp-ignore-case extended-regexp fixed-strings " +
  "perl-regexp merges no-merges first-parent reverse follow format=? pretty=? abbrev-commit no-abbrev-commit date= " +
  "relative-date parents children left-right cherry-pick cherry-mark topo-order date-order author-date-order " +
  "full-history simplify-merges ancestry-path source no-notes use-mailmap no-mailmap full-diff boundary walk-reflogs " +
  "count not";

const LOG: CommandRules = {
  flags: "psuwbzRatcmgiEFPW",
  values: "nSGUlL",
  paths: "O",
  attached: "MCBX",
  isNumeric: true,
  long: `${DIFF_LONG} ${LOG_LONG}`,
  forbidden: EXECUTES,
  refine: refuseSignatures,
  adds: ["--no-ext-diff", "--no-textconv"],
};
const LISTING = {
  long:
    "all verbose remotes show-current list contains= no-contains= merged= no-merged= points-at= sort= format= color=? " +
    "no-color column=? no-column abbrev=? ignore-case",
  operands: "texts",
  refine: refuseSignatures,
} as const;

export const GIT_READING: ReadonlyMap<string, CommandRules> = new Map(
  Object.entries<CommandRules>({
    blame: {
      flags: "lstfnepwbc",
      values: "L",
      paths: "S",
      attached: "MC",
      long:
        "root show-stats score-debug show-name show-number porcelain line-porcelain show-email ignore-rev= date= " +
        "abbrev=? color-lines color-by-age contents=@ no-progress no-textconv",
      forbidden: EXECUTES,
      adds: ["--no-textconv"],
    },
    branch: { ...LISTING, flags: "avri" },
    "cat-file": {
      flags: "epts",
      long: "batch=? batch-check=? batch-all-objects buffer unordered",
      forbidden: "--textconv --filters",
    },
    describe: {
      // Without `dirty` and `broken`: they read submodules by the submodules' own configuration.
      long: "contains all tags long first-parent abbrev=? exact-match candidates= match= exclude= always",
    },
    diff: {
      ...LOG,
      flags: "psuwbzRatcmW",
      values: "SGUl",
      long: `${DIFF_LONG} cached staged merge-base no-index`,
      // A submodule's status would be read by its own configuration.
      adds: ["--no-ext-diff", "--no-textconv", "--ignore-submodules=all"],
    },
    grep: {
      flags: "viwaIrEGFPnhHlLzcopWq",
      values: "eABCm",
      paths: "f",
      isNumeric: true,
      long:
        "cached untracked invert-match ignore-case word-regexp text recursive no-recursive max-depth= extended-regexp " +
        "basic-regexp fixed-strings perl-regexp line-number column full-name files-with-matches name-only " +
        "files-without-match null only-matching count color=? no-color break heading context= before-context= " +
        "after-context= show-function function-context and or not quiet all-match max-count= no-index exclude-standard",
      forbidden: "-O --open-files-in-pager --textconv",
      operands: "pattern",
      patternBy: "e f",
    },
    log: LOG,
    "ls-files": {
      flags: "ztvcdmoisku",
      values: "x",
      paths: "X",
      long:
        "cached deleted modified others ignored stage killed directory eol no-empty-directory unmerged exclude= " +
        "exclude-from=@ exclude-standard full-name error-unmatch abbrev=? deduplicate",
    },
    "ls-tree": { flags: "drtlz", long: "long name-only name-status full-name full-tree object-only abbrev=?" },
    "merge-base": { flags: "a", long: "all is-ancestor fork-point octopus independent" },
    remote: { flags: "v", long: "verbose", operands: "texts" },
    "rev-list": { values: "n", isNumeric: true, long: LOG_LONG, refine: refuseSignatures },
    "rev-parse": {
      flags: "q",
      long:
        "abbrev-ref=? short=? verify quiet show-toplevel show-prefix show-cdup is-inside-work-tree is-bare-repository " +
        "git-dir all branches=? tags=? symbolic symbolic-full-name",
    },
    shortlog: {
      flags: "nsec",
      attached: "w",
      long: `numbered summary email committer group= ${LOG_LONG}`,
      refine: refuseSignatures,
    },
    show: LOG,
    status: {
      flags: "vsbz",
      attached: "uM",
      long:
        "short branch show-stash ahead-behind no-ahead-behind porcelain=? long verbose null untracked-files=? ignored=? " +
        "column=? no-column no-renames renames find-renames=?",
      adds: ["--ignore-submodules=all"],
    },
    tag: { ...LISTING, flags: "li", attached: "n" },
  }),
);

/** Without an operand they list; with one they create, change or contact a host. */
const GIT_LISTING: ReadonlySet<string> = new Set(["branch", "remote", "tag"]);

const ASKING: CommandRules = { forbidden: `--exec --template --upload-pack --receive-pack ${EXECUTES}` };
export const GIT_ASKING: ReadonlyMap<string, CommandRules> = new Map<string, CommandRules>([
  ...["add", "apply", "checkout", "cherry-pick", "clean", "commit", "config", "fsck", "gc", "init", "merge", "mv"].map(
    (name) => [name, ASKING] as const,
  ),
  ...["notes", "reflog", "reset", "restore", "revert", "rm", "stash", "switch", "worktree"].map(
    (name) => [name, ASKING] as const,
  ),
  ["rebase", { ...ASKING, forbidden: `-x ${ASKING.forbidden}` }],
]);

function refuseSignatures({ values }: ReadOptions): void {
  if (values.some(([, value]) => /%G|%\(signature/.test(value))) {
    throw commandRefused("this format starts another program to check signatures");
  }
}

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
