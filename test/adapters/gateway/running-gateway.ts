/** A real gateway on a loopback port over a memory assistant, and bare ways to talk to it. */
import { type IncomingHttpHeaders, request } from "node:http";
import { connect } from "node:net";
import { onTestFinished } from "vitest";
import { createGateway, type GatewayOptions, type Listening } from "../../../src/adapters/gateway/create-gateway.ts";
import { bindOperations } from "../../../src/assistant/operations.ts";
import { asRunId, type RunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { ManualClock } from "./manual-clock.ts";
import { MemoryAssistant, TOKEN } from "./memory-assistant.ts";
import { SILENT } from "./silent-conversations.ts";
import { IDENTITY } from "./test-identity.ts";

export { TOKEN };
export const AUTHORIZED = { authorization: `Bearer ${TOKEN}` } as const;

export interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface RunningGateway extends Listening {
  readonly assistant: MemoryAssistant;
  readonly clock: ManualClock;
  readonly errors: { readonly error: unknown; readonly errorId: string }[];
  ask(method: string, path: string, options?: Asking): Promise<Answered>;
  /** Queues a run and says its id. */
  queueRun(): Promise<RunId>;
}

interface Asking {
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: unknown;
  readonly bytes?: Uint8Array;
}

export async function startGateway(
  options: Partial<GatewayOptions> & { readonly host?: string; readonly assistant?: MemoryAssistant } = {},
): Promise<RunningGateway> {
  const clock = new ManualClock();
  const { assistant = new MemoryAssistant(TOKEN, clock) } = options;
  const errors: RunningGateway["errors"] = [];
  const gateway = createGateway({
    ...SILENT,
    operations: bindOperations(assistant.services),
    credentials: assistant.access,
    identity: IDENTITY,

    clock,
    onError: (error, errorId) => errors.push({ error, errorId }),
    ...options,
  });
  const listening = await gateway.listen({ port: 0, ...(options.host === undefined ? {} : { host: options.host }) });
  onTestFinished(async () => {
    const closed = listening.close(0);
    clock.advance(0);
    await closed;
  });
  const ask: RunningGateway["ask"] = (method, path, asking = {}) => askPort(listening.port, method, path, asking);
  return {
    ...listening,
    assistant,
    clock,
    errors,
    ask,
    async queueRun() {
      const body = { agent_id: "main", message: "hello" };
      const { text } = await ask("POST", "/v1/runs", { headers: AUTHORIZED, body });
      return asRunId(JSON.parse(text).id);
    },
  };
}

function askPort(port: number, method: string, path: string, { headers, body, bytes }: Asking): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const outgoing = request({
      host: "127.0.0.1",
      port,
      method,
      path,
      agent: false,
      headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    });
    outgoing.on("error", reject);
    outgoing.on("response", (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("error", reject);
      incoming.on("end", () => {
        const { statusCode = 0, headers: answered } = incoming;
        resolve({ status: statusCode, headers: answered, text: Buffer.concat(chunks).toString("utf8") });
      });
    });
    outgoing.end(bytes ?? (body === undefined ? undefined : JSON.stringify(body)));
  });
}

/** Sends bytes as they are and gives back all that came until the other side closed. */
export function sendRaw(port: number, text: string | Uint8Array): Promise<string> {
  return new Promise((resolve) => {
    let received = "";
    const socket = connect({ host: "127.0.0.1", port }, () => socket.write(text));
    socket.setEncoding("latin1");
    socket.on("data", (chunk) => {
      received += chunk;
    });
    // A reset after the answer is the other side's right.
    socket.on("error", () => socket.destroy());
    socket.on("close", () => resolve(received));
  });
}

export function errorOf({ text }: Pick<Answered, "text">): { readonly code: string; readonly message: string } {
  return JSON.parse(text).error;
}
