/**
 * git's subcommands: those that read, with their options, and those that need approval.
 *
 * G1. Other subcommands are refused: git would run them as an alias or as a program of that name.
 * G2. Attributes and configuration may name programs for diffs and conversions. Options we add keep git from starting
 *     them; options that would start them are forbidden.
 * G3. Reading commands do not enter submodules, whose own configuration our settings cannot override. An option that
 *     would, and cannot be disabled, is not listed, so it needs approval.
 */
import { commandRefused } from "./classification.ts";
import type { CommandRules, ReadOptions } from "./read-options.ts";

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
export const GIT_LISTING: ReadonlySet<string> = new Set(["branch", "remote", "tag"]);

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
