/**
 * What the gateway wrote, from the wire's shapes to the assistant's.
 *
 * Schemas are compiled when first needed: most commands need one of them, once.
 */
import { type Static, type TSchema, Type } from "typebox";
import { Compile, type Validator } from "typebox/compile";
import { RunRecordSchema } from "../../kernel/journal/views/run-record.ts";
import type { Capability } from "../../kernel/vocabulary/capability.ts";
import {
  asApprovalId,
  asBodyRef,
  asCallId,
  asHash,
  asRunId,
  asSessionId,
} from "../../kernel/vocabulary/identifiers.ts";
import { CONFIDENTIALITIES, INTEGRITIES } from "../../kernel/vocabulary/labels.ts";
import { Count, nullable } from "../../kernel/vocabulary/schema-primitives.ts";
import type { SessionCapabilities } from "../../runtime/capabilities/stored-capabilities.ts";
import type { ApprovalCard } from "../../runtime/ports/approver.ts";
import { RUN_STATUSES, type SessionCapability, type StoredCapability } from "../../runtime/ports/store.ts";

const Text = Type.String();

export const StatusSchema = Type.Object({ id: Text, status: Type.Enum([...RUN_STATUSES]) });
export const SubmissionSchema = Type.Object({ ...StatusSchema.properties, session_id: Text });
export const RunListSchema = Type.Object({ runs: Type.Array(RunRecordSchema), total: Count });
export const ToolStreamSchema = Type.Object({
  step: Count,
  call_id: Text,
  stream: Type.Enum(["stdout", "stderr"]),
  offset: Count,
  text: Text,
});
export const ModelWaitSchema = Type.Object({ code: Text, wait_ms: Count });
export const DeltaSchema = Type.Object({ attempt: Count, offset: Count, text: Text });
const CardSchema = Type.Object({
  id: Text,
  kind: Type.Enum(["approve", "resolve"]),
  run_id: Text,
  session_id: Text,
  call_id: Text,
  step: Count,
  tool: Text,
  plan: Text,
  plan_ref: Text,
  plan_hash: Text,
  why: Text,
  labels: Type.Object({
    integrity: Type.Enum([...INTEGRITIES]),
    confidentiality: Type.Enum([...CONFIDENTIALITIES]),
  }),
  created_at: Text,
  expires_at: Text,
  state: Type.Enum(["pending", "allowed", "denied", "expired", "consumed", "done", "retry", "fail"]),
  decided_by: nullable(Text),
  decided_at: nullable(Text),
});
export const ApprovalsSchema = Type.Object({ approvals: Type.Array(CardSchema) });
const CapabilitySchema = Type.Object({
  capability: Text,
  state: Type.Enum(["pending", "granted"]),
  by: Text,
  at: Text,
  expires_at: nullable(Text),
  run_id: nullable(Text),
});
const SessionCapabilitySchema = Type.Object({ ...CapabilitySchema.properties, session_id: Text });
export const CapabilitiesSchema = Type.Object({ details: Type.Array(CapabilitySchema) });
export const PendingCapabilitiesSchema = Type.Object({ pending: Type.Array(SessionCapabilitySchema) });

export const MarksSchema = Type.Object({ marks: Type.Array(Text) });

const validators = new WeakMap<TSchema, Validator>();

/** Null when the text is not what the schema says. */
export function decode<Schema extends TSchema>(schema: Schema, text: string): Static<Schema> | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const validator = validators.get(schema) ?? Compile(schema);
  validators.set(schema, validator);
  return validator.Check(value) ? (value as Static<Schema>) : null;
}

export function sessionCapabilities({ details }: Static<typeof CapabilitiesSchema>): SessionCapabilities {
  const known = details.map(storedCapability);
  return {
    granted: known.filter(({ state }) => state === "granted"),
    pending: known.filter(({ state }) => state === "pending"),
  };
}

export function sessionCapability(wire: Static<typeof SessionCapabilitySchema>): SessionCapability {
  return { sessionId: asSessionId(wire.session_id), ...storedCapability(wire) };
}

function storedCapability(wire: Static<typeof CapabilitySchema>): StoredCapability {
  const { capability, state, by, at, expires_at, run_id } = wire;
  const runId = run_id === null ? null : asRunId(run_id);
  return { capability: capability as Capability, state, by, at, expiresAt: expires_at, runId };
}

export function approvalCard(wire: Static<typeof CardSchema>): ApprovalCard {
  return {
    id: asApprovalId(wire.id),
    kind: wire.kind,
    runId: asRunId(wire.run_id),
    sessionId: asSessionId(wire.session_id),
    callId: asCallId(wire.call_id),
    step: wire.step,
    tool: wire.tool,
    shown: wire.plan,
    planRef: asBodyRef(wire.plan_ref),
    planHash: asHash(wire.plan_hash),
    why: wire.why,
    labels: wire.labels,
    createdAtMs: Date.parse(wire.created_at),
    expiresAtMs: Date.parse(wire.expires_at),
    state: wire.state,
    decidedBy: wire.decided_by,
    decidedAtMs: wire.decided_at === null ? null : Date.parse(wire.decided_at),
  };
}
