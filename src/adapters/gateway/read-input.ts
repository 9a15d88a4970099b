/**
 * The input of an operation, read from path, query and body and checked against its schema.
 *
 * Strict: an unknown, repeated or invalid field is refused by name; nothing is clamped or ignored.
 */
import type { IncomingMessage } from "node:http";
import { type TObject, type TSchema, Type } from "typebox";
import { checkInput } from "../../runtime/operations/check-value.ts";
import { type AnyOperation, takesBody } from "../../runtime/operations/operation.ts";
import { invalidRequest } from "./http-error.ts";
import { MAX_BODY_BYTES, readBody, readJson, readText } from "./read-body.ts";
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
/** Of a stranger's JSON: nothing large is read only to find that it proves nothing. */
const MAX_PUBLIC_BYTES = 4_096;
const CLOSED = { additionalProperties: false };

export function placeholdersIn(path: string): readonly string[] {
  return [...path.matchAll(PLACEHOLDER)].map(([, name = ""]) => name);
}

type Fielded = Pick<AnyOperation, "path" | "input" | "method" | "bodyField">;

/** What a query carries: of a method with a body only what its one field leaves. */
export function queryOf(operation: Fielded): TObject {
  const { method, bodyField } = operation;
  return !takesBody(method) || bodyField !== undefined ? fieldsBeside(operation) : Type.Object({}, CLOSED);
}

/** The schema of the body; null when there is none. */
export function bodyOf(operation: Fielded): TSchema | null {
  const { method, bodyField, input } = operation;
  if (!takesBody(method)) return null;
  if (bodyField !== undefined) return input.properties[bodyField] ?? null;
  const fields = fieldsBeside(operation);
  return Object.keys(fields.properties).length === 0 ? null : fields;
}

/** All that neither the path nor the one field of the body carries. */
function fieldsBeside({ path, input, bodyField }: Fielded): TObject {
  const elsewhere = [...placeholdersIn(path), ...(bodyField === undefined ? [] : [bodyField])];
  const rest = Object.entries<TSchema>(input.properties).filter(([name]) => !elsewhere.includes(name));
  return Type.Object(Object.fromEntries(rest), isClosed(input) ? CLOSED : {});
}

export function inputReader(operation: AnyOperation): ReadInput {
  const names = placeholdersIn(operation.path);
  const { method, bodyField } = operation;
  const inQuery = queryOf(operation);
  const inBody = bodyOf(operation);
  // Of a POST without fields a query was never read.
  const readsQuery = !takesBody(method) || bodyField !== undefined;

  const readSigned = async ({ incoming, head }: RequestParts): Promise<Fields> => ({
    webhook_id: head["webhook-id"] ?? "",
    webhook_timestamp: head["webhook-timestamp"] ?? "",
    webhook_signature: head["webhook-signature"] ?? "",
    body: await readText(incoming, head),
  });
  const isSigned = operation.kind === "json" && operation.isSigned === true;

  const maxBytes = operation.kind === "json" ? operation.bodyBytes : undefined;
  const maxJsonBytes = operation.scope === "public" ? MAX_PUBLIC_BYTES : MAX_BODY_BYTES;

  const read = async ({ incoming, head, query }: RequestParts): Promise<Fields> => {
    const asked = readsQuery ? check(inQuery, readQuery(query, inQuery), "the query") : NOTHING;
    if (inBody === null) return asked;
    if (maxBytes !== undefined && bodyField !== undefined) {
      return { ...asked, [bodyField]: (await readBody(incoming, head, maxBytes)).toString("base64") };
    }
    const body = check(inBody, await readJson(incoming, head, maxJsonBytes), "the body");
    return bodyField === undefined ? body : { ...asked, [bodyField]: body };
  };

  return async (parts) => {
    const given = await (isSigned ? readSigned : read)(parts);
    if (names.length === 0) return given;
    return { ...given, ...Object.fromEntries(names.map((name, index) => [name, parts.inPath[index]])) };
  };
}

function check(schema: TSchema, given: unknown, name: string): Fields {
  const checked = checkInput(schema, given, name);
  if (!checked.ok) throw invalidRequest(checked.problem);
  return checked.value as Fields;
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
