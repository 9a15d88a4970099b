/** Clients that ask for much and read nothing: what the gateway holds for them is bounded, and ends. */
import { connect, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import type { RunRecord } from "../../../src/kernel/journal/views/run-record.ts";
import { MemoryAssistant } from "./memory-assistant.ts";
import { type RunningGateway, sendRaw, startGateway, TOKEN } from "./running-gateway.ts";

/** More than the buffers of a loopback connection hold. */
const LARGE = 32 * 1024 * 1024;
const DEADLINE_MS = 30_000;
const HEAD = `Host: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`;

describe("a client that pipelines requests", () => {
  test("and reads nothing has one answer made for it, not all", async () => {
    const assistant = new Wordy();
    const gateway = await startGateway({ assistant });
    const client = unreading(gateway, `GET /v1/runs/run_1 HTTP/1.1\r\n${HEAD}`.repeat(50));
    await eventually(() => assistant.answers > 0);
    await otherClientsAreServed(gateway);
    expect(assistant.answers).toBe(1);
    await isCutOff(gateway, client);
    expect(assistant.answers).toBe(1);
  });

  test("and reads gets every answer, in order", async () => {
    const gateway = await startGateway();
    const runId = await gateway.queueRun();
    gateway.assistant.end(runId);
    const paths = Array.from({ length: 900 }, (_, at) => (at % 3 === 0 ? "/healthz" : `/v1/runs/run_${(at % 3) + 7}`));
    const events = `GET /v1/runs/${runId}/events HTTP/1.1\r\n${HEAD}`;
    const requests = paths.map((path) => `GET ${path} HTTP/1.1\r\n${HEAD}`);
    const last = `GET /nowhere HTTP/1.1\r\nConnection: close\r\n${HEAD}`;
    const received = await sendRaw(gateway.port, [...requests, events, last].join(""));
    const statuses = [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
    expect(statuses).toEqual([...paths.map((path) => (path === "/healthz" ? "200" : "404")), "200", "404"]);
    expect(gateway.clock.pending).toBe(0);
  });

  test("with bodies gets every answer too", async () => {
    const gateway = await startGateway();
    const body = JSON.stringify({ agent_id: "main", message: "x".repeat(5_000) });
    const create = `POST /v1/runs HTTP/1.1\r\nContent-Length: ${body.length}\r\n${HEAD}${body}`;
    const last = `GET /nowhere HTTP/1.1\r\nConnection: close\r\n${HEAD}`;
    const received = await sendRaw(gateway.port, `${create.repeat(100)}${last}`);
    const statuses = [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
    expect(statuses).toEqual([...Array.from({ length: 100 }, () => "202"), "404"]);
  });
});

describe("a client that reads nothing", () => {
  test.each([
    ["a record", "/v1/runs/run_1"],
    ["a document", "/v1/runs/run_1/bundle"],
  ])("of %s is cut off after half a minute", async (_, path) => {
    const gateway = await startGateway({ assistant: new Wordy() });
    const client = unreading(gateway, `GET ${path} HTTP/1.1\r\n${HEAD}`);
    await eventually(() => gateway.clock.pending > 0);
    gateway.clock.advance(DEADLINE_MS - 1);
    await otherClientsAreServed(gateway);
    expect(client.destroyed).toBe(false);
    await isCutOff(gateway, client);
    expect(gateway.errors).toEqual([]);
  });

  test("for a while, and then goes on reading, gets all of it", async () => {
    const gateway = await startGateway({ assistant: new Wordy() });
    const client = unreading(gateway, `GET /v1/runs/run_1 HTTP/1.1\r\nConnection: close\r\n${HEAD}`);
    await eventually(() => gateway.clock.pending > 0);
    let bytes = 0;
    client.on("data", (chunk) => {
      bytes += chunk.length;
      // Slow, but never half a minute without reading.
      gateway.clock.advance(100);
    });
    client.resume();
    await new Promise((resolve) => client.on("close", resolve));
    expect(bytes).toBeGreaterThan(LARGE);
    expect(gateway.clock.pending).toBe(0);
  });
});

/** Its answers are long. */
class Wordy extends MemoryAssistant {
  answers = 0;

  override run(): Promise<RunRecord | null> {
    this.answers += 1;
    return Promise.resolve({ output: "ü".repeat(LARGE / 2) } as RunRecord);
  }

  override bundle() {
    return Promise.resolve({ ok: true as const, text: `{"text":"${"x".repeat(LARGE)}"}` });
  }
}

function unreading(gateway: RunningGateway, text: string): Socket {
  const socket = connect({ host: "127.0.0.1", port: gateway.port }, () => socket.write(text));
  socket.on("error", () => {});
  onTestFinished(() => {
    socket.destroy();
  });
  return socket.pause();
}

async function otherClientsAreServed(gateway: RunningGateway): Promise<void> {
  for (let times = 0; times < 20; times += 1) expect((await gateway.ask("GET", "/healthz")).status).toBe(200);
}

/** The connection of this client is gone at the gateway; it notices once it writes. */
async function isCutOff(gateway: RunningGateway, client: Socket): Promise<void> {
  while (!client.destroyed) {
    gateway.clock.advance(DEADLINE_MS);
    client.write("x");
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function eventually(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}
