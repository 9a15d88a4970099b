/** Operations on channels: what comes in, who may speak, and what waits to go out. */
import { type Static, Type } from "typebox";
import { Count, closed, nullable, RunIdSchema } from "../../kernel/vocabulary/schema-primitives.ts";
import { Name, pageFields, pageOf } from "../../runtime/operations/input-schemas.ts";
import { operationsOver, refuse } from "../../runtime/operations/operation.ts";
import type { HookRequest, Taken } from "../../runtime/ports/channel.ts";
import { timestampOf } from "../../runtime/ports/clock.ts";
import { OUTBOX_STATES, type OutboxRow, type StoredPairing } from "../../runtime/ports/stored-delivery.ts";
import type { Delivery } from "./delivery.ts";

export interface DeliveryServices {
  readonly delivery: Pick<Delivery, "receiveHook" | "pairing" | "messages" | "settle">;
}

const AnyText = Type.String();

const PairingSchema = Type.Object({
  channel: AnyText,
  sender_id: AnyText,
  sender_name: nullable(AnyText),
  /** `forged`: another program changed the row; it counts for nothing until an operator decides again. */
  state: Type.Enum(["pending", "accepted", "denied", "forged"]),
  code: nullable(AnyText),
  requested_at: AnyText,
  /** Of a code. */
  expires_at: nullable(AnyText),
  decided_by: nullable(AnyText),
  decided_at: nullable(AnyText),
});
export type WirePairing = Static<typeof PairingSchema>;

const MessageSchema = Type.Object({
  id: AnyText,
  state: Type.Enum([...OUTBOX_STATES]),
  channel: AnyText,
  recipient: Type.Object({ address: AnyText, type: AnyText }),
  text: nullable(AnyText),
  run_id: nullable(RunIdSchema),
  created_at: AnyText,
  attempts: Count,
  problem: nullable(AnyText),
});

const { json } = operationsOver<DeliveryServices>();

export const deliveryOperations = [
  json({
    name: "hooks.receive",
    method: "POST",
    path: "/hooks/{name}",
    scope: "public",
    summary:
      'takes a message of a configured webhook, signed as Standard Webhooks say; `{"ok": true}` once it is durable',
    isSigned: true,
    input: Type.Object(
      { name: Name, webhook_id: AnyText, webhook_timestamp: AnyText, webhook_signature: AnyText, body: AnyText },
      closed,
    ),
    output: Type.Object({ ok: Type.Boolean() }),
    async call({ delivery }, { name, body, ...signed }) {
      const headers: HookRequest["headers"] = {
        "webhook-id": signed.webhook_id,
        "webhook-timestamp": signed.webhook_timestamp,
        "webhook-signature": signed.webhook_signature,
      };
      const taken: Taken = await delivery.receiveHook(name, { headers, body });
      return taken.ok ? { ok: true, value: { ok: true } } : taken;
    },
  }),
  json({
    name: "pairings.list",
    method: "GET",
    path: "/api/pairings",
    scope: "operate",
    summary: "lists the senders of channels: those who wait with a code, and those accepted or denied",
    hasEtag: true,
    input: Type.Object(pageFields, closed),
    output: Type.Object({ pairings: Type.Array(PairingSchema) }),
    async call({ delivery }, input) {
      return { ok: true, value: { pairings: (await delivery.pairing.list(pageOf(input))).map(wirePairing) } };
    },
  }),
  json({
    name: "pairings.decide",
    method: "POST",
    path: "/api/pairings",
    scope: "operate",
    summary: "accepts or denies a sender, by code or as `channel:sender`; denying also takes an acceptance back",
    input: Type.Object({ sender: Name, decision: Type.Enum(["accept", "deny"]) }, closed),
    output: Type.Object({ channel: AnyText, sender_id: AnyText, state: Type.Enum(["accepted", "denied"]) }),
    async call({ delivery }, { sender, decision }, { principal }) {
      const state = decision === "accept" ? ("accepted" as const) : ("denied" as const);
      const decided = await delivery.pairing.decide(sender, state, principal);
      if (!decided.ok) return decided;
      const { channel, senderId } = decided.sender;
      return { ok: true, value: { channel, sender_id: senderId, state } };
    },
  }),
  json({
    name: "outbox.list",
    method: "GET",
    path: "/api/outbox",
    scope: "operate",
    summary: "lists messages to channels, newest first; `?state=`, `?limit=`, `?offset=`",
    hasEtag: true,
    input: Type.Object({ state: Type.Optional(Type.Enum([...OUTBOX_STATES])), ...pageFields }, closed),
    output: Type.Object({ messages: Type.Array(MessageSchema) }),
    async call({ delivery }, { state, ...page }) {
      const rows = await delivery.messages(state ?? null, pageOf(page));
      return { ok: true, value: { messages: rows.map(wireMessage) } };
    },
  }),
  json({
    name: "outbox.settle",
    method: "POST",
    path: "/api/outbox",
    scope: "operate",
    summary:
      "says what became of an `ambiguous` message (`sent`, `failed`), or sends it or a `failed` one again (`retry`)",
    input: Type.Object(
      { id: Type.String({ maxLength: 600 }), decision: Type.Enum(["sent", "failed", "retry"]) },
      closed,
    ),
    output: Type.Object({ id: AnyText, state: Type.Enum([...OUTBOX_STATES]) }),
    async call({ delivery }, { id, decision }) {
      const state = await delivery.settle(id, decision);
      if (state !== null) return { ok: true, value: { id, state } };
      return refuse("conflict", "there is no such message whose fate is open; see GET /api/outbox");
    },
  }),
] as const;

export function wirePairing(pairing: StoredPairing): WirePairing {
  const { channel, senderId, senderName, state, code, requestedAtMs, expiresAtMs, decidedBy, decidedAt } = pairing;
  return {
    ...{ channel, state, code, sender_id: senderId, sender_name: senderName },
    requested_at: timestampOf(requestedAtMs),
    expires_at: state === "pending" ? timestampOf(expiresAtMs) : null,
    decided_by: decidedBy,
    decided_at: decidedAt,
  };
}

function wireMessage({ id, state, channel, recipient, text, runId, createdAt, attempts, problem }: OutboxRow) {
  return {
    id,
    state,
    channel,
    recipient: { ...recipient },
    text,
    run_id: runId,
    created_at: createdAt,
    attempts,
    problem,
  };
}
