/**
 * The JSON Schema that a grammar can enforce: the part of TypeBox that tools are written in. Any other keyword is found
 * before a tool is registered, so every registered tool can be offered to a model whose decoding is constrained.
 *
 * Numbers with fractions have whole bounds from 0 on, if any.
 */

type Schema = Readonly<Record<string, unknown>>;

const ANNOTATIONS: readonly string[] = ["title", "description", "default", "examples"];
const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  string: ["minLength", "maxLength"],
  integer: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
  number: ["minimum", "maximum"],
  boolean: [],
  null: [],
  array: ["items", "minItems", "maxItems"],
  object: ["properties", "required", "additionalProperties"],
};
const SCALARS: readonly string[] = ["string", "number", "boolean"];

/** The path of the first keyword that no grammar can enforce; null when there is none. */
export function unsupportedKeyword(schema: unknown, path: string): string | null {
  if (!isSchema(schema)) return path;
  const { type } = schema;
  const union = ["anyOf", "oneOf"].find((keyword) => keyword in schema);
  if (union !== undefined) return unknownAmong(schema, path, [union]) ?? firstOf(schema[union], `${path}/${union}`);
  if ("const" in schema)
    return unknownAmong(schema, path, ["const", "type"]) ?? scalars([schema["const"]], path, "const");
  if ("enum" in schema) return unknownAmong(schema, path, ["enum", "type"]) ?? scalars(schema["enum"], path, "enum");
  const known = typeof type === "string" && Object.hasOwn(KEYWORDS, type) ? KEYWORDS[type] : undefined;
  if (known === undefined) return "type" in schema ? `${path}/type` : (unknownAmong(schema, path, []) ?? path);
  return unknownAmong(schema, path, ["type", ...known]) ?? withinType(schema, path);
}

function withinType(schema: Schema, path: string): string | null {
  if (schema["type"] === "array") return unsupportedKeyword(schema["items"], `${path}/items`);
  if (schema["type"] === "number") return boundsProblem(schema, path);
  if (schema["type"] !== "object") return null;
  if (schema["additionalProperties"] !== false) return `${path}/additionalProperties`;
  const properties = Object.entries(isSchema(schema["properties"]) ? schema["properties"] : {});
  return firstProblem(properties.map(([name, property]) => [property, `${path}/properties/${name}`]));
}

function boundsProblem(schema: Schema, path: string): string | null {
  const { minimum, maximum } = schema;
  if (minimum === undefined) return maximum === undefined ? null : `${path}/maximum`;
  if (!isWhole(minimum)) return `${path}/minimum`;
  return maximum === undefined || isWhole(maximum) ? null : `${path}/maximum`;
}

function isWhole(bound: unknown): boolean {
  return typeof bound === "number" && Number.isSafeInteger(bound) && bound >= 0;
}

function scalars(values: unknown, path: string, keyword: string): string | null {
  const isFine = Array.isArray(values) && values.length > 0 && values.every(isScalar);
  return isFine ? null : `${path}/${keyword}`;
}

function isScalar(value: unknown): boolean {
  return value === null || SCALARS.includes(typeof value);
}

function unknownAmong(schema: Schema, path: string, known: readonly string[]): string | null {
  const unknown = Object.keys(schema).find((keyword) => !known.includes(keyword) && !ANNOTATIONS.includes(keyword));
  return unknown === undefined ? null : `${path}/${unknown}`;
}

function firstOf(members: unknown, path: string): string | null {
  if (!Array.isArray(members) || members.length === 0) return path;
  return firstProblem(members.map((member: unknown, index) => [member, `${path}/${index}`]));
}

function firstProblem(schemas: readonly (readonly [schema: unknown, path: string])[]): string | null {
  for (const [schema, path] of schemas) {
    const problem = unsupportedKeyword(schema, path);
    if (problem !== null) return problem;
  }
  return null;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
