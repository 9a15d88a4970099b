/** Operations on secrets (O-6.2): they go in, and only their names come out. */
import { Type } from "typebox";
import { closed } from "../../kernel/vocabulary/schema-primitives.ts";
import { Nothing } from "../operations/input-schemas.ts";
import { operationsOver } from "../operations/operation.ts";
import { timestampOf } from "../ports/clock.ts";
import type { NamedSecret, Secrets } from "./secrets.ts";

export interface SecretServices {
  readonly secrets: Pick<Secrets, "list" | "set" | "remove">;
}

/** As handles and paths spell it. */
const Name = Type.String({ pattern: "^[A-Za-z][A-Za-z0-9_-]{0,63}$" });
const NamedSchema = Type.Object({ name: Type.String(), updated_at: Type.String() });

const { json } = operationsOver<SecretServices>();

export const secretOperations = [
  json({
    name: "secrets.list",
    method: "GET",
    path: "/api/admin/secrets",
    scope: "admin",
    summary: "lists the names of the stored secrets; a value is never shown",
    hasEtag: true,
    input: Nothing,
    output: Type.Object({ secrets: Type.Array(NamedSchema) }),
    call: async ({ secrets }) => ({ ok: true, value: { secrets: (await secrets.list()).map(named) } }),
  }),
  json({
    name: "secrets.set",
    method: "POST",
    path: "/api/admin/secrets",
    scope: "admin",
    summary: "stores a secret (`{name, value}`), sealed, or replaces it; it applies at once",
    input: Type.Object({ name: Name, value: Type.String({ pattern: "\\S", maxLength: 8192 }) }, closed),
    output: NamedSchema,
    async call({ secrets }, { name, value }, { principal }) {
      const set = await secrets.set(name, value, principal);
      return set.ok ? { ok: true, value: named(set.value) } : set;
    },
  }),
  json({
    name: "secrets.remove",
    method: "DELETE",
    path: "/api/admin/secrets/{name}",
    scope: "admin",
    summary: "removes a stored secret, unless a channel needs it",
    input: Type.Object({ name: Name }, closed),
    output: Type.Object({ name: Type.String() }),
    call: ({ secrets }, { name }, { principal }) => secrets.remove(name, principal),
  }),
] as const;

function named({ name, updatedAtMs }: NamedSecret) {
  return { name, updated_at: timestampOf(updatedAtMs) };
}
