/** Arbitrary values of a TypeBox schema: whatever a journal or ledger may hold, without a machine to write it. */
import fc from "fast-check";
import { bodyRef } from "../../../src/kernel/journal/body.ts";
import { HASH_PATTERN } from "../../../src/kernel/vocabulary/hash.ts";

const SALT = "000102030405060708090a0b0c0d0e0f";
const TEXTS = ["", "hello", "a\nb", "Zoë\u2028", "\u{1f512} \ufffd", '{"path":"notes.txt"}'];
const saltBytes = Uint8Array.from({ length: 16 }, (_, index) => index);

/** Some bodies, by ref. Every hash in an arbitrary record is one of these refs, so records name bodies often. */
export const BODIES = new Map(TEXTS.map((text) => [bodyRef(saltBytes, text), { salt: SALT, text }]));

interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly minLength?: number;
  readonly minimum?: number;
  readonly pattern?: string;
}

const CHARACTERS = [
  "a",
  "Z",
  "0",
  "_",
  '"',
  "\\",
  "/",
  "\n",
  "\u0000",
  "\u007f",
  "\u00eb",
  "\u2028",
  "\ufeff",
  "\ufffd",
  "\u{1f512}",
];

/** Short strings of what JSON and UTF-8 treat differently: one to four bytes a character, escaped or not. */
export const anyText = fc
  .array(fc.constantFrom(...CHARACTERS), { maxLength: 6 })
  .map((characters) => characters.join(""));
const anyCount = fc.oneof(fc.nat(9), fc.maxSafeNat());

export function anyOf<T>(schema: object): fc.Arbitrary<T> {
  return arbitraryOf(schema as Schema) as fc.Arbitrary<T>;
}

function arbitraryOf(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map(arbitraryOf));
  switch (schema.type) {
    case "object":
      return anyObject(schema);
    case "array":
      return fc.array(arbitraryOf(schema.items as Schema), { minLength: schema.minItems ?? 0, maxLength: 2 });
    case "string":
      if (schema.pattern === HASH_PATTERN) return fc.constantFrom(...BODIES.keys());
      if (schema.pattern !== undefined) return fc.stringMatching(new RegExp(schema.pattern), { maxLength: 32 });
      return anyText.map((text) => text.padEnd(schema.minLength ?? 0, "x"));
    case "integer":
      return anyCount.map((count) => Math.max(count, schema.minimum ?? 0));
    case "number":
      return fc.double({ min: 0, max: 1e6, noNaN: true }).map((value) => value + 0);
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    default:
      throw new Error(`no arbitrary for ${JSON.stringify(schema)}`);
  }
}

function anyObject({ properties = {}, required = [] }: Schema): fc.Arbitrary<unknown> {
  const fields = Object.fromEntries(Object.entries(properties).map(([key, inner]) => [key, arbitraryOf(inner)]));
  return fc.record(fields, { requiredKeys: [...required], noNullPrototype: true });
}
