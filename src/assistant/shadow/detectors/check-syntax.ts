/** Syntax errors by the kind of a file. The parsers of YAML and TypeScript are loaded with the first such file. */
import type { Trouble } from "../trouble.ts";
import { checkJson, repairJson, type SyntaxProblem } from "./check-json.ts";
import { checkPython } from "./check-python.ts";

type Language = Extract<Trouble, { kind: "syntax-error" }>["language"];

const LANGUAGES: readonly (readonly [RegExp, Language])[] = [
  [/\.(?:json|jsonc|json5)$|(?:^|\/)\.(?:eslintrc|babelrc|swcrc)$/, "JSON"],
  [/\.ya?ml$/, "YAML"],
  [/\.[cm]?tsx?$/, "TypeScript"],
  [/\.[cm]?jsx?$/, "JavaScript"],
  [/\.pyi?$/, "Python"],
];

export function languageOf(path: string): Language | null {
  return LANGUAGES.find(([pattern]) => pattern.test(path))?.[1] ?? null;
}

export async function checkSyntax(path: string, language: Language, text: string): Promise<SyntaxProblem | null> {
  switch (language) {
    case "JSON":
      return checkJson(path, text);
    case "YAML":
      return await checkYaml(text);
    case "Python":
      return checkPython(text);
    default:
      return await checkScript(path, text);
  }
}

/** What a file would be without its error; null unless that follows from the file alone. */
export function repairOf(language: Language, text: string): string | null {
  return language === "JSON" ? repairJson(text) : null;
}

async function checkYaml(text: string): Promise<SyntaxProblem | null> {
  // A template is not YAML yet.
  if (/\{\{|\{%|<%/.test(text)) return null;
  const { parseAllDocuments } = await import("yaml");
  const documents = parseAllDocuments(text, { logLevel: "silent", prettyErrors: true });
  const [error] = (Array.isArray(documents) ? documents : []).flatMap(({ errors }) => errors);
  if (error === undefined) return null;
  const problem = error.message.split(/ at line \d+|\n/)[0] ?? error.message;
  return { line: error.linePos?.[0].line ?? 1, problem: lowerFirst(problem) };
}

async function checkScript(path: string, text: string): Promise<SyntaxProblem | null> {
  // Types of another language than these two.
  if (/^\s*\/[/*].*@flow/.test(text)) return null;
  const { parse } = await import("@babel/parser");
  const isTypeScript = /\.[cm]?tsx?$/.test(path);
  const mayHoldJsx = !/\.[cm]?ts$/.test(path);
  const types = isTypeScript ? ([["typescript", { dts: /\.d\.[cm]?ts$/.test(path) }]] as const) : [];
  const problemWith = (decorators: "decorators" | "decorators-legacy"): SyntaxProblem | null => {
    try {
      // What the parser can go on from is a mistake of another kind, such as a name declared twice.
      parse(text, {
        sourceType: "unambiguous",
        errorRecovery: true,
        allowReturnOutsideFunction: true,
        allowAwaitOutsideFunction: true,
        plugins: [...types, ...(mayHoldJsx ? (["jsx"] as const) : []), decorators] as never,
      });
      return null;
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      const { loc } = error as SyntaxError & { readonly loc?: { readonly line: number } };
      return { line: loc?.line ?? 1, problem: lowerFirst(error.message.replace(/\.? *\(\d+:\d+\)[\s\S]*$/, "")) };
    }
  };
  const problem = problemWith("decorators");
  return problem === null ? null : problemWith("decorators-legacy");
}

function lowerFirst(text: string): string {
  return /^[A-Z][a-z]/.test(text) ? `${text.charAt(0).toLowerCase()}${text.slice(1)}` : text;
}
