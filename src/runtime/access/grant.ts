/** What a credential allows, and in whose name: the part of a `Caller` that admission decides. */
import { type Caller, type Scope, type Sender, scopesUpTo } from "../operations/operation.ts";

export interface Grant extends Omit<Caller, "idempotencyKey"> {
  /** Aborted once the credential no longer counts: streams and sockets that it opened end then. */
  readonly ended: AbortSignal;
}

/** What a request may prove itself with. `digest` is the SHA-256 of the secret, in hexadecimal. */
export interface Credentials {
  /** Null: no such token, or none any more. */
  findToken(digest: string): Grant | null;
  /** By the secret of its cookie. */
  findBrowser(digest: string): Grant | null;
}

export const ANONYMOUS: Grant = {
  ...{ principal: "anonymous", source: "http", scopes: scopesUpTo("public"), sender: null },
  ended: new AbortController().signal,
};

/** Of the person who runs this gateway: may do everything, and speak for anyone. */
const OPERATOR = "operator";

/** Where the credential speaks for one sender, it acts in that one's name; a token made for a program, in its own. */
export function grantOf(credentialId: string, scope: Scope, sender: Sender | null, ended: AbortSignal): Grant {
  const own = credentialId.startsWith("token_") ? credentialId : OPERATOR;
  const principal = sender === null ? own : `${sender.channel}:${sender.senderId}`;
  return { principal, source: "http", scopes: scopesUpTo(scope), sender, credentialId, ended };
}
