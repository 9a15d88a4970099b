/** A home with its gateway on a loopback port and a scripted model, and clients of its WebSocket as the seed describes them. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createGateway } from "../../src/adapters/gateway/create-gateway.ts";
import { openAiApi } from "../../src/adapters/openai-api/openai-api.ts";
import { catalogOf } from "../../src/boot/configured-models.ts";
import type { Home } from "../../src/boot/home.ts";
import { openHome } from "../../src/boot/home.ts";
import { openSurety } from "../../src/boot/open-surety.ts";
import type { Surety } from "../../src/boot/opened-surety.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { systemRandomness } from "../../src/boot/system-randomness.ts";
import { apiApprover } from "../../src/runtime/ports/approver.ts";
import { IDENTITY } from "../adapters/gateway/test-identity.ts";
import { type OpenAiServer, type ServerScript, startOpenAiServer } from "../loopback/openai-server.ts";
import { readOk } from "./config/example-config.ts";
import { temporaryHome } from "./temporary-home.ts";

export const TOKEN = "correct-horse-battery-staple";

export interface Said {
  readonly id: string;
  readonly type: string;
  readonly timestamp: number;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly cursor?: string;
}

export interface Client {
  readonly said: readonly Said[];
  /** The first message, of those that came and will come, that it is looking for. */
  until(isIt: (message: Said) => boolean): Promise<Said>;
  untilType(type: string): Promise<Said>;
  send(message: unknown): void;
  say(text: string, payload?: object): void;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  close(): void;
}

type Json = Readonly<Record<string, unknown>>;

export interface SocketStage {
  readonly surety: Surety;
  readonly home: Home;
  readonly workspace: string;
  readonly model: OpenAiServer;
  readonly url: string;
  readonly port: number;
  readonly defects: readonly unknown[];
  dial(query?: string): Promise<Client>;
  ask(
    method: string,
    path: string,
    body?: object | Uint8Array,
  ): Promise<{ readonly status: number; readonly json: Json }>;
  /** Ends it as a stop does, and opens the same home again. */
  reopen(): Promise<SocketStage>;
}

export async function openSocketStage(script: ServerScript, config: object = {}): Promise<SocketStage> {
  const model = await startOpenAiServer(script);
  onTestFinished(() => model.close());
  const home = await temporaryHome();
  await openHome(home);
  return await openStage(home, model, config);
}

async function openStage(home: Home, model: OpenAiServer, config: object): Promise<SocketStage> {
  const scripted = { contextWindow: 32_768, maxOutputTokens: 1024, supportsVision: true };
  const providers = { loop: { baseUrl: model.baseUrl, local: true, models: { scripted } } };
  const workspace = join(home.directory, "workspace");
  await mkdir(workspace, { recursive: true });
  const defects: unknown[] = [];
  const read = readOk(JSON.stringify({ models: { default: "loop:scripted", providers }, ...config }));
  const surety = await openSurety({
    config: read,
    ...{ home, clock: systemClock, random: systemRandomness, token: TOKEN, approver: apiApprover },
    readVariable: () => undefined,
    onDefect: (_id, error) => defects.push(error),
  });
  await surety.runtime.recover();
  const gateway = createGateway({
    ...{ operations: surety.operations, conversations: surety.conversations, random: systemRandomness },
    ...{ credentials: surety.access, identity: IDENTITY, clock: systemClock },
    mounts: openAiApi({ operations: surety.operations, clock: systemClock, catalog: () => catalogOf(read) }),
    onError: (error) => defects.push(error),
  });
  const listening = await gateway.listen({ port: 0 });
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (!isOpen) return;
    isOpen = false;
    await listening.close(200);
    await surety.close(200);
  };
  onTestFinished(close);
  const url = `ws://127.0.0.1:${listening.port}/`;
  return {
    ...{ surety, home, workspace, model, url, defects, port: listening.port },
    dial: (query = "") => dial(`${url}${query}`),
    async ask(method, path, body) {
      const isBytes = body instanceof Uint8Array;
      const answered = await fetch(`http://127.0.0.1:${listening.port}${path}`, {
        method,
        headers: { authorization: `Bearer ${TOKEN}`, ...(isBytes ? {} : { "content-type": "application/json" }) },
        ...(body === undefined ? {} : { body: isBytes ? Buffer.from(body) : JSON.stringify(body) }),
      });
      return { status: answered.status, json: JSON.parse(await answered.text()) };
    },
    async reopen() {
      await close();
      return await openStage(home, model, config);
    },
  };
}

/** Opened, with Node's own WebSocket. */
export async function dial(url: string, token: string = TOKEN): Promise<Client> {
  const socket = new WebSocket(url, ["surety", `surety.bearer.${token}`]);
  const client = clientOf(socket);
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener("open", () => resolve());
    socket.addEventListener("error", () => reject(new Error("the socket was refused")));
  });
  return client;
}

export function clientOf(socket: WebSocket): Client {
  const said: Said[] = [];
  const looking = new Set<() => void>();
  let sent = 0;
  socket.addEventListener("message", ({ data }) => {
    said.push(JSON.parse(String(data)));
    for (const look of looking) look();
  });
  const closed = new Promise<{ readonly code: number; readonly reason: string }>((resolve) =>
    socket.addEventListener("close", ({ code, reason }) => resolve({ code, reason })),
  );
  onTestFinished(() => socket.close());
  const until = (isIt: (message: Said) => boolean): Promise<Said> =>
    new Promise((resolve) => {
      const look = (): void => {
        const found = said.find(isIt);
        if (found === undefined) return;
        looking.delete(look);
        resolve(found);
      };
      looking.add(look);
      look();
    });
  const send = (message: unknown): void => socket.send(typeof message === "string" ? message : JSON.stringify(message));
  return {
    ...{ said, until, send, closed },
    untilType: (type) => until((message) => message.type === type),
    say(text, payload = {}) {
      sent += 1;
      const whole = {
        channel: "web",
        senderId: "user_1",
        senderName: "A",
        text,
        media: null,
        isGroup: false,
        groupId: null,
      };
      send({ id: `msg_${sent}`, type: "channel.message", timestamp: Date.now(), payload: { ...whole, ...payload } });
    },
    close: () => socket.close(),
  };
}

/** What a client that knows only the seed shows: chunks one behind the other. */
export function textOf(said: readonly Said[]): string {
  return said
    .filter(({ type }) => type === "agent.response")
    .map(({ payload }) => payload["content"])
    .join("");
}
