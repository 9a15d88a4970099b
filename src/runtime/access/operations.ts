/** Operations on who may come in (design §7, Authentication). */
import { type Static, Type } from "typebox";
import { closed } from "../../kernel/vocabulary/schema-primitives.ts";
import { Nothing } from "../operations/input-schemas.ts";
import { operationsOver, refuse } from "../operations/operation.ts";
import { timestampOf } from "../ports/clock.ts";
import type { Access, BrowserSession } from "./access.ts";

export interface AccessServices {
  readonly access: Pick<Access, "newCode" | "logIn" | "browsers" | "endBrowser">;
}

const BrowserSchema = Type.Object({
  id: Type.String(),
  is_this: Type.Boolean(),
  user_agent: Type.String(),
  created_at: Type.String(),
  seen_at: Type.String(),
  expires_at: Type.String(),
});
const IdInput = Type.Object({ id: Type.String({ pattern: "^[\\w-]{1,128}$" }) }, closed);
const Done = Type.Object({ ok: Type.Literal(true) });

const USED = "This login link was used or is too old. Make a new one: surety login";

const { json } = operationsOver<AccessServices>();

export const accessOperations = [
  json({
    name: "login",
    method: "POST",
    path: "/api/login",
    scope: "public",
    summary: "signs a browser in with the code of a login link; the answer sets its cookie",
    input: Type.Object({ code: Type.String({ minLength: 1, maxLength: 256 }) }, closed),
    output: Type.Object({ ok: Type.Literal(true), expires_at: Type.String() }),
    call({ access }, { code }, { userAgent = "" }) {
      const opened = access.logIn(code, userAgent);
      if (opened === null) return refuse("auth.required", USED);
      const { secret, session } = opened;
      const { expiresAtMs } = session;
      const value = { ok: true as const, expires_at: timestampOf(expiresAtMs) };
      return { ok: true, value, cookie: { secret, expiresAtMs } };
    },
  }),
  json({
    name: "logout",
    method: "POST",
    path: "/api/logout",
    scope: "chat",
    summary: "signs this browser out",
    input: Nothing,
    output: Done,
    call({ access }, _input, { credentialId = "" }) {
      if (!access.endBrowser(credentialId)) {
        return refuse("invalid.request", "only a browser signs out; a token is removed: surety tokens rm");
      }
      return { ok: true, value: { ok: true as const }, cookie: null };
    },
  }),
  json({
    name: "login.link",
    method: "POST",
    path: "/api/login-links",
    scope: "admin",
    summary: "makes the code of a login link (`/login#CODE`): it counts once, for ten minutes",
    input: Nothing,
    output: Type.Object({ code: Type.String(), path: Type.String(), expires_at: Type.String() }),
    call({ access }) {
      const { code, expiresAtMs } = access.newCode();
      return { ok: true, value: { code, path: loginPath(code), expires_at: timestampOf(expiresAtMs) } };
    },
  }),
  json({
    name: "browsers.list",
    method: "GET",
    path: "/api/browser-sessions",
    scope: "admin",
    summary: "lists the browsers that are signed in, newest first; `is_this` marks the one that asks",
    hasEtag: true,
    input: Nothing,
    output: Type.Object({ browser_sessions: Type.Array(BrowserSchema) }),
    call({ access }, _input, { credentialId }) {
      const browser_sessions = access.browsers().map((session) => wireBrowser(session, credentialId));
      return { ok: true, value: { browser_sessions } };
    },
  }),
  json({
    name: "browsers.end",
    method: "DELETE",
    path: "/api/browser-sessions/{id}",
    scope: "admin",
    summary: "signs a browser out; its streams and sockets end at once",
    input: IdInput,
    output: Done,
    call({ access }, { id }) {
      if (!access.endBrowser(id)) return refuse("not_found", "no such browser session");
      return { ok: true, value: { ok: true as const } };
    },
  }),
] as const;

/** The code stands in the fragment, which no browser sends. */
export function loginPath(code: string): string {
  return `/login#${code}`;
}

function wireBrowser(session: BrowserSession, ownId: string | undefined): Static<typeof BrowserSchema> {
  const { id, userAgent, createdAtMs, seenAtMs, expiresAtMs } = session;
  return {
    id,
    is_this: id === ownId,
    user_agent: userAgent,
    created_at: timestampOf(createdAtMs),
    seen_at: timestampOf(seenAtMs),
    expires_at: timestampOf(expiresAtMs),
  };
}
