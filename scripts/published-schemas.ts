/** The JSON Schemas we publish, generated from the schemas the code itself checks with: file name to text. */
import { type TSchema, Type } from "typebox";
import { ExecutionContractSchema, SeedContractFields } from "../src/kernel/contract/contract.ts";
import { BundleSchema } from "../src/kernel/journal/bundle.ts";
import { type EntryKind, entrySchemaOf, STATE_OF } from "../src/kernel/journal/entry.ts";
import { AuditEventSchema } from "../src/kernel/journal/views/audit-events.ts";
import { LifecycleEventSchema } from "../src/kernel/journal/views/lifecycle-events.ts";
import { ReceiptSchema } from "../src/kernel/journal/views/receipt.ts";
import { RunRecordSchema } from "../src/kernel/journal/views/run-record.ts";
import { RunSummarySchema } from "../src/kernel/journal/views/run-summary.ts";
import { TraceEventSchema } from "../src/kernel/journal/views/trace-events.ts";
import { WsMessageSchema } from "../src/kernel/journal/views/websocket-messages.ts";
import { ToolPolicySchema } from "../src/kernel/policy/tool-policy.ts";
import { AgentMessageSchema, ToolInvocationSchema } from "../src/kernel/vocabulary/message.ts";
import { HashSchema } from "../src/kernel/vocabulary/schema-primitives.ts";
import { toWireSchema } from "../src/kernel/vocabulary/spelling.ts";
import { ToolErrorSchema, ToolRequestSchema, ToolResponseSchema } from "../src/kernel/vocabulary/tool-envelope.ts";

const closed = { additionalProperties: false };
const entryKinds = Object.keys(STATE_OF) as readonly EntryKind[];

/** Written in our camelCase: published in the wire's spelling. */
const INSIDE: Readonly<Record<string, TSchema>> = {
  "agent-message": AgentMessageSchema,
  "execution-contract-2.1": Type.Object({ ...SeedContractFields, contractHash: HashSchema }, closed),
  "execution-contract-2.2": ExecutionContractSchema,
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

export function publishedSchemas(): Readonly<Record<string, string>> {
  // Through JSON once: TypeBox keeps marks of its own on schemas that are no part of the document.
  const plain = (schema: TSchema): Record<string, unknown> => JSON.parse(JSON.stringify(schema));
  const inside = Object.entries(INSIDE).map(([name, schema]) => publish(name, toWireSchema(plain(schema))));
  const wire = Object.entries(WIRE).map(([name, schema]) => publish(name, plain(schema)));
  return Object.fromEntries([...inside, ...wire].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function publish(name: string, schema: object): readonly [string, string] {
  const document = { $schema: "https://json-schema.org/draft/2020-12/schema", title: name, ...schema };
  return [`${name}.schema.json`, `${JSON.stringify(document, null, 2)}\n`];
}
