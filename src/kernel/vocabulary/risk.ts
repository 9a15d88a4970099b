/** The effect of a tool (P-3.3), the effect of repeating it, and the class of channel that asks. */
export const RISK_CLASSES = ["read_only", "draft_only", "side_effect"] as const;
export type RiskClass = (typeof RISK_CLASSES)[number];

export const IDEMPOTENCY_CLASSES = ["read_only", "own_store", "keyed", "opaque"] as const;
/** `read_only`: repeat freely. `own_store`: same transaction. `keyed`: repeat with its key. `opaque`: never repeat by itself. */
export type IdempotencyClass = (typeof IDEMPOTENCY_CLASSES)[number];

export const CHANNEL_CLASSES = ["cli_local", "external_message", "external_email"] as const;
export type ChannelClass = (typeof CHANNEL_CLASSES)[number];
