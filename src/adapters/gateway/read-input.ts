/**
 * The input of an operation, read from path, query and body and checked against its schema.
 *
 * Strict: an unknown, repeated or invalid field is refused by name; nothing is clamped or ignored.
 */
import type { IncomingMessage } from "node:http";
import { type TObject, type TSchema, Type } from "typebox";
import { checkInput } from "../../runtime/operations/check-value.ts";
import type { AnyOperation } from "../../runtime/operations/operation.ts";
import { invalidRequest } from "./http-error.ts";
import { readJson, readText } from "./read-body.ts";
import type { Head } from "./read-head.ts";

export interface RequestParts {
  readonly incoming: IncomingMessage;
  readonly head: Head;
  /** Values of the path's placeholders, in order. */
  readonly inPath: readonly string[];
  readonly query: string;
}

type Fields = Readonly<Record<string, unknown>>;
export type ReadInput = (parts: RequestParts) => Promise<Fields>;

const PLACEHOLDER = /\{(\w+)\}/g;
const NOTHING: Fields = {};

export function placeholdersIn(path: string): readonly string[] {
  return [...path.matchAll(PLACEHOLDER)].map(([, name = ""]) => name);
}

/** The fields that a query or a body carries: all that the path does not. */
export function fieldsBesidePath({ path, input }: Pick<AnyOperation, "path" | "input">): TObject {
  const inPath = placeholdersIn(path);
  const rest = Object.entries<TSchema>(input.properties).filter(([name]) => !inPath.includes(name));
  return Type.Object(Object.fromEntries(rest), isClosed(input) ? { additionalProperties: false } : {});
}

export function inputReader(operation: AnyOperation): ReadInput {
  const names = placeholdersIn(operation.path);
  const fields = fieldsBesidePath(operation);
  const hasBody = operation.method === "POST" && Object.keys(fields.properties).length > 0;

  const readSigned = async ({ incoming, head }: RequestParts): Promise<Fields> => ({
    webhook_id: head["webhook-id"] ?? "",
    webhook_timestamp: head["webhook-timestamp"] ?? "",
    webhook_signature: head["webhook-signature"] ?? "",
    body: await readText(incoming, head),
  });
  const isSigned = operation.kind === "json" && operation.isSigned === true;

  const read = async ({ incoming, head, query }: RequestParts): Promise<Fields> => {
    if (operation.method === "POST" && !hasBody) return NOTHING;
    const given = hasBody ? await readJson(incoming, head) : readQuery(query, fields);
    const checked = checkInput(fields, given, hasBody ? "the body" : "the query");
    if (!checked.ok) throw invalidRequest(checked.problem);
    return checked.value as Fields;
  };

  return async (parts) => {
    const given = await (isSigned ? readSigned : read)(parts);
    if (names.length === 0) return given;
    return { ...given, ...Object.fromEntries(names.map((name, index) => [name, parts.inPath[index]])) };
  };
}

const DIGITS = /^[0-9]{1,15}$/;

function isClosed(schema: TObject): boolean {
  return "additionalProperties" in schema && schema.additionalProperties === false;
}

function readQuery(query: string, schema: TObject): Fields {
  if (query === "") return NOTHING;
  const { properties } = schema;
  const fields: Record<string, unknown> = {};
  for (const [name, value] of new URLSearchParams(query)) {
    if (!Object.hasOwn(properties, name)) {
      if (!isClosed(schema)) continue;
      throw invalidRequest(`unknown query parameter; known: ${Object.keys(properties).join(", ") || "none"}`);
    }
    if (Object.hasOwn(fields, name)) throw invalidRequest(`duplicate query parameter ${name}`);
    const isNumber = (properties[name] as { readonly type?: string }).type === "integer" && DIGITS.test(value);
    fields[name] = isNumber ? Number(value) : value;
  }
  return fields;
}
