/**
 * One translation between our camelCase and the wire's snake_case, done once, at the edge. Only keys are renamed;
 * values, and everything below an opaque key, are copied as they are. A key with no counterpart is a Defect, so use
 * `fromWire` only after the wire schema has accepted the value. `toWireSchema` renames as `toWire` does.
 */
import { isPlainObject } from "./bare-object.ts";
import { canonicalWriter, type KeySpelling } from "./canonical-json.ts";
import { Defect } from "./defect.ts";

/** Keys below these are not ours: tools' arguments and results, providers' payloads, schemas, names of channels and risks. */
const OPAQUE_KEYS = [
  "args",
  "arguments",
  "channels",
  "details",
  "input",
  "output",
  "outputSchema",
  "rawPayload",
  "risk",
] as const;
type OpaqueKey = (typeof OPAQUE_KEYS)[number];
type OpaqueWireKey = SnakeCase<OpaqueKey>;

/** More than we have; bounds the memory if foreign keys get here. */
const MAX_REMEMBERED_KEYS = 1024;

/** `T` as it is spelled on the wire. */
export type Wire<T> = T extends Leaf
  ? T
  : T extends readonly unknown[]
    ? { [Index in keyof T]: Wire<T[Index]> }
    : T extends object
      ? { [Key in keyof T as SnakeCase<Key & string>]: Key extends OpaqueKey ? T[Key] : Wire<T[Key]> }
      : T;

/** The way back: `Inside<Wire<T>>` is T. */
export type Inside<T> = T extends Leaf
  ? T
  : T extends readonly unknown[]
    ? { [Index in keyof T]: Inside<T[Index]> }
    : T extends object
      ? { [Key in keyof T as CamelCase<Key & string>]: Key extends OpaqueWireKey ? T[Key] : Inside<T[Key]> }
      : T;

/** Branded strings are strings too, and stay what they are. */
type Leaf = string | number | boolean | null | undefined;
type SnakeCase<Text extends string> = Text extends `${infer Head}${infer Tail}`
  ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${SnakeCase<Tail>}`
  : Text;
type CamelCase<Text extends string> = Text extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Text;

const TO_WIRE: KeySpelling = { opaque: new Set(OPAQUE_KEYS), rename: remembering(toSnakeCase) };
const FROM_WIRE: KeySpelling = { opaque: new Set(OPAQUE_KEYS.map(toSnakeCase)), rename: remembering(toCamelCase) };

/** Canonical JSON of the wire form, without making the wire form first. */
export const canonicalWire = canonicalWriter(TO_WIRE);

export function toWire<T>(value: T): Wire<T> {
  return respell(value, TO_WIRE) as Wire<T>;
}

export function fromWire<T>(value: T): Inside<T> {
  return respell(value, FROM_WIRE) as Inside<T>;
}

function respell(value: unknown, spelling: KeySpelling): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => respell(item, spelling));
  if (!isPlainObject(value)) throw new Defect("spelling: an object that is not plain");
  const respelled: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const inner = (value as Record<string, unknown>)[key];
    respelled[spelling.rename(key)] = spelling.opaque.has(key) ? inner : respell(inner, spelling);
  }
  return respelled;
}

function toSnakeCase(key: string): string {
  if (!/^[a-z][a-zA-Z0-9]*$/.test(key)) throw new Defect(`spelling: not a camelCase key: ${key}`);
  return key.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
}

function toCamelCase(key: string): string {
  if (!/^[a-z][a-z0-9]*(?:_[a-z][a-z0-9]*)*$/.test(key)) throw new Defect(`spelling: not a snake_case key: ${key}`);
  return key.replace(/_[a-z]/g, (letter) => letter.slice(1).toUpperCase());
}

/** Our keys are few and come again with every entry: looking them up is five times faster than renaming them. */
function remembering(rename: (key: string) => string): (key: string) => string {
  const known = new Map<string, string>();
  return (key) => {
    const remembered = known.get(key);
    if (remembered !== undefined) return remembered;
    const renamed = rename(key);
    if (known.size < MAX_REMEMBERED_KEYS) known.set(key, renamed);
    return renamed;
  };
}

type JsonSchema = { readonly [keyword: string]: unknown };

/** Keywords that hold a schema, or a list of them. */
const SCHEMA_KEYWORDS: ReadonlySet<string> = new Set([
  "additionalItems",
  "additionalProperties",
  "allOf",
  "anyOf",
  "contains",
  "else",
  "if",
  "items",
  "not",
  "oneOf",
  "prefixItems",
  "then",
]);
/** Keywords that hold schemas by names or patterns which are not our property names. */
const SCHEMA_MAP_KEYWORDS: ReadonlySet<string> = new Set(["$defs", "definitions", "patternProperties"]);
/** Keywords that hold values of the kind the schema describes. */
const VALUE_KEYWORDS: ReadonlySet<string> = new Set(["const", "default", "enum", "examples"]);

/** The same schema for the wire form of what it describes. */
export function toWireSchema(schema: object): JsonSchema {
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, respellKeyword(keyword, value)]),
  );
}

function respellKeyword(keyword: string, value: unknown): unknown {
  if (keyword === "required") return (value as readonly string[]).map(toSnakeCase);
  if (keyword === "properties") {
    return mapEntries(value, (name, inner) => [
      toSnakeCase(name),
      TO_WIRE.opaque.has(name) ? inner : respellSchema(inner),
    ]);
  }
  if (SCHEMA_MAP_KEYWORDS.has(keyword)) return mapEntries(value, (name, inner) => [name, respellSchema(inner)]);
  if (SCHEMA_KEYWORDS.has(keyword)) return Array.isArray(value) ? value.map(respellSchema) : respellSchema(value);
  return VALUE_KEYWORDS.has(keyword) ? toWire(value) : value;
}

/** `true` and `false` are schemas too. */
function respellSchema(schema: unknown): unknown {
  return typeof schema === "object" ? toWireSchema(schema as object) : schema;
}

function mapEntries(object: unknown, map: (name: string, value: unknown) => [string, unknown]): object {
  return Object.fromEntries(Object.entries(object as object).map(([name, value]) => map(name, value)));
}
