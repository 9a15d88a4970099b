/**
 * An operation: one thing a client may ask of a home. The subject that owns it declares it once, in wire shape; the HTTP
 * route and its validation, the commands' client, GET /openapi.json and the table in docs/http.md follow from that.
 */
import type { Static, TObject, TSchema } from "typebox";

/** A token holds some of them; `public` needs no token. */
export const SCOPES = ["public", "chat", "operate", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

/** admin ⊇ operate ⊇ chat ⊇ public. */
export function scopesUpTo(scope: Scope): ReadonlySet<Scope> {
  return new Set(SCOPES.slice(0, SCOPES.indexOf(scope) + 1));
}

/** A person on a channel. */
export interface Sender {
  readonly channel: string;
  readonly senderId: string;
}

/** Set by whatever authenticated the caller, never read from the input. */
export interface Caller {
  readonly principal: string;
  readonly source: string;
  readonly scopes: ReadonlySet<Scope>;
  /** The one it speaks for, and whose records alone it sees and changes; null: it may speak for anyone. */
  readonly sender: Sender | null;
  /** Which token or browser session it came with; absent: none, as at this machine's terminal. */
  readonly credentialId?: string;
  /** As the client names itself: only for people to read. */
  readonly userAgent?: string;
  /** Makes a repeated request the same request. */
  readonly idempotencyKey: string | null;
  /** The ETag of what it has read and means to change; absent: it does not say. */
  readonly ifMatch?: string | null;
  /** Aborted when the caller has gone; only for operations that take long. */
  readonly signal?: AbortSignal;
}

export const REFUSAL_CODES = [
  "invalid.request",
  "not_found",
  "conflict",
  "queue.full",
  "chat.rate_limited",
  "payload.too_large",
  /** What was to prove who asks did not: counted as a wrong token is. */
  "auth.required",
  "auth.forbidden",
  "store.unavailable",
  "internal.error",
] as const;
export type RefusalCode = (typeof REFUSAL_CODES)[number];

/** One of several things that are wrong with an input, and where. */
export interface Problem {
  /** Empty: the input as a whole. */
  readonly path: string;
  readonly message: string;
}

/** Says what to do, and leaves nothing behind. */
export interface Refusal {
  readonly ok: false;
  readonly code: RefusalCode;
  readonly message: string;
  /** All that is wrong, where an input can be wrong in several places. */
  readonly problems?: readonly Problem[];
  /** When the same request would be taken. */
  readonly retryAfterSeconds?: number;
}

export type Result<Value> =
  | {
      readonly ok: true;
      readonly value: Value;
      /** The idempotency key was used before: this is the answer to the first request. */
      readonly isReplay?: boolean;
      /** In place of the operation's own HTTP status. */
      readonly status?: number;
      /** Changes with what was read, for If-Match. */
      readonly etag?: string;
      /** Proves from here on who this browser is; null takes it away. Stays out of the answer's body. */
      readonly cookie?: { readonly secret: string; readonly expiresAtMs: number } | null;
    }
  | Refusal;

export type Subscription<Update> =
  /** `isOver`: the stream has ended and nothing follows. */
  { readonly ok: true; readonly updates: AsyncIterable<Update>; readonly isOver: boolean } | Refusal;

type Awaitable<Value> = Value | Promise<Value>;

export const METHODS = ["GET", "POST", "PATCH", "PUT", "DELETE"] as const;
export type Method = (typeof METHODS)[number];

interface Declaration<Name extends string, Input extends TObject> {
  readonly name: Name;
  readonly method: Method;
  /**
   * `{id}` names a field of the input. The other fields are the query of a GET or DELETE, the JSON body of a POST, PATCH or
   * PUT.
   */
  readonly path: `/${string}`;
  readonly scope: Scope;
  /** The row in docs/http.md and the summary in OpenAPI. */
  readonly summary: string;
  readonly input: Input;
  /** The field that is the whole body; the others are the query then. */
  readonly bodyField?: string;
}

/** Whether the fields beside the path come as a body. */
export function takesBody(method: Method): boolean {
  return method !== "GET" && method !== "DELETE";
}

export interface JsonOperation<Name extends string, Services, Input extends TObject, Output extends TSchema>
  extends Declaration<Name, Input> {
  readonly kind: "json";
  readonly output: Output;
  /** Of a success; 200 unless stated. */
  readonly status?: 202;
  readonly takesIdempotencyKey?: true;
  readonly takesIfMatch?: true;
  /** Clients read it again and again: its ETag is stated unasked. */
  readonly hasEtag?: true;
  /** It takes long: the caller has a signal. */
  readonly isCancellable?: true;
  /**
   * The request is authenticated by its signature: the input's `webhook_` fields are its headers, and `body` is the body as
   * text, exactly as it was signed.
   */
  readonly isSigned?: true;
  /** The body is no JSON but a file of at most so many bytes: `bodyField` has them in Base64. */
  readonly bodyBytes?: number;
  call(services: Services, input: Static<Input>, caller: Caller): Awaitable<Result<Static<Output>>>;
}

/** Answers with a JSON document that was signed as text, so its bytes must not change. */
export interface DocumentOperation<Name extends string, Services, Input extends TObject>
  extends Declaration<Name, Input> {
  readonly kind: "document";
  readonly output: TSchema;
  call(services: Services, input: Static<Input>, caller: Caller): Awaitable<Result<string>>;
}

/** As it is served. */
export interface ServedFile {
  readonly type: string;
  readonly name: string;
  /** Base64. */
  readonly data: string;
  /** Otherwise a browser saves it and shows nothing. */
  readonly isShown: boolean;
}

/** Answers with a file that someone sent. */
export interface FileOperation<Name extends string, Services, Input extends TObject> extends Declaration<Name, Input> {
  readonly kind: "file";
  readonly method: "GET";
  readonly contentTypes: readonly string[];
  call(services: Services, input: Static<Input>, caller: Caller): Awaitable<Result<ServedFile>>;
}

export interface Frame {
  readonly event: string;
  /** Opaque to clients, who resume after it; null: live only. */
  readonly id: string | null;
  readonly data: unknown;
}

/** Server-sent events, resumable by Last-Event-ID. */
export interface StreamOperation<Name extends string, Services, Input extends TObject, Update>
  extends Declaration<Name, Input> {
  readonly kind: "stream";
  readonly method: "GET";
  /** Schemas of `data` by the name of the event. */
  readonly events: Readonly<Record<string, TSchema>>;
  /** The stream ends after any of these. */
  readonly lastEvents: readonly string[];
  /** `after`: the id of the last frame that the client has; null: none. */
  open(
    services: Services,
    input: Static<Input>,
    after: string | null,
    signal: AbortSignal,
    caller: Caller,
  ): Promise<Subscription<Update>>;
  encode(update: Update): Frame;
  /** For data that passed its schema; `id` is empty where the frame had none. */
  decode(event: string, data: unknown, id: string): Update;
}

/** What every reader of the table needs to know about an operation, whatever its services and schemas are. */
export type AnyOperation = Declaration<string, TObject> &
  (
    | Pick<
        JsonOperation<string, never, TObject, TSchema>,
        | ("kind" | "output" | "status" | "takesIdempotencyKey" | "takesIfMatch" | "isSigned" | "hasEtag")
        | ("isCancellable" | "bodyBytes")
      >
    | Pick<DocumentOperation<string, never, TObject>, "kind" | "output">
    | Pick<FileOperation<string, never, TObject>, "kind" | "contentTypes">
    | Pick<StreamOperation<string, never, TObject, never>, "kind" | "events" | "lastEvents">
  );

/** Declares operations over these services; names and schemas are inferred. */
export function operationsOver<Services>() {
  return {
    json: <const Name extends string, Input extends TObject, Output extends TSchema>(
      declared: Omit<JsonOperation<Name, Services, Input, Output>, "kind">,
    ): JsonOperation<Name, Services, Input, Output> => ({ ...declared, kind: "json" }),
    document: <const Name extends string, Input extends TObject>(
      declared: Omit<DocumentOperation<Name, Services, Input>, "kind">,
    ): DocumentOperation<Name, Services, Input> => ({ ...declared, kind: "document" }),
    file: <const Name extends string, Input extends TObject>(
      declared: Omit<FileOperation<Name, Services, Input>, "kind">,
    ): FileOperation<Name, Services, Input> => ({ ...declared, kind: "file" }),
    stream: <const Name extends string, Input extends TObject, Update>(
      declared: Omit<StreamOperation<Name, Services, Input, Update>, "kind">,
    ): StreamOperation<Name, Services, Input, Update> => ({ ...declared, kind: "stream" }),
  };
}

export function refuse(code: RefusalCode, message: string): Refusal {
  return { ok: false, code, message };
}
