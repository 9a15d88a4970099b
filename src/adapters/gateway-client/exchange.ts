/**
 * One request to the gateway and its whole answer.
 *
 * X1. The token goes to this gateway alone: redirects are not followed.
 * X2. An error has the one shape; anything else is `gateway.unintelligible`.
 */
import { type Static, type TSchema, Type } from "typebox";
import { isValid } from "../../runtime/operations/check-value.ts";
import { REFUSAL_CODES, type Refusal, refuse } from "../../runtime/operations/operation.ts";
import { StoreError } from "../../runtime/ports/store.ts";
import { unauthorized, unintelligible, unreachable } from "./gateway-client-error.ts";

const ErrorSchema = Type.Object({ error: Type.Object({ code: Type.String(), message: Type.String() }) });

export interface Question {
  readonly method?: "GET" | "POST";
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly ok: true;
  readonly text: string;
  readonly headers: Headers;
}

export interface Exchange {
  /** Resolves when the head of the answer has arrived. Rejects with `gateway.unreachable`. */
  open(question: Question, signal: AbortSignal): Promise<Response>;
  ask(question: Question): Promise<Answer | Refusal>;
  /** The refusal in an unsuccessful answer; throws for any other error. */
  refusalIn(response: Response): Promise<Refusal>;
}

export function createExchange(url: string, token: string, timeoutMs: number): Exchange {
  const open: Exchange["open"] = async ({ method = "GET", path, body, headers }, signal) => {
    try {
      return await fetch(new URL(path, url), {
        method,
        signal,
        redirect: "error",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
        body: body === undefined ? null : JSON.stringify(body),
      });
    } catch (error) {
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
    const { code, message } = answer.error;
    if (code === "auth.required" || code === "auth.rate_limited") throw unauthorized(url);
    if (code === "store.unavailable") throw new StoreError("store.unavailable", message);
    const refused = REFUSAL_CODES.find((known) => known === code);
    if (refused === undefined) throw unintelligible(url, `answered ${response.status} ${code}`);
    return refuse(refused, message);
  };

  return {
    open,
    refusalIn,
    async ask(question) {
      const response = await open(question, AbortSignal.timeout(timeoutMs));
      if (!response.ok) return await refusalIn(response);
      return { ok: true, text: await textOf(response), headers: response.headers };
    },
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
