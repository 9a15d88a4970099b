/** Operations on capabilities of sessions (design §7, Capabilities). */
import { type Static, Type } from "typebox";
import type { Capability } from "../../kernel/vocabulary/capability.ts";
import { asSessionId, type SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { Count, closed, nullable, RunIdSchema } from "../../kernel/vocabulary/schema-primitives.ts";
import { toWire } from "../../kernel/vocabulary/wire-case.ts";
import { Name, pageFields, pageOf } from "../operations/input-schemas.ts";
import { operationsOver, type Result, refuse } from "../operations/operation.ts";
import type { SessionCapability, StoredCapability } from "../ports/stored-capability.ts";
import type { Capabilities } from "./capabilities.ts";
import type { CapabilitiesAnswer, SessionCapabilities } from "./stored-capabilities.ts";

export interface CapabilityServices {
  readonly capabilities: Pick<Capabilities, "of" | "pending" | "granted" | "decide">;
}

const ACTS = ["grant", "revoke", "deny"] as const;

const Names = Type.Array(Type.Unsafe<Capability>(Type.String()));
const DetailSchema = Type.Object({
  capability: Type.Unsafe<Capability>(Type.String()),
  state: Type.Enum(["pending", "granted"]),
  by: Type.String(),
  at: Type.String(),
  expires_at: nullable(Type.String()),
  run_id: nullable(RunIdSchema),
});
const SessionIdSchema = Type.Unsafe<SessionId>(Type.String());
const OfSessionSchema = Type.Object({
  session_id: SessionIdSchema,
  granted: Names,
  pending: Names,
  details: Type.Array(DetailSchema),
});
const OfAnySession = Type.Array(Type.Object({ session_id: SessionIdSchema, ...DetailSchema.properties }));
const PendingSchema = Type.Object({ pending: OfAnySession });
const GrantedSchema = Type.Object({ granted: OfAnySession });
export type CapabilityDetail = Static<typeof DetailSchema>;
export type CapabilitiesOfSession = Static<typeof OfSessionSchema>;
export type PendingCapabilities = Static<typeof PendingSchema>;

const { json } = operationsOver<CapabilityServices>();

export const capabilityOperations = [
  json({
    name: "capabilities.list",
    method: "GET",
    path: "/api/capabilities",
    scope: "operate",
    summary:
      "lists what a session (`?session_id=`) may reach and asks for; or what all sessions ask for, or have with `?state=granted`",
    hasEtag: true,
    input: Type.Object(
      {
        session_id: Type.Optional(Name),
        state: Type.Optional(Type.Enum(["pending", "granted"])),
        ...pageFields,
      },
      closed,
    ),
    output: Type.Union([OfSessionSchema, PendingSchema, GrantedSchema]),
    async call({ capabilities }, { session_id, ...list }) {
      if (session_id === undefined) {
        const { state = "pending", ...page } = list;
        if (state === "pending") return { ok: true, value: wirePending(await capabilities.pending(pageOf(page))) };
        return { ok: true, value: { granted: (await capabilities.granted(pageOf(page))).map(wireOfAny) } };
      }
      if (Object.keys(list).length > 0) {
        return refuse("invalid.request", "state, limit and offset belong to the list over all sessions");
      }
      const sessionId = asSessionId(session_id);
      return ofSession(sessionId, await capabilities.of(sessionId));
    },
  }),
  json({
    name: "capabilities.decide",
    method: "POST",
    path: "/api/capabilities",
    scope: "operate",
    summary: "grants, revokes or denies one capability of one session; a grant may expire (`expires_in_s`)",
    takesIdempotencyKey: true,
    input: Type.Object(
      {
        session_id: Name,
        grant: Type.Optional(Name),
        revoke: Type.Optional(Name),
        deny: Type.Optional(Name),
        expires_in_s: Type.Optional(Count),
      },
      closed,
    ),
    output: OfSessionSchema,
    async call({ capabilities }, input, { principal, idempotencyKey }) {
      const [given, ...others] = ACTS.flatMap((act) => {
        const capability = input[act];
        return capability === undefined ? [] : [{ act, capability }];
      });
      if (given === undefined || others.length > 0) {
        return refuse("invalid.request", `exactly one of ${ACTS.join(", ")} is required`);
      }
      const expiresInS = input.expires_in_s ?? null;
      if (expiresInS !== null && given.act !== "grant") {
        return refuse("invalid.request", "expires_in_s belongs to grant");
      }
      const sessionId = asSessionId(input.session_id);
      const decision = { sessionId, ...given, expiresInS, principal, key: idempotencyKey };
      return ofSession(sessionId, await capabilities.decide(decision));
    },
  }),
] as const;

function ofSession(sessionId: SessionId, answer: CapabilitiesAnswer): Result<CapabilitiesOfSession> {
  return answer.ok ? { ok: true, value: wireCapabilities(sessionId, answer.capabilities) } : answer;
}

export function wireCapabilities(
  sessionId: SessionId,
  { granted, pending }: SessionCapabilities,
): CapabilitiesOfSession {
  return {
    session_id: sessionId,
    granted: granted.map(({ capability }) => capability),
    pending: pending.map(({ capability }) => capability),
    details: [...granted, ...pending].map(wireDetail),
  };
}

export function wirePending(pending: readonly SessionCapability[]): PendingCapabilities {
  return { pending: pending.map(wireOfAny) };
}

function wireOfAny(each: SessionCapability) {
  return { session_id: each.sessionId, ...wireDetail(each) };
}

function wireDetail({ capability, state, by, at, expiresAt, runId }: StoredCapability): CapabilityDetail {
  return toWire({ capability, state: state === "granted" ? state : ("pending" as const), by, at, expiresAt, runId });
}
