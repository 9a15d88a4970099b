/**
 * The typed client: one call an operation of the gateway's table. Dials this page's own origin only, and nothing in the page
 * can change that. Failures are `CallError`s with the gateway's code; words.ts has the sentences.
 */
import { OPERATIONS } from "virtual:operations";
import type { CallName, InputOf, ResultOf, StreamName } from "../../../src/assistant/operations.ts";
import { signedOut } from "./sign-in.ts";

export type { CallName, InputOf } from "../../../src/assistant/operations.ts";
export type AnswerOf<Name extends CallName> =
  Extract<ResultOf<Name>, { readonly ok: true }> extends { readonly value: infer Value } ? Value : never;
type Fields = Readonly<Record<string, unknown>>;

/** The gateway could not be reached, or its answer was cut off. */
const UNREACHABLE = "gateway.unreachable";

interface CallFailure extends ErrorOptions {
  readonly code: string;
  readonly status?: number;
  readonly retryAfterSeconds?: number | null;
}

export class CallError extends Error {
  readonly code: string;
  /** HTTP status; 0 where there was no answer. */
  readonly status: number;
  readonly retryAfterSeconds: number | null;

  constructor(message: string, { code, status = 0, retryAfterSeconds = null, ...options }: CallFailure) {
    super(message, options);
    this.name = "CallError";
    this.code = code;
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export function asCallError(error: unknown): CallError {
  if (error instanceof CallError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new CallError(message, { code: "page.failed", cause: error });
}

export interface Read<Value> {
  /** Null: as the ETag says, nothing changed. */
  readonly value: Value | null;
  readonly etag: string | null;
}

export async function call<Name extends CallName>(
  name: Name,
  input: InputOf<Name>,
  options: { readonly idempotencyKey?: string /** The ETag it is meant for. */; readonly ifMatch?: string } = {},
): Promise<AnswerOf<Name>> {
  const { idempotencyKey, ifMatch } = options;
  const headers = {
    ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    ...(ifMatch === undefined ? {} : { "if-match": ifMatch }),
  };
  const response = await send(request(name, input as Fields, headers));
  return (await readJson(response)) as AnswerOf<Name>;
}

/** Of an operation that only reads. */
export async function read<Name extends CallName>(
  name: Name,
  input: InputOf<Name>,
  etag: string | null,
): Promise<Read<AnswerOf<Name>>> {
  const response = await send(request(name, input as Fields, etag === null ? {} : { "if-none-match": etag }));
  if (response.status === 304) return { value: null, etag };
  return { value: (await readJson(response)) as AnswerOf<Name>, etag: response.headers.get("etag") };
}

/** The text of a signed document, byte for byte. */
export async function readText<Name extends CallName>(name: Name, input: InputOf<Name>): Promise<string> {
  const response = await send(request(name, input as Fields, {}));
  return await response.text();
}

/** An open stream of server-sent events; `lastId` is where it resumes. */
export async function openStream(
  path: string,
  lastId: string | null,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array> | null> {
  const headers: HeadersInit = { accept: "text/event-stream", ...(lastId === null ? {} : { "last-event-id": lastId }) };
  const response = await send(new Request(path, { headers, signal, cache: "no-store" }));
  return response.status === 204 ? null : response.body;
}

export async function upload(path: string, body: Blob): Promise<unknown> {
  const headers = { "content-type": body.type === "" ? "application/octet-stream" : body.type };
  return await readJson(await send(new Request(path, { method: "POST", headers, body })));
}

/** The address of an operation with this input. */
export function addressOf(name: CallName | StreamName, input: Fields): string {
  const [method, path] = operation(name);
  const { filled, rest } = fill(path, input);
  return method === "GET" ? filled + queryOf(rest) : filled;
}

function request(name: CallName, input: Fields, more: Readonly<Record<string, string>>): Request {
  const [method, path, , bodyField] = operation(name);
  const { filled, rest } = fill(path, input);
  const signal = AbortSignal.timeout(60_000);
  if (bodyField !== undefined) {
    const { [bodyField]: body, ...query } = rest;
    const headers = { "content-type": "application/json", ...more };
    return new Request(filled + queryOf(query), { method, headers, body: JSON.stringify(body), signal });
  }
  if (method === "GET" || method === "DELETE") {
    return new Request(filled + queryOf(rest), { method, headers: more, cache: "no-store", signal });
  }
  const headers = { "content-type": "application/json", ...more };
  return new Request(filled, { method, headers, body: JSON.stringify(rest), signal });
}

function operation(name: string) {
  const found = OPERATIONS[name];
  if (found === undefined) throw new CallError(`this page knows no operation ${name}`, { code: "page.outdated" });
  return found;
}

function fill(path: string, input: Fields) {
  const rest = new Map(Object.entries(input));
  const filled = path.replaceAll(/\{(\w+)\}/g, (_whole, field: string) => {
    const value = String(rest.get(field));
    rest.delete(field);
    return encodeURIComponent(value);
  });
  return { filled, rest: Object.fromEntries(rest) };
}

function queryOf(fields: Fields): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined && value !== null) query.set(name, String(value));
  }
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}

async function send(request: Request): Promise<Response> {
  const response = await fetch(request, { credentials: "same-origin", redirect: "error" }).catch((error: unknown) => {
    if (request.signal.aborted && request.signal.reason?.name === "AbortError") throw request.signal.reason;
    throw new CallError("The gateway does not answer.", { code: UNREACHABLE, cause: error });
  });
  if (response.ok || response.status === 304) return response;
  const failure = await errorOf(response);
  if (response.status === 401) signedOut();
  throw failure;
}

async function errorOf(response: Response): Promise<CallError> {
  const { status, headers } = response;
  const wait = Number(headers.get("retry-after") ?? Number.NaN);
  const described = { status, retryAfterSeconds: Number.isFinite(wait) ? wait : null };
  const body: unknown = await response.json().catch(() => null);
  const said = typeof body === "object" && body !== null && "error" in body ? body.error : null;
  if (typeof said === "object" && said !== null && "code" in said && "message" in said) {
    return new CallError(String(said.message), { ...described, code: String(said.code) });
  }
  return new CallError(`The gateway answered ${status}.`, { ...described, code: `http.${status}` });
}

async function readJson(response: Response): Promise<unknown> {
  try {
    return response.status === 204 ? null : await response.json();
  } catch (error) {
    throw new CallError("The gateway's answer was cut off.", { code: UNREACHABLE, cause: error });
  }
}
