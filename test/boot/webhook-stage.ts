/** A real gateway with a webhook channel, a scripted model, and a receiver that keeps what it gets, all on loopback. */
import { createHmac } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished, vi } from "vitest";
import { main } from "../../src/boot/main.ts";
import { type GatewayProcess, startGateway, VARIABLES } from "../faults/gateway-process.ts";
import { answer, type OpenAiServer, type ServerScript, startOpenAiServer } from "../loopback/openai-server.ts";
import { capturedStreams } from "./captured-streams.ts";
import { temporaryDirectory } from "./temporary-home.ts";

export const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const KEY = Buffer.alloc(32, 7);

interface Posted {
  readonly id: string;
  readonly isSigned: boolean;
  readonly payload: { readonly recipientId: string; readonly recipientType: string; readonly text: string } & Record<
    string,
    unknown
  >;
}

export interface Receiver {
  readonly url: string;
  readonly posted: readonly Posted[];
  /** How the next requests are answered: a status, `hang` or `reset`. */
  conduct: (posted: Posted, index: number) => number | "hang" | "reset";
  arrived(count: number): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const posted: Posted[] = [];
  const receiver: Receiver = {
    url: "",
    posted,
    conduct: () => 200,
    arrived: (count) =>
      vi.waitFor(
        () => {
          if (posted.length < count) throw new Error(`${posted.length} of ${count} came`);
        },
        { timeout: 10_000, interval: 10 },
      ),
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const id = String(request.headers["webhook-id"]);
    const isSigned =
      request.headers["webhook-signature"] === signature(id, String(request.headers["webhook-timestamp"]), body);
    const one = { id, isSigned, payload: JSON.parse(body).payload };
    posted.push(one);
    const conduct = receiver.conduct(one, posted.length - 1);
    if (conduct === "reset") request.socket.destroy();
    else if (conduct !== "hang") response.writeHead(conduct).end();
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return Object.assign(receiver, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/in` });
}

export function signature(id: string, timestamp: string, body: string): string {
  return `v1,${createHmac("sha256", KEY).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
}

interface Hook {
  readonly id?: string;
  readonly channel?: string;
  readonly timestamp?: number;
  readonly signature?: string;
}

type Answered = { readonly status: number; readonly body: Record<string, never> } | null;

interface WebhookStage {
  readonly home: string;
  readonly receiver: Receiver;
  readonly model: OpenAiServer;
  /** The gateway as it runs now. */
  gateway: GatewayProcess;
  /** Another life of it. */
  start(): Promise<void>;
  /** A message of Anna, unless it says otherwise. */
  hook(payload: object, how?: Hook): Promise<Answered>;
  surety(
    ...words: readonly string[]
  ): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>;
  accept(senderId: string): Promise<void>;
  /** A list of the gateway, when it has what is looked for. */
  listed(path: string, field: string, matches: (row: Record<string, never>) => boolean): Promise<Record<string, never>>;
}

interface StageOptions {
  readonly script?: ServerScript;
  readonly channel?: object;
  readonly config?: object;
}

const ENTRY = fileURLToPath(new URL("../../src/boot/surety.ts", import.meta.url));
let ids = 0;

export async function openWebhookStage(options: StageOptions = {}): Promise<WebhookStage> {
  const home = join(await temporaryDirectory(), "home");
  const receiver = await startReceiver();
  const model = await startOpenAiServer(options.script ?? (() => answer({ text: "Hello Anna." })));
  onTestFinished(() => model.close());
  await mkdir(join(home, "workspace"), { recursive: true, mode: 0o700 });
  const models = { scripted: { contextWindow: 32_768, maxOutputTokens: 1024 } };
  const providers = { loop: { baseUrl: model.baseUrl, local: true, startupValidation: "off", models } };
  const config = {
    models: { default: "loop:scripted", providers },
    channels: { crm: { kind: "webhook", secretEnv: "CRM_SECRET", url: receiver.url, ...options.channel } },
    ...options.config,
  };
  await writeFile(join(home, "surety.json5"), JSON.stringify(config), { mode: 0o600 });
  await writeFile(join(home, ".env"), `CRM_SECRET=${SECRET}\n`, { mode: 0o600 });
  const start = async (): Promise<GatewayProcess> => {
    const gateway = await startGateway([process.execPath, ENTRY, "--home", home, "start", "--port", "0"]);
    onTestFinished(async () => {
      if (!gateway.isGone) await gateway.kill();
    });
    return gateway;
  };
  const stage: WebhookStage = {
    ...{ home, receiver, model, gateway: await start() },
    async start() {
      stage.gateway = await start();
    },
    hook(payload, how = {}) {
      const { id = `msg_${++ids}`, channel = "crm", timestamp = Math.floor(Date.now() / 1000) } = how;
      const body = { senderId: "anna", senderName: "Anna", ...payload };
      return stage.gateway.ask("POST", `/hooks/${channel}`, body, {
        authorization: "",
        "webhook-id": id,
        "webhook-timestamp": String(timestamp),
        "webhook-signature": how.signature ?? signature(id, String(timestamp), JSON.stringify(body)),
      }) as Promise<Answered>;
    },
    async surety(...words) {
      const streams = capturedStreams();
      const code = await main(["--home", home, ...words], streams, (name) => VARIABLES[name as "SURETY_TOKEN"]);
      return { code, ...streams.written() };
    },
    async accept(senderId) {
      const decided = await stage.gateway.ask("POST", "/api/pairings", {
        sender: `crm:${senderId}`,
        decision: "accept",
      });
      if (decided?.status !== 200) throw new Error(JSON.stringify(decided));
    },
    listed: (path, field, matches) =>
      vi.waitFor(
        async () => {
          const reply = await stage.gateway.ask("GET", path);
          const rows = ((reply?.body ?? {}) as Record<string, readonly Record<string, never>[]>)[field] ?? [];
          const found = rows.find(matches);
          if (found === undefined) throw new Error(`${path} has ${JSON.stringify(rows)}`);
          return found;
        },
        { timeout: 10_000, interval: 20 },
      ),
  };
  return stage;
}
