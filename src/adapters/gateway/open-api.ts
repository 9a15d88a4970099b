/** The table of operations as an OpenAPI 3.1 document: what GET /openapi.json answers. */
import type { AnyOperation } from "../../runtime/operations/operation.ts";
import { ERROR_CODES } from "./http-error.ts";
import { bodyOf, placeholdersIn, queryOf } from "./read-input.ts";

const ERROR_RESPONSE = { $ref: "#/components/responses/Error" };
const TEXT = { type: "string" };

const SIGNED_HEADERS = ["webhook-id", "webhook-timestamp", "webhook-signature"];

const COMPONENTS = {
  securitySchemes: {
    bearer: { type: "http", scheme: "bearer", description: "The token of the home: `~/.surety/token`." },
  },
  schemas: {
    Error: {
      type: "object",
      required: ["error"],
      properties: {
        error: {
          type: "object",
          required: ["code", "message"],
          properties: { code: { type: "string", enum: ERROR_CODES }, message: TEXT },
        },
      },
    },
  },
  responses: {
    Error: {
      description: "Refused or failed; the code says why, the message what to do.",
      content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
    },
  },
};

export function openApiDocument(operations: readonly AnyOperation[]): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of operations) {
    const { path, method } = operation;
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationObject(operation) };
  }
  return {
    openapi: "3.1.0",
    info: { title: "Surety gateway", version: "1", description: "A null field of a JSON body counts as left out." },
    components: COMPONENTS,
    paths,
  };
}

function operationObject(operation: AnyOperation): object {
  const { name, scope, summary } = operation;
  const isSigned = operation.kind === "json" && operation.isSigned === true;
  const body = bodyOf(operation);
  const isBytes = operation.kind === "json" && operation.bodyBytes !== undefined;
  const content = isBytes
    ? { "application/octet-stream": { schema: { type: "string", format: "binary" } } }
    : { "application/json": { schema: isSigned ? { type: "object" } : body } };
  return {
    operationId: name,
    summary,
    security: scope === "public" ? [] : [{ bearer: [scope] }],
    parameters: parametersOf(operation),
    ...(body === null ? {} : { requestBody: { required: true, content } }),
    responses: { ...successOf(operation), default: ERROR_RESPONSE },
  };
}

function parametersOf(operation: AnyOperation): readonly object[] {
  const { path, input } = operation;
  const inPath = placeholdersIn(path).map((name) => parameter("path", name, input.properties[name]));
  const fields = queryOf(operation);
  const inQuery = Object.entries(fields.properties);
  const isSigned = operation.kind === "json" && operation.isSigned === true;
  const takesIfMatch = operation.kind === "json" && operation.takesIfMatch === true;
  const takesKey = operation.kind === "json" && operation.takesIdempotencyKey === true;
  return [
    ...inPath,
    ...inQuery.map(([name, schema]) => parameter("query", name, schema, fields.required?.includes(name))),
    ...(isSigned ? SIGNED_HEADERS.map((name) => parameter("header", name, TEXT, true)) : []),
    ...(takesKey ? [parameter("header", "Idempotency-Key", { ...TEXT, maxLength: 255 })] : []),
    ...(operation.kind === "json" && operation.method === "GET" ? [parameter("header", "If-None-Match", TEXT)] : []),
    ...(takesIfMatch ? [parameter("header", "If-Match", TEXT)] : []),
    ...(operation.kind === "stream" ? [parameter("header", "Last-Event-ID", TEXT)] : []),
  ];
}

function parameter(where: "path" | "query" | "header", name: string, schema: object = {}, isRequired = false): object {
  return { name, in: where, required: isRequired || where === "path", schema };
}

function successOf(operation: AnyOperation): object {
  if (operation.kind === "file") {
    const binary = { schema: { type: "string", format: "binary" } };
    const content = Object.fromEntries(operation.contentTypes.map((type) => [type, binary]));
    return { 200: { description: "The file.", content } };
  }
  if (operation.kind !== "stream") {
    const status = operation.kind === "json" ? (operation.status ?? 200) : 200;
    return { [status]: { description: "Success.", content: { "application/json": { schema: operation.output } } } };
  }
  const { events } = operation;
  return {
    200: {
      description: "Server-sent events; x-events has the schema of each event's data.",
      content: { "text/event-stream": { schema: TEXT, "x-events": events } },
    },
    204: { description: "The stream has ended and nothing follows Last-Event-ID." },
  };
}
