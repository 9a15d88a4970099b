/** Records in their wire form whose `kind` says which schema they follow. */

import type { TSchema } from "typebox";
import { schemaCheck } from "#schema-check";
import type { JsonValue } from "../vocabulary/parse-json.ts";
import { fromWire, toWireSchema } from "../vocabulary/wire-case.ts";
import type { Parsed } from "./read-records.ts";

type Check = ReturnType<typeof schemaCheck>;

/** The schemas are those of the inside form; `T` is what they describe. */
export function parserByKind<T>(schemas: Readonly<Record<string, TSchema>>): (document: JsonValue) => Parsed<T> {
  // Compiled when first met: all of a journal's schemas take a tenth of a second, which no start should wait for.
  const checks = new Map<string, Check>();
  const checkFor = (kind: string, schema: TSchema): Check => {
    const check = checks.get(kind) ?? schemaCheck(toWireSchema({ ...schema }));
    checks.set(kind, check);
    return check;
  };
  return (document) => {
    const kind = kindOf(document);
    const schema = Object.hasOwn(schemas, kind) ? schemas[kind] : undefined;
    if (schema === undefined) return { ok: false, problem: "not of a known kind" };
    if (!checkFor(kind, schema).accepts(document)) return { ok: false, problem: `not a valid ${kind}` };
    return { ok: true, value: fromWire<unknown>(document) as T };
  };
}

function kindOf(document: JsonValue): string {
  if (typeof document !== "object" || document === null || Array.isArray(document)) return "";
  const { kind } = document as { readonly [key: string]: JsonValue };
  return typeof kind === "string" ? kind : "";
}
