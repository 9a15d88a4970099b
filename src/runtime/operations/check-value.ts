/**
 * Is a JSON value what its schema says? Compiled validators decide; the first problem is then put into words.
 *
 * A problem names the path of the bad field and what is expected, never the value: it may be a secret.
 */
import type { Static, TSchema } from "typebox";
import { Compile, type Validator } from "typebox/compile";

const validators = new WeakMap<TSchema, Validator>();

/** Compiled at first use: most processes need few of them. */
export function isValid<Schema extends TSchema>(schema: Schema, value: unknown): value is Static<Schema> {
  let validator = validators.get(schema);
  if (validator === undefined) {
    validator = Compile(schema);
    validators.set(schema, validator);
  }
  return validator.Check(value);
}

/** As much of JSON Schema as inputs of operations use. */
interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly maxLength?: number;
}

type Fields = Readonly<Record<string, unknown>>;

/** `name` is what a problem calls the whole value. */
export function checkInput<Input extends TSchema>(
  schema: Input,
  value: unknown,
  name: string,
): { readonly ok: true; readonly value: Static<Input> } | { readonly ok: false; readonly problem: string } {
  const given = withoutNulls(schema as Schema, value);
  if (isValid(schema, given)) return { ok: true, value: given };
  return { ok: false, problem: problemIn(schema as Schema, given, "", name) ?? `${name} is invalid` };
}

/** A known field that is null counts as left out; open objects, such as a tool's arguments, stay as they are. */
function withoutNulls(schema: Schema, value: unknown): unknown {
  const { properties, items } = branchFor(schema, value);
  if (Array.isArray(value)) return items === undefined ? value : value.map((item) => withoutNulls(items, item));
  if (!isObject(value) || properties === undefined) return value;
  const kept = Object.entries(value).filter(([key, field]) => field !== null || !Object.hasOwn(properties, key));
  return Object.fromEntries(kept.map(([key, field]) => [key, withoutNulls(properties[key] ?? {}, field)]));
}

function problemIn(schema: Schema, value: unknown, path: string, name: string): string | null {
  const { type, enum: choices, items, ...bounds } = branchFor(schema, value);
  const where = path === "" ? name : path;
  if (choices !== undefined) return choices.includes(value) ? null : `${where} must be one of ${choices.join(", ")}`;
  switch (type) {
    case "object":
      return isObject(value) ? fieldProblem(bounds, value, path, name) : `${where} must be a JSON object`;
    case "array":
      if (!Array.isArray(value)) return `${where} must be a list`;
      if (value.length < (bounds.minItems ?? 0) || value.length > (bounds.maxItems ?? value.length)) {
        return `${where} must be a list of ${bounds.minItems}`;
      }
      return firstProblem(value, (item, index) => problemIn(items ?? {}, item, `${where}[${index}]`, name));
    case "string":
      return textProblem(bounds, value, where);
    case "integer":
      return integerProblem(bounds, value, where);
    case "number":
      return typeof value === "number" ? null : `${where} must be a number`;
    case "boolean":
      return typeof value === "boolean" ? null : `${where} must be true or false`;
    default:
      return null;
  }
}

/** A name that may be repeated in an error: a word, too short for a secret. */
const WORD = /^[a-z][a-z_]{0,39}$/;

function fieldProblem(schema: Schema, value: Fields, path: string, name: string): string | null {
  const { properties = {}, required = [] } = schema;
  const known = Object.keys(properties);
  const unknown = Object.keys(value).find((key) => !Object.hasOwn(properties, key));
  if (unknown !== undefined && schema.additionalProperties === false) {
    const named = WORD.test(unknown) ? ` ${unknown}` : "";
    return `unknown field${named} in ${path === "" ? name : path}; known: ${known.join(", ") || "none"}`;
  }
  return firstProblem(known, (key) => {
    const at = path === "" ? key : `${path}.${key}`;
    if (Object.hasOwn(value, key)) return problemIn(properties[key] ?? {}, value[key], at, name);
    return required.includes(key) ? `${at} is required` : null;
  });
}

function textProblem({ pattern, maxLength }: Schema, value: unknown, where: string): string | null {
  if (typeof value !== "string" || value.trim() === "") return `${where} must be a string, not empty`;
  if (maxLength !== undefined && value.length > maxLength) return `${where} must have at most ${maxLength} characters`;
  return pattern === undefined || new RegExp(pattern, "u").test(value) ? null : `${where} must match ${pattern}`;
}

function integerProblem({ minimum = 0, maximum }: Schema, value: unknown, where: string): string | null {
  const most = maximum ?? Number.MAX_SAFE_INTEGER;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= minimum && value <= most) return null;
  return `${where} must be a whole number${maximum === undefined ? `, ${minimum} or more` : ` from ${minimum} to ${most}`}`;
}

/** Of a union the branch for this type of value; its problems say more than "none of them". */
function branchFor(schema: Schema, value: unknown): Schema {
  const { anyOf } = schema;
  if (anyOf === undefined) return schema;
  return anyOf.find(({ type }) => (type === "object") === isObject(value)) ?? schema;
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function firstProblem<Item>(items: readonly Item[], find: (item: Item, index: number) => string | null): string | null {
  for (const [index, item] of items.entries()) {
    const problem = find(item, index);
    if (problem !== null) return problem;
  }
  return null;
}
