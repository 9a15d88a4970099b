/**
 * The table of operations through a running gateway, for commands beside it.
 *
 * C1. A refusal of the gateway is returned as it is. A gateway that cannot be asked is a `GatewayClientError`; storage
 *     that is unavailable there is the same `StoreError` as in process.
 * C2. Principal and source are decided by the gateway and not sent.
 */
import {
  type CallName,
  callableOperation,
  type InputOf,
  type OperationClient,
  type ResultOf,
  type StreamName,
  subscribableOperation,
  type UpdateOf,
} from "../../assistant/operations.ts";
import { type AnyOperation, type Caller, type Subscription, takesBody } from "../../runtime/operations/operation.ts";
import { createExchange, decode, type ExchangeParts, type Question } from "./exchange.ts";
import { unintelligible } from "./gateway-client-error.ts";
import { subscribe } from "./subscribe.ts";

/** Half a minute: enough to restart it. */
const RECONNECT_DELAYS_MS = [100, 300, ...Array<number>(30).fill(1_000)];
const DEFAULTS = {
  timeoutMs: 30_000,
  silenceMs: 45_000,
  reconnectDelaysMs: RECONNECT_DELAYS_MS,
  onConnection: () => {},
};

export interface GatewayClientOptions extends Omit<ExchangeParts, "timeoutMs"> {
  /** For the head of an answer. */
  readonly timeoutMs?: number;
  /** A stream that is silent for longer is broken. */
  readonly silenceMs?: number;
  /** One attempt each to resume a broken stream. */
  readonly reconnectDelaysMs?: readonly number[];
  /** A stream was lost and is being resumed, or was resumed. */
  readonly onConnection?: (state: "lost" | "back") => void;
}

export function createGatewayClient(options: GatewayClientOptions): OperationClient {
  const { timeoutMs, silenceMs, reconnectDelaysMs, onConnection } = { ...DEFAULTS, ...options };
  const exchange = createExchange({ ...options, timeoutMs });

  return {
    async call<Name extends CallName>(name: Name, input: InputOf<Name>, caller?: Caller): Promise<ResultOf<Name>> {
      const operation = callableOperation(name);
      const answer = await exchange.ask(questionOf(operation, input as object, caller));
      if (!answer.ok) return answer as ResultOf<Name>;
      if (operation.kind === "document") return { ok: true, value: answer.text } as ResultOf<Name>;
      const value = decode(operation.output, answer.text);
      if (value === null) throw unintelligible(exchange.url, "answered something that we do not understand");
      const isReplay = answer.headers.get("idempotent-replayed") === "true";
      return { ok: true, value, isReplay } as ResultOf<Name>;
    },

    async subscribe<Name extends StreamName>(
      name: Name,
      input: InputOf<Name>,
      after: string | null,
      signal: AbortSignal,
    ): Promise<Subscription<UpdateOf<Name>>> {
      const operation = subscribableOperation(name);
      const { path } = questionOf(operation, input as object);
      const limits = { timeoutMs, silenceMs, reconnectDelaysMs };
      return await subscribe({ exchange, onConnection, operation, path, after, signal, ...limits });
    },
  };
}

function questionOf(
  operation: AnyOperation,
  given: object,
  caller?: Pick<Caller, "idempotencyKey" | "ifMatch">,
): Question {
  const { method, path, input, bodyField } = operation;
  const fields = { ...given } as Record<string, unknown>;
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(fields[name]);
    delete fields[name];
    return encodeURIComponent(value);
  });
  const { idempotencyKey = null, ifMatch = null } = caller ?? {};
  const headers = {
    ...(idempotencyKey === null ? {} : { "idempotency-key": idempotencyKey }),
    ...(ifMatch === null ? {} : { "if-match": ifMatch }),
  };
  if (takesBody(method) && bodyField === undefined) return { method, path: filled, body: fields, headers };
  const isBytes = operation.kind === "json" && operation.bodyBytes !== undefined;
  const field = bodyField === undefined ? undefined : fields[bodyField];
  const body = isBytes ? { bytes: Buffer.from(String(field), "base64") } : { body: field };
  if (bodyField !== undefined) delete fields[bodyField];
  const query = new URLSearchParams();
  for (const name of Object.keys(input.properties))
    if (fields[name] !== undefined) query.set(name, String(fields[name]));
  return { method, path: query.size === 0 ? filled : `${filled}?${query}`, ...body, headers };
}
