/**
 * The parameters of a request beside its messages. Each is either used, or without effect here and elsewhere, or has only the
 * one value that is what happens anyway; everything else is refused by name: nothing is ignored that would change the answer.
 */
import { parseJson } from "../../kernel/vocabulary/parse-json.ts";
import { THINKING_LEVELS, type ThinkingLevel } from "../../kernel/vocabulary/thinking-level.ts";
import { invalid } from "./openai-error.ts";

export type Fields = Readonly<Record<string, unknown>>;

export interface ParameterRules {
  readonly used: readonly string[];
  /** For OpenAI's own storage, caches, billing and abuse checks. */
  readonly harmless: readonly string[];
  /** The values that are what happens anyway. */
  readonly fixed: Readonly<Record<string, readonly unknown[]>>;
  /** Why not. */
  readonly refused: Readonly<Record<string, string>>;
}

export const NO_TOOLS_OF_CLIENTS =
  "Tools of the client are not called: Surety calls the agent's own tools and answers when they are done. Leave it out.";

export async function readFields(request: Request): Promise<Fields> {
  const parsed = parseJson(await request.text());
  if (!parsed.ok) throw invalid(null, `The body is not valid JSON: ${parsed.problem}`, "invalid_json");
  const { value } = parsed;
  if (!isFields(value)) throw invalid(null, "The body must be a JSON object.", "invalid_json");
  return value;
}

export function checkParameters(fields: Fields, { used, harmless, fixed, refused }: ParameterRules): void {
  for (const [name, value] of Object.entries(fields)) {
    if (value === null || used.includes(name) || harmless.includes(name)) continue;
    if (Object.hasOwn(refused, name) && !isEmpty(value))
      throw invalid(name, refused[name] ?? "", "unsupported_parameter");
    if (Object.hasOwn(refused, name)) continue;
    const values = Object.hasOwn(fixed, name) ? fixed[name] : undefined;
    if (values === undefined) throw invalid(wordOf(name), `Unknown parameter: ${wordOf(name)}.`, "unknown_parameter");
    if (!values.some((each) => JSON.stringify(each) === JSON.stringify(value))) {
      const only = values.map((each) => JSON.stringify(each)).join(" or ");
      throw invalid(name, `${name} can only be ${only} here: leave it out.`, "unsupported_value");
    }
  }
}

/** An unknown name may be anything; it is repeated only where it looks like one. */
function wordOf(name: string): string {
  return /^[a-z][a-z_]{0,39}$/.test(name) ? name : "(a name of other characters)";
}

function isEmpty(value: unknown): boolean {
  return value === false || (Array.isArray(value) && value.length === 0);
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function textIn(fields: Fields, name: string): string | null {
  const value = fields[name] ?? null;
  if (value === null) return null;
  if (typeof value !== "string" || value.trim() === "") throw invalid(name, `${name} must be a string, not empty.`);
  return value;
}

export function flagIn(fields: Fields, name: string): boolean {
  const value = fields[name] ?? false;
  if (typeof value !== "boolean") throw invalid(name, `${name} must be true or false.`);
  return value;
}

export function tokensIn(fields: Fields, name: string): number | null {
  const value = fields[name] ?? null;
  if (value === null) return null;
  if (typeof value === "number" && Number.isSafeInteger(value) && value > 0) return value;
  throw invalid(name, `${name} must be a whole number above 0.`);
}

/** Names of OpenAI's for what is `off` here. */
const NO_EFFORT: readonly unknown[] = ["none", "minimal"];

export function effortIn(value: unknown, param: string): ThinkingLevel | null {
  if (value === undefined || value === null) return null;
  if (NO_EFFORT.includes(value)) return "off";
  const level = THINKING_LEVELS.find((each) => each === value);
  if (level !== undefined) return level;
  throw invalid(param, `${param} must be one of none, minimal, low, medium, high.`, "unsupported_value");
}
