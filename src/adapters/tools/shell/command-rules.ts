/**
 * The options and operands of commands that read.
 *
 * C1. An option is listed only if the command, with any value of it, writes nothing and starts no other program.
 * C2. A forbidden option is refused for everyone; an option in neither list needs approval.
 */
import { commandRefused, quoted } from "./classification.ts";
import type { CommandRules, ReadOptions } from "./read-options.ts";

const HELP = "help version";
const CHECKSUM: CommandRules = {
  flags: "bctzw",
  long: `binary check tag text zero ignore-missing quiet status strict warn ${HELP}`,
};

export const COMMAND_RULES: ReadonlyMap<string, CommandRules> = new Map(
  Object.entries<CommandRules>({
    basename: { flags: "az", values: "s", long: `multiple suffix= zero ${HELP}`, operands: "texts" },
    cat: {
      flags: "AbeEnstTuv",
      long: `show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting ${HELP}`,
    },
    cmp: { flags: "blsv", values: "in", long: `print-bytes ignore-initial= verbose bytes= quiet silent ${HELP}` },
    comm: { flags: "123z", long: `check-order nocheck-order output-delimiter= total zero-terminated ${HELP}` },
    cut: {
      flags: "nsz",
      values: "bcdf",
      long: `bytes= characters= delimiter= fields= complement only-delimited output-delimiter= zero-terminated ${HELP}`,
    },
    date: {
      flags: "Ru",
      values: "d",
      paths: "fr",
      attached: "I",
      long: `date= debug file=@ iso-8601=? resolution rfc-email rfc-3339= reference=@ utc universal ${HELP}`,
      forbidden: "-s --set",
      operands: "texts",
      refine: refuseSettingTheClock,
    },
    diff: {
      flags: "qscuenyptTrNiEZbwBadv",
      values: "CUWFxIL",
      paths: "XS",
      isNumeric: true,
      long:
        "normal brief report-identical-files context=? unified=? ed rcs side-by-side width= left-column " +
        "suppress-common-lines show-c-function show-function-line= label= expand-tabs initial-tab tabsize= " +
        "suppress-blank-empty recursive no-dereference new-file unidirectional-new-file ignore-file-name-case " +
        "no-ignore-file-name-case exclude= exclude-from=@ starting-file= from-file=@ to-file=@ ignore-case " +
        "ignore-tab-expansion ignore-trailing-space ignore-space-change ignore-all-space ignore-blank-lines " +
        `ignore-matching-lines= text strip-trailing-cr minimal horizon-lines= speed-large-files color=? ${HELP}`,
      // Starts another program for its output.
      forbidden: "-l --paginate",
    },
    dirname: { flags: "z", long: `zero ${HELP}`, operands: "texts" },
    du: {
      flags: "0abcDHhklLmPSsx",
      values: "Bdt",
      paths: "X",
      long:
        "null all apparent-size block-size= bytes total dereference-args max-depth= human-readable inodes dereference " +
        "count-links no-dereference separate-dirs si summarize threshold= time=? time-style= exclude-from=@ exclude= " +
        `one-file-system ${HELP}`,
    },
    file: {
      flags: "bikLhnN0rd",
      values: "eFP",
      long:
        "brief mime apple extension mime-type mime-encoding keep-going dereference no-dereference no-buffer no-pad " +
        `print0 raw exclude= exclude-quiet= separator= parameter= ${HELP}`,
      forbidden: "-C --compile",
    },
    grep: {
      flags: "EFGPiywxzsvVbnHhoqaIrRLlcTZU",
      values: "emABCdD",
      paths: "f",
      isNumeric: true,
      long:
        "extended-regexp fixed-strings basic-regexp perl-regexp regexp= file=@ ignore-case no-ignore-case word-regexp " +
        "line-regexp null-data no-messages invert-match max-count= byte-offset line-number line-buffered with-filename " +
        "no-filename label= only-matching quiet silent binary-files= text directories= devices= recursive " +
        "dereference-recursive include= exclude= exclude-from=@ exclude-dir= files-without-match files-with-matches " +
        "count initial-tab null before-context= after-context= context= group-separator= no-group-separator color=? " +
        `colour=? binary ${HELP}`,
      operands: "pattern",
      patternBy: "e f regexp file",
    },
    head: {
      flags: "qvz",
      values: "cn",
      isNumeric: true,
      long: `bytes= lines= quiet silent verbose zero-terminated ${HELP}`,
    },
    jq: {
      flags: "cnesrRCMSajhV",
      paths: "fL",
      long:
        "compact-output null-input exit-status slurp raw-output raw-input color-output monochrome-output sort-keys " +
        `ascii-output join-output tab indent= stream seq from-file=@ ${HELP}`,
      operands: "pattern",
      patternBy: "f from-file",
    },
    ls: {
      flags: "aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1",
      values: "ITw",
      long:
        "all almost-all author escape block-size= ignore-backups color=? directory dired classify=? file-type format= " +
        "full-time group-directories-first no-group human-readable si dereference-command-line " +
        "dereference-command-line-symlink-to-dir hide= hyperlink=? indicator-style= inode ignore= kibibytes dereference " +
        "numeric-uid-gid literal hide-control-chars show-control-chars quote-name quoting-style= reverse recursive size " +
        `sort= time= time-style= tabsize= width= context zero ${HELP}`,
    },
    md5sum: CHECKSUM,
    nl: {
      flags: "p",
      values: "bdfhilnsvw",
      long:
        "body-numbering= section-delimiter= footer-numbering= header-numbering= line-increment= join-blank-lines= " +
        `number-format= no-renumber number-separator= starting-line-number= number-width= ${HELP}`,
    },
    pwd: { flags: "LP", long: HELP, operands: "texts" },
    readlink: {
      flags: "femnqsvz",
      long: "canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose zero " + HELP,
    },
    realpath: {
      flags: "emLPqsz",
      long:
        "canonicalize-existing canonicalize-missing logical physical quiet relative-to=@ relative-base=@ strip " +
        `no-symlinks zero ${HELP}`,
    },
    rg: {
      flags: "acFhHiIlLnNopPqsSUuvVwx0",
      values: "ABCdEegjMmrtT",
      paths: "f",
      long:
        "after-context= before-context= context= case-sensitive color= colors= column count count-matches crlf " +
        "encoding= regexp= file=@ files files-with-matches files-without-match fixed-strings follow glob= " +
        "glob-case-insensitive heading help hidden iglob= ignore-case ignore-file=@ invert-match json line-number " +
        "line-regexp max-columns= max-count= max-depth= max-filesize= multiline multiline-dotall no-filename no-heading " +
        "no-ignore no-ignore-vcs no-line-number no-messages null only-matching passthru pcre2 pretty quiet replace= " +
        "smart-case sort= sortr= stats text threads= trim type= type-not= type-list unrestricted version vimgrep " +
        "with-filename word-regexp",
      forbidden: "--pre --hostname-bin",
      operands: "pattern",
      patternBy: "e f regexp file files type-list",
    },
    sed: {
      flags: "nErsuz",
      values: "el",
      long: `quiet silent debug expression= line-length= posix regexp-extended sandbox separate unbuffered null-data ${HELP}`,
      forbidden: "-i --in-place -f --file",
      operands: "pattern",
      patternBy: "e expression",
      refine: refuseSedPrograms,
      adds: ["--sandbox"],
    },
    sha1sum: CHECKSUM,
    sha256sum: CHECKSUM,
    sha512sum: CHECKSUM,
    sort: {
      flags: "bdfgiMhnRrVcCmsuz",
      values: "kSt",
      long:
        "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort " +
        "human-numeric-sort numeric-sort random-sort random-source=@ reverse sort= version-sort batch-size= check=? " +
        `debug key= merge stable buffer-size= field-separator= parallel= unique zero-terminated ${HELP}`,
      forbidden: "-o --output --compress-program",
    },
    stat: { flags: "Lft", values: "c", long: `dereference file-system cached= format= printf= terse ${HELP}` },
    tac: { flags: "br", values: "s", long: `before regex separator= ${HELP}` },
    tail: {
      flags: "qvz",
      values: "cn",
      isNumeric: true,
      long: `bytes= lines= quiet silent verbose zero-terminated ${HELP}`,
    },
    tar: {
      flags: "tvzjJZaikhnR",
      values: "bK",
      paths: "fCX",
      long:
        "list verbose gzip bzip2 xz zstd auto-compress ignore-zeros numeric-owner full-time utc wildcards no-wildcards " +
        `file=@ directory=@ exclude= exclude-from=@ strip-components= show-stored-names totals=? to-stdout ${HELP}`,
      // A list of names (-T) may hold options; a name with a colon is fetched by another program.
      forbidden:
        "-I -F -T --use-compress-program --info-script --new-volume-script --checkpoint-action --to-command " +
        "--rsh-command --rmt-command --index-file --volno-file --files-from",
      operands: "texts",
      refine: refuseRemoteArchives,
    },
    tr: { flags: "cCdst", long: `complement delete squeeze-repeats truncate-set1 ${HELP}`, operands: "texts" },
    tree: {
      flags: "adfilxqNQpughDFvtcUrnCASsJX",
      values: "LPIT",
      long:
        "all noreport dirsfirst filesfirst prune gitignore matchdirs ignore-case metafirst du si inodes device " +
        `sort=? filelimit= timefmt= charset= ${HELP}`,
      // -R writes a file into every directory.
      forbidden: "-o -R",
    },
    uniq: {
      flags: "cdDiuz",
      values: "fsw",
      long:
        "count repeated all-repeated=? skip-fields= group=? ignore-case skip-chars= unique zero-terminated " +
        `check-chars= ${HELP}`,
      refine: refuseSecondOperand,
    },
    wc: { flags: "cmlLw", long: `bytes chars lines max-line-length words total= ${HELP}` },
  }),
);

