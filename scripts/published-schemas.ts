/** The JSON Schemas we publish, generated from the schemas the code itself checks with: file name to text. */
import { type TSchema, Type } from "typebox";
import { EarlierContractSchema, ExecutionContractSchema, SeedContractSchema } from "../src/kernel/contract/contract.ts";
import { BundleSchema } from "../src/kernel/journal/bundle.ts";
import { type EntryKind, entrySchemaOf } from "../src/kernel/journal/entry.ts";
import { STATE_OF } from "../src/kernel/journal/entry-encoding.ts";
import { EventSchemas } from "../src/kernel/journal/event.ts";
import { AuditEventSchema } from "../src/kernel/journal/views/audit-events.ts";
import { LifecycleEventSchema } from "../src/kernel/journal/views/lifecycle-events.ts";
import { ReceiptSchema } from "../src/kernel/journal/views/receipt.ts";
import { RunRecordSchema } from "../src/kernel/journal/views/run-record.ts";
import { RunSummarySchema } from "../src/kernel/journal/views/run-summary.ts";
import { TraceEventSchema } from "../src/kernel/journal/views/trace-events.ts";
import { WsMessageSchema } from "../src/kernel/journal/views/websocket-messages.ts";
import { ToolPolicySchema } from "../src/kernel/policy/tool-policy.ts";
import { AgentMessageSchema, ToolInvocationSchema } from "../src/kernel/vocabulary/message.ts";
import { ToolErrorSchema, ToolRequestSchema, ToolResponseSchema } from "../src/kernel/vocabulary/tool-envelope.ts";
import { toWireSchema } from "../src/kernel/vocabulary/wire-case.ts";

const entryKinds = Object.keys(STATE_OF) as readonly EntryKind[];

/** Written in our camelCase: published in the wire's spelling. */
const INSIDE: Readonly<Record<string, TSchema>> = {
  "agent-message": AgentMessageSchema,
  "execution-contract-2.1": SeedContractSchema,
  "execution-contract-2.2": EarlierContractSchema,
  "execution-contract-2.3": ExecutionContractSchema,
  "journal-entry": Type.Union(entryKinds.map(entrySchemaOf)),
  "tool-error": ToolErrorSchema,
  "tool-invocation": ToolInvocationSchema,
  "tool-policy": ToolPolicySchema,
  "tool-request": ToolRequestSchema,
  "tool-response": ToolResponseSchema,
};

/** Views are written in the wire's spelling already. */
const WIRE: Readonly<Record<string, TSchema>> = {
  "audit-event": AuditEventSchema,
  "lifecycle-event": LifecycleEventSchema,
  receipt: ReceiptSchema,
  "run-bundle": BundleSchema,
  "run-record": RunRecordSchema,
  "run-summary": RunSummarySchema,
  "trace-event": TraceEventSchema,
  "websocket-message": WsMessageSchema,
};

/** What stands in many places of one document and is written once, under `$defs`. */
const SHARED: Readonly<Record<string, TSchema>> = {
  ...EventSchemas,
  event: Type.Union(Object.values(EventSchemas)),
  result: entrySchemaOf("COMMIT").properties.result,
  "tool-policy": ToolPolicySchema,
};

export function publishedSchemas(): Readonly<Record<string, string>> {
  const inside = Object.entries(INSIDE).map(([name, schema]) => publish(name, toWireSchema(plain(schema))));
  const wire = Object.entries(WIRE).map(([name, schema]) => publish(name, plain(schema)));
  return Object.fromEntries([...inside, ...wire].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function publish(name: string, schema: object): readonly [string, string] {
  const document = { $schema: "https://json-schema.org/draft/2020-12/schema", title: name, ...withDefinitions(schema) };
  return [`${name}.schema.json`, `${JSON.stringify(document, null, 2)}\n`];
}

/** Through JSON once: TypeBox keeps marks of its own on schemas that are no part of the document. */
function plain(schema: TSchema): Record<string, unknown> {
  return JSON.parse(JSON.stringify(schema));
}

const definitions = new Map(
  Object.entries(SHARED).map(([name, schema]) => [JSON.stringify(toWireSchema(plain(schema))), name]),
);

function withDefinitions(schema: object): object {
  const used = new Map<string, unknown>();
  const body = mapValues(schema, refer);
  if (used.size === 0) return body;
  return { ...body, $defs: Object.fromEntries([...used].sort(([a], [b]) => (a < b ? -1 : 1))) };

  function refer(node: unknown): unknown {
    if (typeof node !== "object" || node === null) return node;
    if (Array.isArray(node)) return node.map(refer);
    const name = definitions.get(JSON.stringify(node));
    if (name === undefined) return mapValues(node, refer);
    // Named before it is filled, since definitions refer to one another.
    if (!used.has(name)) used.set(name, null).set(name, mapValues(node, refer));
    return { $ref: `#/$defs/${name}` };
  }
}

function mapValues(node: object, map: (value: unknown) => unknown): object {
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, map(value)]));
}
