/** A ghost as clients see it: the seed's GhostMessage (T-5.2), and what has become of it. */
import { type Static, Type } from "typebox";
import { nullable, RunIdSchema } from "../../kernel/vocabulary/schema-primitives.ts";
import { timestampOf } from "../../runtime/ports/clock.ts";
import { GHOST_CONFIDENCES, GHOST_STATES, type StoredGhost } from "../../runtime/ports/stored-ghost.ts";

const Text = Type.String();

export const GhostSchema = Type.Object({
  id: Text,
  trigger: Text,
  observation: Text,
  proposal: Text,
  confidence: Type.Enum([...GHOST_CONFIDENCES]),
  actions: Type.Array(
    Type.Object({
      label: Text,
      type: Type.Enum(["approve", "dismiss", "custom"]),
      /** What a run would be asked, under the id of that plan. */
      payload: Type.Optional(Type.Object({ plan_id: Text, message: Text })),
    }),
  ),
  detector: Text,
  state: Type.Enum([...GHOST_STATES]),
  labels: Type.Object({ integrity: Type.Literal("untrusted"), confidentiality: Type.Literal("private") }),
  created_at: Text,
  decided_by: nullable(Text),
  decided_at: nullable(Text),
  run_id: nullable(RunIdSchema),
});
export type WireGhost = Static<typeof GhostSchema>;

export function wireGhost(ghost: StoredGhost): WireGhost {
  const { id, trigger, observation, proposal, confidence, actions, detector, state, createdAtMs, ...rest } = ghost;
  const { decidedBy, decidedAtMs, runId } = rest;
  return {
    ...{ id, trigger, observation, proposal, confidence, detector, state },
    actions: actions.map(({ label, type, plan }) => ({
      ...{ label, type },
      ...(plan === undefined ? {} : { payload: { plan_id: plan.id, message: plan.message } }),
    })),
    // Of all that was watched, and so of what an action quotes.
    labels: { integrity: "untrusted", confidentiality: "private" },
    created_at: timestampOf(createdAtMs),
    decided_by: decidedBy,
    decided_at: decidedAtMs === null ? null : timestampOf(decidedAtMs),
    run_id: runId,
  };
}
