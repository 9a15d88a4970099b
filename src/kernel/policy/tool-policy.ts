/**
 * The shape of the tool policy as configured (`tools.policy`, P-3.2) and as sealed into a contract. A pattern that
 * `tool-pattern.ts` could never match (`fs*`, `.*`) is refused: as a denial it would silently deny nothing.
 */
import { type Static, Type } from "typebox";
import { CHANNEL_CLASSES, RISK_CLASSES } from "../vocabulary/risk.ts";

/** A name, a namespace as `fs.*`, or `*`. */
const ToolPattern = Type.String({ pattern: "^(\\*|[^*\\s]+(\\.\\*)?)$", maxLength: 128 });
const Decision = Type.Enum(["allow", "approve", "deny"]);

export const ToolPolicySchema = Type.Object(
  {
    /** The kill switch. */
    sideEffects: Type.Enum(["enabled", "disabled"]),
    /** Tool names, or a namespace as `fs.*`, or `*`. Anything else is denied. */
    allow: Type.Array(ToolPattern),
    /** By channel class; an absent class has no tools. */
    channels: Type.Object(recordOf(CHANNEL_CLASSES, Type.Optional(Type.Array(ToolPattern))), {
      additionalProperties: false,
    }),
    risk: Type.Object(recordOf(RISK_CLASSES, Decision), { additionalProperties: false }),
    exceptions: Type.Array(
      Type.Object(
        { tool: ToolPattern, channel: Type.Optional(Type.Enum([...CHANNEL_CLASSES])), decision: Decision },
        { additionalProperties: false },
      ),
    ),
    honeypot: Type.Object(
      {
        templates: Type.Array(Type.String()),
        recipientTypes: Type.Array(Type.String()),
        perHour: Type.Integer({ minimum: 0 }),
      },
      { additionalProperties: false },
    ),
    /** Domains that the broad `net` capability reaches; null when no global allowlist is configured. */
    allowDomains: Type.Union([Type.Array(Type.String()), Type.Null()]),
  },
  { additionalProperties: false },
);
export type ToolPolicy = Static<typeof ToolPolicySchema>;
export type PolicyVerdict = Static<typeof Decision>;

function recordOf<Key extends string, Schema>(keys: readonly Key[], schema: Schema): Record<Key, Schema> {
  return Object.fromEntries(keys.map((key) => [key, schema])) as Record<Key, Schema>;
}
