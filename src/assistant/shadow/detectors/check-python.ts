/**
 * Syntax errors in Python, found by its tokens alone: brackets, strings, indentation, and the colon of a compound statement.
 * It misses what only a parser sees, and calls nothing an error that is none. So no interpreter is run over a file of unknown
 * origin.
 */
import type { SyntaxProblem } from "./check-json.ts";

const CLOSING: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };
const STRING_START = /(?:[rbuft]|rb|br|rf|fr|rt|tr)?("""|'''|"|')/iy;
const WORD = /[\p{L}_][\p{L}\p{N}_]*/uy;
const COMPOUND = new Set(["def", "class", "if", "elif", "else", "for", "while", "try", "except", "finally", "with"]);

interface Reader {
  readonly text: string;
  at: number;
  line: number;
  readonly open: { readonly char: string; readonly line: number }[];
}

/** One logical line. */
interface Statement {
  readonly line: number;
  readonly indent: string;
  readonly firstWord: string;
  /** Of a compound statement: it has its colon, and nothing but a comment after it. */
  hasColon: boolean;
  endsInColon: boolean;
}

export function checkPython(text: string): SyntaxProblem | null {
  const reader: Reader = { text: text.replace(/\r\n?/g, "\n"), at: 0, line: 1, open: [] };
  const indents: string[] = [""];
  let expectsBlock: Statement | null = null;
  while (reader.at < reader.text.length) {
    const statement = readStatement(reader);
    if ("problem" in statement) return statement;
    if (statement.line === 0) continue;
    const { line, indent, firstWord } = statement;
    const current = indents.at(-1) as string;
    if (expectsBlock !== null) {
      if (!indent.startsWith(current) || indent.length <= current.length) {
        return { line, problem: `expected an indented block after line ${expectsBlock.line}` };
      }
      indents.push(indent);
    } else if (indent !== current) {
      if (indent.startsWith(current)) return { line, problem: "unexpected indent" };
      while (indents.length > 1 && indents.at(-1) !== indent) indents.pop();
      if (indents.at(-1) !== indent) return { line, problem: "unindent does not match any outer indentation level" };
    }
    if (COMPOUND.has(firstWord) && !statement.hasColon) return { line, problem: `expected ':' after ${firstWord}` };
    expectsBlock = statement.endsInColon && (COMPOUND.has(firstWord) || opensBlock(firstWord)) ? statement : null;
  }
  return expectsBlock === null
    ? null
    : { line: expectsBlock.line, problem: `expected an indented block after line ${expectsBlock.line}` };
}

/** Words that are keywords in some places only. */
function opensBlock(word: string): boolean {
  return word === "match" || word === "case" || word === "async";
}

/** A line of 0: there was none, only blanks and comments. */
function readStatement(reader: Reader): Statement | SyntaxProblem {
  const { text } = reader;
  const blank = /[ \t\f]*/y;
  blank.lastIndex = reader.at;
  const indent = (blank.exec(text)?.[0] ?? "").replaceAll("\f", "");
  reader.at = blank.lastIndex;
  const none = { line: 0, indent, firstWord: "", hasColon: false, endsInColon: false };
  if (reader.at >= text.length) return none;
  if (text[reader.at] === "#" || text[reader.at] === "\n") {
    skipLine(reader);
    return none;
  }
  WORD.lastIndex = reader.at;
  const statement: Statement = { ...none, line: reader.line, firstWord: WORD.exec(text)?.[0] ?? "" };
  let lambdas = 0;
  while (reader.at < text.length) {
    const char = text[reader.at] as string;
    if (char === "\n") {
      reader.line += 1;
      reader.at += 1;
      if (reader.open.length === 0) return statement;
      continue;
    }
    if (char === "#") {
      skipToLineEnd(reader);
      continue;
    }
    if (char === "\\" && text[reader.at + 1] === "\n") {
      reader.line += 1;
      reader.at += 2;
      continue;
    }
    if (/\s/.test(char)) {
      reader.at += 1;
      continue;
    }
    STRING_START.lastIndex = reader.at;
    const quote = STRING_START.exec(text)?.[1];
    if (quote !== undefined) {
      const problem = readString(reader, STRING_START.lastIndex, quote);
      if (problem !== null) return problem;
      statement.endsInColon = false;
      continue;
    }
    WORD.lastIndex = reader.at;
    const [word] = WORD.exec(text) ?? [];
    if (word !== undefined) {
      if (word === "lambda" && reader.open.length === 0) lambdas += 1;
      reader.at += word.length;
      statement.endsInColon = false;
      continue;
    }
    if (CLOSING[char] !== undefined) reader.open.push({ char, line: reader.line });
    if (char === ")" || char === "]" || char === "}") {
      const opened = reader.open.pop();
      if (opened === undefined) return { line: reader.line, problem: `unmatched '${char}'` };
      if (CLOSING[opened.char] !== char) {
        return { line: reader.line, problem: `'${char}' does not match '${opened.char}' on line ${opened.line}` };
      }
    }
    if (char === ":" && reader.open.length === 0 && text[reader.at + 1] !== "=") {
      // The colon of a lambda is not the statement's.
      if (lambdas > 0) lambdas -= 1;
      else statement.hasColon = true;
      statement.endsInColon = true;
    } else statement.endsInColon = false;
    reader.at += 1;
  }
  const unclosed = reader.open.at(-1);
  return unclosed === undefined ? statement : { line: unclosed.line, problem: `'${unclosed.char}' was never closed` };
}

/** An f-string is read as a string: what its braces hold may have quotes of its own only since Python 3.12. */
function readString(reader: Reader, from: number, quote: string): SyntaxProblem | null {
  const { text } = reader;
  const isFormatted = /[ft]/i.test(text.slice(reader.at, from - quote.length));
  const startLine = reader.line;
  let braces = 0;
  for (let at = from; at < text.length; at += 1) {
    const char = text[at] as string;
    if (char === "\\") {
      at += 1;
      if (text[at] === "\n") reader.line += 1;
      continue;
    }
    if (isFormatted && char === "{") braces = text[at + 1] === "{" ? braces : braces + 1;
    if (isFormatted && char === "{" && text[at + 1] === "{") at += 1;
    if (isFormatted && char === "}" && braces > 0) braces -= 1;
    if (char === "\n") {
      reader.line += 1;
      if (quote.length === 1 && braces === 0) return { line: startLine, problem: "unterminated string" };
    }
    if (text.startsWith(quote, at) && braces === 0) {
      reader.at = at + quote.length;
      return null;
    }
  }
  // Quotes inside braces, as Python 3.12 takes them, cannot be told from an end that is missing.
  if (isFormatted) {
    reader.at = text.length;
    return null;
  }
  return { line: startLine, problem: quote.length === 3 ? "unterminated triple-quoted string" : "unterminated string" };
}

function skipToLineEnd(reader: Reader): void {
  const end = reader.text.indexOf("\n", reader.at);
  reader.at = end < 0 ? reader.text.length : end;
}

function skipLine(reader: Reader): void {
  skipToLineEnd(reader);
  reader.at += 1;
  reader.line += 1;
}
