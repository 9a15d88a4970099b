/**
 * Zod's issues in words (`zod/mini` has none of its own).
 *
 * W1. No value is quoted, and no key that looks like a secret: `inspect-values.ts` has refused those before.
 * W2. An unknown key comes with the known ones, and with the one that was probably meant.
 * W3. Of several allowed forms, the one that was begun is explained.
 */
import type * as z from "zod/mini";
import { nearest } from "../nearest.ts";
import { type ConfigPath, valueAt } from "./config-path.ts";
import type { Finding } from "./config-problem.ts";

type Issue = z.core.$ZodIssue;

export function explainIssue(issue: Issue, root: unknown, schema: z.core.$ZodType): readonly Finding[] {
  const path = issue.path.map(String);
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => unknownKey(path, key, knownKeys(schema, path)));
  const begun = issue.code === "invalid_union" ? issue.errors.find((issues) => !issues.some(isOtherForm)) : undefined;
  if (begun !== undefined) {
    return begun.flatMap((inner) => explainIssue({ ...inner, path: [...issue.path, ...inner.path] }, root, schema));
  }
  const what = sayWhat(issue, valueAt(root, path));
  return [{ code: "config.invalid", path, what, hint: "See `surety config schema` for the allowed values." }];
}

function isOtherForm({ code, path }: Issue): boolean {
  return code === "invalid_type" && path.length === 0;
}

/** Of things that this version has not. */
const LATER: readonly string[] = ["mcp", "skills"];

function unknownKey(path: ConfigPath, key: string, known: readonly string[]): Finding {
  if (path.length === 0 && LATER.includes(key)) {
    const hint = `Remove it: this version has nothing that ${key} would configure.`;
    return { code: "config.unknown-key", path: [key], what: "is not a key of this version", hint };
  }
  const meant = nearest(key, known);
  const question = meant === null ? "" : `Did you mean ${meant}? `;
  const list = known.length === 0 ? "No key is allowed there yet." : `Known keys: ${known.join(", ")}.`;
  return { code: "config.unknown-key", path: [...path, key], what: "is not a known key", hint: question + list };
}

/** `zod/mini`'s message for everything without one of its own. */
const NO_WORDS = "Invalid input";

function sayWhat(issue: Issue, value: unknown): string {
  if (value !== undefined && issue.code !== "invalid_key" && issue.message !== NO_WORDS) return issue.message;
  switch (issue.code) {
    case "invalid_type":
      if (value === undefined) return "is missing";
      if (typeof value === "number" && !Number.isFinite(value)) return "is not a finite number";
      return `must be ${typeName(issue.expected)}, not ${kindOf(value)}`;
    case "invalid_value":
      return `must be one of ${issue.values.map(String).join(", ")}`;
    case "too_small":
      return `must be at least ${issue.minimum}${unitOf(issue.origin)}`;
    case "too_big":
      return `must be at most ${issue.maximum}${unitOf(issue.origin)}`;
    case "invalid_key":
      return `is not a valid name: it ${issue.issues[0]?.message ?? "must be another"}`;
    default:
      return "is not an allowed value";
  }
}

function unitOf(origin: string): string {
  return origin === "string" ? " characters long" : "";
}

function typeName(expected: string): string {
  const names: Readonly<Record<string, string>> = { int: "a whole number", object: "an object", array: "a list" };
  return names[expected] ?? `a ${expected}`;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  return `a ${typeof value}`;
}

/** The keys that the schema allows at this path. */
function knownKeys(schema: z.core.$ZodType, path: ConfigPath): readonly string[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case "default":
    case "prefault":
    case "optional":
      return knownKeys(def.innerType, path);
    case "object": {
      const [step, ...rest] = path;
      const inner = step === undefined ? undefined : def.shape[step];
      return inner === undefined ? Object.keys(def.shape) : knownKeys(inner, rest);
    }
    case "record":
      return path.length === 0 ? namesOf(def.keyType) : knownKeys(def.valueType, path.slice(1));
    case "union":
      return def.options.flatMap((option) => knownKeys(option, path));
    case "array":
      return knownKeys(def.element, path.slice(1));
    default:
      return [];
  }
}

function namesOf(keyType: z.core.$ZodType): readonly string[] {
  const { def } = (keyType as z.core.$ZodTypes)._zod;
  return def.type === "enum" ? Object.values(def.entries).map(String) : [];
}
