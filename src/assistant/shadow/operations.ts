/** Operations on ghosts (T-5.2): what the shadow loop proposes, and an operator's word on it. */
import { Type } from "typebox";
import { closed } from "../../kernel/vocabulary/schema-primitives.ts";
import { Name, pageFields, pageOf } from "../../runtime/operations/input-schemas.ts";
import { operationsOver } from "../../runtime/operations/operation.ts";
import { GHOST_STATES } from "../../runtime/ports/stored-ghost.ts";
import type { Shadow } from "./shadow.ts";
import { GhostSchema, wireGhost } from "./wire-ghost.ts";

export interface ShadowServices {
  readonly shadow: Pick<Shadow, "list" | "act">;
}

const { json } = operationsOver<ShadowServices>();

export const shadowOperations = [
  json({
    name: "ghosts.list",
    method: "GET",
    path: "/api/ghosts",
    scope: "operate",
    summary:
      "lists what the shadow loop noticed and proposes, newest first; `?state=` (`open`, `acted`, `dismissed`, `settled`), `?limit=`, `?offset=`",
    hasEtag: true,
    input: Type.Object({ state: Type.Optional(Type.Enum([...GHOST_STATES])), ...pageFields }, closed),
    output: Type.Object({ ghosts: Type.Array(GhostSchema) }),
    async call({ shadow }, { state, ...page }) {
      return { ok: true, value: { ghosts: (await shadow.list(state ?? null, pageOf(page))).map(wireGhost) } };
    },
  }),
  json({
    name: "ghosts.act",
    method: "POST",
    path: "/api/ghosts/{id}",
    scope: "operate",
    summary:
      "takes an `action` of a ghost, by label, type or plan id: its plan becomes a run (`run_id`), `dismiss` starts none; with `plan_id` only that plan",
    input: Type.Object(
      { id: Type.String({ pattern: "^[\\w-]{1,128}$" }), action: Name, plan_id: Type.Optional(Name) },
      closed,
    ),
    output: GhostSchema,
    async call({ shadow }, { id, action, plan_id = null }, caller) {
      const acted = await shadow.act(id, action, plan_id, caller);
      return acted.ok ? { ok: true, value: wireGhost(acted.ghost) } : acted;
    },
  }),
] as const;
