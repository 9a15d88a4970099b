/**
 * Splits the text of a command into the words of its stages, without a shell (S-4.3). A command means here what it
 * means in a shell, or it is refused: special characters we do not support are named in the error and never passed on
 * literally. Invisible and bidirectional characters are refused, also in quotes; outside quotes so are look-alikes of
 * separators, dashes and quotes.
 */
import { firstInvisible } from "../fs/invisible-characters.ts";
import { ToolFailure } from "../tool-failure.ts";
import { commandRefused } from "./classification.ts";

/** Short enough for an approver to read. */
const MAX_COMMAND_BYTES = 8192;
const MAX_STAGES = 8;

/** Punctuation, symbols and spaces beyond ASCII, and full-width ASCII. */
const LOOKALIKE = /(?![\0-\x7f])[\p{P}\p{S}\p{Z}\uff01-\uff5e]/u;

const PIECE = new RegExp(
  [
    /(?<space>[ \t]+)/,
    /(?<pipe>\|(?![|&]))/,
    /'(?<single>[^']*)'/,
    /"(?<double>(?:[^"\\$`]|\\.)*)"/,
    /\\(?<escaped>.)/,
    new RegExp(`(?<plain>(?:(?!${LOOKALIKE.source})[^ \\t|'"\\\\$\`(){}[\\];&<>*?~#!])+)`, "u"),
    // `~` and `#` are special only at the start of a word, `!` unless it is a word.
    /(?<within>(?<![ \t|]|^)[~#]+)/,
    /(?<not>(?<=[ \t])!(?=[ \t]))/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "uy",
);

export function splitCommand(text: string): readonly (readonly string[])[] {
  refuseUnreadable(text);
  const stages: string[][] = [[]];
  let word: string | null = null;
  for (const { space, pipe, ...pieces } of piecesOf(text)) {
    if (space === undefined && pipe === undefined) {
      word = (word ?? "") + characters(pieces);
      continue;
    }
    if (word !== null) stages.at(-1)?.push(word);
    word = null;
    if (pipe !== undefined) stages.push([]);
  }
  if (word !== null) stages.at(-1)?.push(word);
  if (stages.some(({ length }) => length === 0))
    throw malformed(stages.length === 1 ? "is empty" : "has an empty stage");
  if (stages.length > MAX_STAGES) throw malformed(`has more than ${MAX_STAGES} stages`);
  return stages;
}

type Pieces = Readonly<Record<string, string | undefined>>;

function* piecesOf(text: string): Generator<Pieces> {
  for (let index = 0; index < text.length; ) {
    PIECE.lastIndex = index;
    const match = PIECE.exec(text);
    if (match === null) throw explain(text, index);
    index += match[0].length;
    yield match.groups ?? {};
  }
}

function characters({ single, double, escaped, plain, within, not }: Pieces): string {
  return single ?? double?.replace(/\\([\\"$`])/g, "$1") ?? escaped ?? plain ?? within ?? not ?? "";
}

function refuseUnreadable(text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_COMMAND_BYTES) throw malformed(`has ${bytes} bytes, more than ${MAX_COMMAND_BYTES}`);
  // A tab separates words.
  const invisible = firstInvisible(text.replaceAll("\t", " "));
  if (invisible === undefined) return;
  const name = { "\n": "a line break", "\r": "a carriage return", "\0": "a NUL" }[invisible];
  throw commandRefused(
    name === undefined ? `it contains the invisible character ${codePoint(invisible)}` : `it contains ${name}`,
  );
}

function explain(text: string, index: number): ToolFailure {
  const character = String.fromCodePoint(text.codePointAt(index) ?? 0);
  if (character === "'") return malformed("has a single quote that is never closed");
  if (character === "\\") return malformed("ends with a backslash");
  if (character === '"') return explainQuoted(text.slice(index + 1));
  if (LOOKALIKE.test(character)) {
    return commandRefused(`it contains ${codePoint(character)} outside quotes, which looks like another character`);
  }
  return commandRefused(`it contains ${nameOf(character)}, but no shell interprets it; ${ADVICE}`);
}

function explainQuoted(rest: string): ToolFailure {
  const [inside = ""] = /^(?:[^"\\$`]|\\.)*/u.exec(rest) ?? [];
  const character = rest[inside.length];
  if (character === undefined || character === "\\") return malformed("has a double quote that is never closed");
  return commandRefused(`it contains ${nameOf(character)} in double quotes, but no shell interprets it; ${ADVICE}`);
}

const ADVICE = "run one command, or several joined by |, and put single quotes around a literal character";

const NAMES: Readonly<Record<string, string>> = {
  $: "$ (an expansion)",
  "`": "` (a command substitution)",
  ";": "; (a second command)",
  "&": "& (a second command)",
  "|": "|| or |& (a second command)",
  ">": "> (a redirection)",
  "<": "< (a redirection)",
  "(": "( (a subshell)",
  "*": "* (a file name pattern)",
  "?": "? (a file name pattern)",
  "[": "[ (a file name pattern)",
  "{": "{ (an expansion)",
  "~": "~ (an expansion)",
  "#": "# (a comment)",
  "!": "! (history)",
};

function nameOf(character: string): string {
  return NAMES[character] ?? character;
}

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

function malformed(problem: string): ToolFailure {
  return new ToolFailure("tool.input_invalid", `shell.exec: cmd ${problem}.`);
}
