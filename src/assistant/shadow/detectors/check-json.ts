/** A syntax error in JSON: where, and the text without it where only commas and closing brackets are wrong. */
import JSON5 from "json5";
import { parseJson } from "../../../kernel/vocabulary/parse-json.ts";

export interface SyntaxProblem {
  /** From 1. */
  readonly line: number;
  readonly problem: string;
}

/** Comments and final commas are part of it. */
const WITH_COMMENTS =
  /\.jsonc$|\.json5$|(?:^|\/)(?:tsconfig|jsconfig|devcontainer|knip|biome)[^/]*\.json$|(?:^|\/)\.(?:eslintrc|babelrc|swcrc)(?:\.json)?$|(?:^|\/)\.(?:vscode|devcontainer)\/[^/]*\.json$/;

export function checkJson(path: string, text: string): SyntaxProblem | null {
  const plain = text.startsWith("\uFEFF") ? text.slice(1) : text;
  // An editor writes a new file when it is still empty.
  if (plain.trim() === "") return null;
  const error = parseError(plain, WITH_COMMENTS.test(path));
  if (error === null) return null;
  if (typeof (error as Json5Error).lineNumber === "number") {
    const { lineNumber, message } = error as Json5Error;
    return { line: lineNumber, problem: message.replace(/^JSON5: /, "").replace(/ at \d+:\d+$/, "") };
  }
  const parsed = parseJson(plain, { maxDepth: 512, maxChars: plain.length });
  // Also what is JSON but ambiguous is refused there: then the text itself is named.
  return parsed.ok
    ? { line: 1, problem: "not valid JSON" }
    : { line: lineAt(plain, parsed.at), problem: parsed.problem };
}

interface Json5Error extends Error {
  readonly lineNumber: number;
}

function parseError(text: string, withComments: boolean): Error | null {
  try {
    if (withComments) JSON5.parse(text);
    else JSON.parse(text);
    return null;
  } catch (error) {
    return error as Error;
  }
}

function lineAt(text: string, at: number): number {
  return text.slice(0, at).split("\n").length;
}

/** Without commas before a closing bracket, and with the closing brackets that are missing at the end; null: that is not it. */
export function repairJson(text: string): string | null {
  const open: string[] = [];
  let repaired = "";
  let at = 0;
  while (at < text.length) {
    const char = text[at] as string;
    if (char === '"') {
      const string = /"(?:[^"\\\n]|\\.)*"/y;
      string.lastIndex = at;
      const [found] = string.exec(text) ?? [];
      if (found === undefined) return null;
      repaired += found;
      at += found.length;
      continue;
    }
    if (char === "{") open.push("}");
    if (char === "[") open.push("]");
    if ((char === "}" || char === "]") && open.pop() !== char) return null;
    const isFinalComma = char === "," && /^\s*(?:[}\]]|$)/.test(text.slice(at + 1, at + 1000));
    if (!isFinalComma) repaired += char;
    at += 1;
  }
  const end = /\n$/.test(repaired) ? "\n" : "";
  const whole = `${repaired.trimEnd()}${open.length === 0 ? "" : `\n${open.reverse().join("\n")}`}${end}`;
  return parseError(whole, false) === null ? whole : null;
}
