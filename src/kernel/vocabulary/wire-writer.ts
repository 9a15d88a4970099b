/**
 * Canonical JSON of the wire form, for values of a schema that is known beforehand: its keys are sorted and spelled once,
 * and strings that cannot hold anything to escape are not looked through.
 *
 * W1. For a value of the schema it writes what `canonicalWire` writes. It does not ask whether it is one: whoever calls it
 *     has made the value, or had it checked.
 * W2. What a schema leaves open (further keys, other people's content, unions that nothing tells apart) is left to
 *     `canonicalWire`, and so is an object that has one of its optional keys: such keys are there to be rare.
 */
import { canonicalJson, quote } from "./canonical-json.ts";
import { Defect } from "./defect.ts";
import { HASH_PATTERN } from "./hash.ts";
import { CALL_ID_PATTERN } from "./schema-primitives.ts";
import { canonicalWire, isOpaqueKey, wireKey } from "./wire-case.ts";

export type WireWriter = (value: unknown) => string;

/** As much of a JSON Schema as is understood here. */
interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
}

/** Their strings need no escapes. */
const HARMLESS_PATTERNS: readonly string[] = [HASH_PATTERN, CALL_ID_PATTERN];

export function wireWriter(schema: object): WireWriter {
  const { type, anyOf, items, properties } = schema as Schema;
  if (isHarmless(schema)) return (value) => `"${textOf(value)}"`;
  if (type === "string") return (value) => quote(value as string);
  if (type === "integer" || type === "number") return writeNumber;
  if (type === "boolean") return (value) => (value === true ? "true" : "false");
  if (type === "array" && items !== undefined) return arrayWriter(wireWriter(items));
  if (anyOf !== undefined) return unionWriter(anyOf);
  return properties === undefined ? canonicalWire : objectWriter(schema as Schema);
}

function isHarmless({ const: only, enum: words = [only], pattern }: Schema): boolean {
  if (pattern !== undefined) return HARMLESS_PATTERNS.includes(pattern);
  return words.every((word) => typeof word === "string" && quote(word) === `"${word}"`);
}

function textOf(value: unknown): string {
  if (typeof value !== "string") throw new Defect(`wire writer: ${typeof value} in place of a text`);
  return value;
}

function writeNumber(value: unknown): string {
  if (!Number.isFinite(value)) throw new Defect(`wire writer: ${value} is not JSON`);
  return `${value}`;
}

function arrayWriter(write: WireWriter): WireWriter {
  return (value) => {
    const items = value as readonly unknown[];
    if (items.length === 0) return "[]";
    let text = `[${write(items[0])}`;
    for (let index = 1; index < items.length; index += 1) text += `,${write(items[index])}`;
    return `${text}]`;
  };
}

/** Something or null; or objects that say by their `type` what they are. */
function unionWriter(schemas: readonly Schema[]): WireWriter {
  const [first, ...others] = schemas.filter(({ type }) => type !== "null");
  if (first !== undefined && others.length === 0) {
    const write = wireWriter(first);
    return (value) => (value === null ? "null" : write(value));
  }
  const names = schemas.map(({ properties }) => properties?.["type"]?.const);
  if (new Set(names).size < names.length || names.includes(undefined)) return canonicalWire;
  const writers = new Map(schemas.map((schema, index) => [names[index], wireWriter(schema)]));
  return (value) => (writers.get((value as { readonly type: unknown }).type) ?? canonicalWire)(value);
}

/** `lead` is all that stands between the value before and this one, quotes included; so it is all that must be added. */
interface Member {
  readonly key: string;
  readonly lead: string;
  readonly write: WireWriter | null;
}

function objectWriter({ properties = {}, required = [], additionalProperties }: Schema): WireWriter {
  const keys = Object.keys(properties).filter((key) => required.includes(key));
  if (additionalProperties !== false || keys.length === 0) return canonicalWire;
  const optional = Object.keys(properties).filter((key) => !required.includes(key));
  const members: Member[] = [];
  let end = "{";
  for (const key of keys.toSorted((a, b) => (wireKey(a) < wireKey(b) ? -1 : 1))) {
    const schema = properties[key] as Schema;
    const isText = isHarmless(schema);
    const write = isOpaqueKey(key) ? canonicalJson : wireWriter(schema);
    const lead = `${end}"${wireKey(key)}":${isText ? '"' : ""}`;
    members.push({ key, lead, write: isText ? null : write });
    end = isText ? '",' : ",";
  }
  const tail = `${end.slice(0, -1)}}`;
  return (value) => {
    for (const key of optional) if (Object.hasOwn(value as object, key)) return canonicalWire(value);
    let text = "";
    for (let index = 0; index < members.length; index += 1) {
      const { key, lead, write } = members[index] as Member;
      const inner = (value as Readonly<Record<string, unknown>>)[key];
      text += lead + (write === null ? textOf(inner) : write(inner));
    }
    return text + tail;
  };
}
