/**
 * One request to the gateway and its whole answer.
 *
 * X1. The token goes to this gateway alone: each connection proves first that it leads there, carries one request and its
 *     answer, and redirects are not followed.
 * X2. An error has the one shape; anything else is `gateway.unintelligible`.
 */
import { type Static, type TSchema, Type } from "typebox";
import { buildConnector, Client, fetch, type Response } from "undici";
import type { TrustedKey } from "../../kernel/journal/checkpoint.ts";
import { isValid } from "../../runtime/operations/check-value.ts";
import { IdentitySchema, isProven } from "../../runtime/operations/gateway-identity.ts";
import { type Method, REFUSAL_CODES, type Refusal, refuse } from "../../runtime/operations/operation.ts";
import { StoreError } from "../../runtime/ports/store.ts";
import { GatewayClientError, unauthorized, unintelligible, unproven, unreachable } from "./gateway-client-error.ts";

const ErrorSchema = Type.Object({
  error: Type.Object({
    code: Type.String(),
    message: Type.String(),
    problems: Type.Optional(Type.Array(Type.Object({ path: Type.String(), message: Type.String() }))),
  }),
});

export interface Question {
  readonly method?: Method;
  readonly path: string;
  readonly body?: unknown;
  /** In place of a JSON body. */
  readonly bytes?: Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly ok: true;
  readonly text: string;
  readonly headers: Headers;
}

export interface Exchange {
  /** Where the last request went. */
  readonly url: string;
  /** Resolves when the head of the answer has arrived. Rejects with `gateway.unreachable`. */
  open(question: Question, signal: AbortSignal): Promise<Response>;
  ask(question: Question): Promise<Answer | Refusal>;
  /** The refusal in an unsuccessful answer; throws for any other error. */
  refusalIn(response: Response): Promise<Refusal>;
}

export interface ExchangeParts {
  /** The gateway's address; null when there is none. Looked up for each request: it may have been restarted. */
  readonly find: () => Promise<string | null>;
  readonly token: string;
  /** The home's. */
  readonly key: TrustedKey;
  readonly newNonce: () => string;
  /** Of a gateway that speaks TLS: its own certificate, and the only one that is believed. Its name does not matter here. */
  readonly certificate?: () => Promise<string | null>;
  readonly timeoutMs: number;
}

export function createExchange(parts: ExchangeParts): Exchange {
  const { find, token, key, newNonce, timeoutMs, certificate = () => Promise.resolve(null) } = parts;
  let url = "";

  const prove = async (connection: Client, signal: AbortSignal): Promise<void> => {
    const nonce = newNonce();
    const response = await fetch(new URL(`/v1/identity?nonce=${nonce}`, url), {
      ...{ signal, dispatcher: connection, redirect: "error" },
    });
    const text = await response.text();
    // It may be busy: then the caller tries again later.
    if (response.status === 429 || response.status === 503) throw unreachable(url, "is busy");
    const proof = response.ok ? decode(IdentitySchema, text) : null;
    if (proof === null || !isProven(proof, url, nonce, key)) throw unproven(url);
  };

  const open: Exchange["open"] = async ({ method = "GET", path, body, bytes, headers }, signal) => {
    const found = await find();
    if (found === null) throw unreachable("this home", "is not running");
    url = found;
    const trusted = found.startsWith("https:") ? await certificate() : null;
    const connection = new Client(url, { connect: onlyOnce(trusted), headersTimeout: 0, bodyTimeout: 0 });
    try {
      await prove(connection, signal);
      const answer = await fetch(new URL(path, url), {
        ...{ method, signal, dispatcher: connection, redirect: "error" },
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
        body: bytes ?? (body === undefined ? null : JSON.stringify(body)),
      });
      // Once the answer has been read.
      connection.close().catch(() => {});
      return answer;
    } catch (error) {
      connection.destroy().catch(() => {});
      if (error instanceof GatewayClientError) throw error;
      throw unreachable(url, signal.aborted ? "did not answer in time" : "cannot be reached", error);
    }
  };

  const textOf = async (response: Response): Promise<string> => {
    try {
      return await response.text();
    } catch (error) {
      throw unreachable(url, "broke off its answer", error);
    }
  };

  const refusalIn: Exchange["refusalIn"] = async (response) => {
    const answer = decode(ErrorSchema, await textOf(response));
    if (answer === null) throw unintelligible(url, `answered ${response.status}`);
    const { code, message, problems } = answer.error;
    if (code === "auth.required" || code === "auth.rate_limited") throw unauthorized(url);
    if (code === "store.unavailable") throw new StoreError("store.unavailable", message);
    const refused = REFUSAL_CODES.find((known) => known === code);
    if (refused === undefined) throw unintelligible(url, `answered ${response.status} ${code}`);
    return problems === undefined ? refuse(refused, message) : { ...refuse(refused, message), problems };
  };

  return {
    get url() {
      return url;
    },
    open,
    refusalIn,
    async ask(question) {
      const response = await open(question, AbortSignal.timeout(timeoutMs));
      if (!response.ok) return await refusalIn(response);
      return { ok: true, text: await textOf(response), headers: response.headers };
    },
  };
}

/** A connection that was lost must not be opened again: another program may listen by then. */
function onlyOnce(certificate: string | null): buildConnector.connector {
  const pinned = { ca: certificate ?? "", allowPartialTrustChain: true, checkServerIdentity: () => undefined };
  const connect = buildConnector({ timeout: 0, ...(certificate === null ? {} : pinned) });
  let isUsed = false;
  return (options, callback) => {
    if (isUsed) callback(new Error("the connection was lost"), null);
    else connect(options, callback);
    isUsed = true;
  };
}

/** Null when the text is not what the schema says. */
export function decode<Schema extends TSchema>(schema: Schema, text: string): Static<Schema> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isValid(schema, value) ? value : null;
  } catch {
    return null;
  }
}
