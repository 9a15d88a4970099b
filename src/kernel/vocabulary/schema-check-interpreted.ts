/**
 * Schemas as functions that are put together once, without `new Function`, which the control UI's content policy forbids. What
 * entries and events are made of is checked here; any other schema by TypeBox, which walks it for each value.
 */
import type { Static, TSchema } from "typebox";
import { Check, Errors } from "typebox/schema";
import type { SchemaCheck } from "./schema-check-compiled.ts";

export function schemaCheck<Schema extends TSchema>(schema: Schema): SchemaCheck<Schema> {
  const accepts = predicateOf(schema);
  return {
    accepts: (value): value is Static<Schema> => accepts(value),
    problems: (value) => Errors(schema, value)[1],
  };
}

type Predicate = (value: unknown) => boolean;

interface Keywords {
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
  readonly items?: object;
  readonly anyOf?: readonly object[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly additionalProperties?: unknown;
}

function predicateOf(schema: object): Predicate {
  const words = schema as Keywords;
  switch (Object.keys(schema).sort().join(" ")) {
    case "anyOf": {
      const branches = (words.anyOf ?? []).map(predicateOf);
      return (value) => branches.some((accepts) => accepts(value));
    }
    case "const":
    case "const type":
      if (typeof words.const === "object") break;
      return (value) => value === words.const;
    case "enum": {
      const allowed = new Set(words.enum);
      if (words.enum?.some((each) => typeof each === "object") !== false) break;
      return (value) => allowed.has(value);
    }
    case "type":
      return TYPES[String(words.type)] ?? ((value) => Check(schema, value));
    case "minimum type":
      if (words.type !== "integer") break;
      return (value) => Number.isInteger(value) && (value as number) >= (words.minimum ?? 0);
    case "pattern type": {
      const pattern = new RegExp(words.pattern ?? "", "u");
      return (value) => typeof value === "string" && pattern.test(value);
    }
    case "items type": {
      const accepts = predicateOf(words.items ?? {});
      return (value) => Array.isArray(value) && value.every(accepts);
    }
    case "additionalProperties properties required type":
      if (words.additionalProperties === false) return closedObject(words.properties ?? {}, words.required ?? []);
  }
  return (value) => Check(schema, value);
}

const TYPES: Readonly<Record<string, Predicate>> = {
  string: (value) => typeof value === "string",
  boolean: (value) => typeof value === "boolean",
  integer: Number.isInteger,
  null: (value) => value === null,
};

function closedObject(properties: Readonly<Record<string, object>>, required: readonly string[]): Predicate {
  const checks = new Map(Object.entries(properties).map(([name, schema]) => [name, predicateOf(schema)]));
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
    const fields = value as Readonly<Record<string, unknown>>;
    return (
      required.every((name) => Object.hasOwn(fields, name)) &&
      Object.keys(fields).every((name) => checks.get(name)?.(fields[name]) === true)
    );
  };
}