function refuseSettingTheClock({ operands }: ReadOptions): void {
  if (operands.some((operand) => !operand.startsWith("+")))
    throw commandRefused("date with this operand sets the clock");
}

function refuseSecondOperand({ operands }: ReadOptions): void {
  if (operands.length > 1) throw commandRefused("uniq writes to its second operand: pass one operand only");
}

function refuseRemoteArchives({ values }: ReadOptions): void {
  const remote = values.find(([option, value]) => ["f", "file"].includes(option) && value.includes(":"));
  if (remote !== undefined) throw commandRefused(`tar would fetch ${quoted(remote[1])} from another host`);
}

function refuseSedPrograms({ values, operands }: ReadOptions): void {
  const given = values.flatMap(([option, value]) => (["e", "expression"].includes(option) ? [value] : []));
  const scripts = given.length > 0 ? given : operands.slice(0, 1);
  const odd = scripts.find((script) => !isPlainSedScript(script));
  if (odd === undefined) return;
  throw commandRefused(
    `sed's ${quoted(odd)} could execute or write. Allowed: s/…/…/ with the flags g, i, p and numbers, y/…/…/ and ` +
      "= d D g G h H l n N p P q Q x, each with an address before it, joined by ;",
  );
}

/**
 * sed scripts that only print, in a small grammar that every sed parses alike. Anything else may be `e`, `w`, `r`, or a
 * flag of `s` that executes or writes. A bracket expression may hold neither the delimiter nor a backslash: seds disagree
 * on where such an `s` ends.
 */
const ADDRESS = String.raw`(?:\d+(?:~\d+)?|\$|/(?:\[[^\]/\\]*\]|\\.|[^/\\[])+/I?)`;
const PREFIX = String.raw`(?:${ADDRESS}(?:,(?:${ADDRESS}|\+\d+))?\s*(?:!\s*)?)?`;
const DELIMITER = "(?<mark>[/|#,:@%])";
const PART = String.raw`(?:\[(?:(?!\k<mark>)[^\]\\])*\]|\\.|(?!\k<mark>)[^\\[])*`;
const SUBSTITUTION = String.raw`[sy]${DELIMITER}${PART}\k<mark>${PART}\k<mark>[gpiI\d]*`;
const COMMAND = new RegExp(String.raw`\s*${PREFIX}(?:${SUBSTITUTION}|[=dDgGhHlnNpPxqQ])\s*(?:;|$)`, "uy");

export function isPlainSedScript(script: string): boolean {
  let index = 0;
  while (index < script.length) {
    COMMAND.lastIndex = index;
    const [matched] = COMMAND.exec(script) ?? [];
    if (matched === undefined) return false;
    index += matched.length;
  }
  return script !== "";
}
