/** Operations of the gateway itself: its health, and its own description. Everything else is in assistant/operations.ts. */
import { type Static, Type } from "typebox";
import { OPERATIONS } from "../../assistant/operations.ts";
import { IdentityInput, IdentitySchema } from "../../runtime/operations/gateway-identity.ts";
import { Nothing } from "../../runtime/operations/input-schemas.ts";
import { type AnyOperation, operationsOver } from "../../runtime/operations/operation.ts";
import { openApiDocument } from "./open-api.ts";

export interface GatewayServices {
  /** Whether anything can be accepted. */
  readonly isHealthy: () => boolean;
  readonly prove: (nonce: string) => Static<typeof IdentitySchema>;
}

const { json, document } = operationsOver<GatewayServices>();

const health = <const Name extends string>(name: Name, path: `/${string}`) =>
  json({
    name,
    method: "GET",
    path,
    scope: "public",
    summary: '`{"ok": true}`; 503 while storage is unavailable or the gateway stops',
    // Load balancers add parameters of their own.
    input: Type.Object({}),
    output: Type.Object({ ok: Type.Boolean() }),
    call({ isHealthy }) {
      const ok = isHealthy();
      return { ok: true, value: { ok }, ...(ok ? {} : { status: 503 }) };
    },
  });

const identity = json({
  name: "identity",
  method: "GET",
  path: "/v1/identity",
  scope: "public",
  summary:
    "proves which home this gateway belongs to: signs its address and `?nonce=` (32 to 86 letters, digits, `_-`)",
  input: IdentityInput,
  output: IdentitySchema,
  call: ({ prove }, { nonce }) => ({ ok: true, value: prove(nonce) }),
});

let openApi: string | null = null;

export const GATEWAY_OPERATIONS = [
  health("health", "/healthz"),
  health("api.health", "/api/health"),
  identity,
  document({
    name: "openapi",
    method: "GET",
    path: "/openapi.json",
    scope: "operate",
    summary: "describes all of this as OpenAPI 3.1",
    input: Nothing,
    output: Type.Object({ openapi: Type.String() }),
    call() {
      openApi ??= JSON.stringify(openApiDocument(HTTP_OPERATIONS));
      return { ok: true, value: openApi };
    },
  }),
] as const;

/** Every operation that has a path, in the order of docs/http.md. */
export const HTTP_OPERATIONS: readonly AnyOperation[] = [...GATEWAY_OPERATIONS, ...OPERATIONS];
