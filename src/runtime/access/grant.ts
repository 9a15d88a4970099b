/** What a credential allows, and in whose name: the part of a `Caller` that admission decides. */
import { type Caller, scopesUpTo } from "../operations/operation.ts";

export interface Grant extends Omit<Caller, "idempotencyKey"> {
  /** Aborted once the credential no longer counts: streams and sockets that it opened end then. */
  readonly ended: AbortSignal;
}

const NEVER = new AbortController().signal;

export const ANONYMOUS: Grant = {
  ...{ principal: "anonymous", source: "http", scopes: scopesUpTo("public"), sender: null },
  ended: NEVER,
};

/** The holder of the home's own token: may do everything, and speak for anyone. */
export const OPERATOR: Grant = {
  ...{ principal: "operator", source: "http", scopes: scopesUpTo("admin"), sender: null },
  ended: NEVER,
};
