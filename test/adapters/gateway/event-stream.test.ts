import { type IncomingMessage, request } from "node:http";
import { describe, expect, test } from "vitest";
import type { RunUpdate } from "../../../src/assistant/runs/run-updates.ts";
import type { RunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { StoreError } from "../../../src/runtime/ports/store.ts";
import { MemoryAssistant } from "./memory-assistant.ts";
import { AUTHORIZED, errorOf, type RunningGateway, startGateway } from "./running-gateway.ts";

const BEAT_MS = 15_000;
/** Well above what the sockets' own buffers hold. */
const MOST_BYTES = 64 * 1024 * 1024;

describe("a run's events", () => {
  test("each is a frame with its name, its seq as id and itself as data; the stream ends after the last", async () => {
    const gateway = await startGateway();
    const runId = await gateway.queueRun();
    gateway.assistant.ask(runId);
    gateway.assistant.end(runId);
    const answer = await gateway.ask("GET", `/v1/runs/${runId}/events`, { headers: AUTHORIZED });
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    });
    const [retry, ...frames] = framesIn(answer.text);
    expect(retry).toBe("retry: 1000");
    expect(frames.map((frame) => frame.split("\n").slice(0, 2))).toEqual([
      ["event: run.created", "id: 1"],
      ["event: model.requested", "id: 2"],
      ["event: run.completed", "id: 3"],
    ]);
    const last = JSON.parse(frames[2]?.split("data: ")[1] ?? "");
    expect(last).toMatchObject({ event_type: "run.completed", seq: 3, run_id: runId });
  });

  test("a client comes back by Last-Event-ID and hears what followed", async () => {
    const gateway = await startGateway();
    const runId = await gateway.queueRun();
    gateway.assistant.ask(runId);
    gateway.assistant.end(runId);
    for (const [lastId, ids] of [
      ["0", ["1", "2", "3"]],
      ["1", ["2", "3"]],
      ["2", ["3"]],
      ["3", []],
      ["99", []],
    ] as const) {
      const headers = { ...AUTHORIZED, "last-event-id": lastId };
      const { text } = await gateway.ask("GET", `/v1/runs/${runId}/events`, { headers });
      expect([...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => id)).toEqual(ids);
    }
  });

  test.each([
    ["has ended, and all of it was heard", "2", true, 204],
    ["has ended, and something follows", "1", true, 200],
    ["goes on", "1", false, 200],
  ])("a client that comes back to a run that %s is told whether to come again", async (_, lastId, hasEnded, status) => {
    const gateway = await startGateway();
    const runId = await gateway.queueRun();
    if (hasEnded) gateway.assistant.end(runId);
    const headers = { ...AUTHORIZED, "last-event-id": lastId };
    const answered = gateway.ask("GET", `/v1/runs/${runId}/events`, { headers });
    if (!hasEnded) {
      await eventually(() => gateway.assistant.watching === 1);
      gateway.assistant.end(runId);
    }
    const answer = await answered;
    expect(answer.status).toBe(status);
    if (status === 204) expect([answer.text, answer.headers["content-length"]]).toEqual(["", undefined]);
  });

  test("a parameter that nobody knows is refused", async () => {
    const gateway = await startGateway();
    const runId = await gateway.queueRun();
    const answer = await gateway.ask("GET", `/v1/runs/${runId}/events?after=1`, { headers: AUTHORIZED });
    expect([answer.status, errorOf(answer).message]).toEqual([400, "unknown query parameter; known: none"]);
  });

  test.each(["-1", "1.5", "x", "", "1e3", "9".repeat(16)])("Last-Event-ID %j is refused", async (lastId) => {
    const gateway = await startGateway();
    const runId = await gateway.queueRun();
    const headers = { ...AUTHORIZED, "last-event-id": lastId };
    const answer = await gateway.ask("GET", `/v1/runs/${runId}/events`, { headers });
    expect([answer.status, errorOf(answer).code]).toEqual([400, "invalid.request"]);
  });

  test("what is written live comes as deltas without an id, line breaks and all", async () => {
    const gateway = await startGateway();
    const runId = await gateway.queueRun();
    const stream = await openStream(gateway, runId);
    await stream.until("run.created");
    gateway.assistant.say(runId, "one\n\nevent: run.completed\ndata: {}\r\n", 7);
    await stream.until("event: delta");
    gateway.assistant.end(runId);
    const text = await stream.rest();
    const delta = framesIn(text).find((frame) => frame.startsWith("event: delta"));
    expect(delta?.split("\n")).toHaveLength(2);
    expect(JSON.parse(delta?.split("\ndata: ")[1] ?? "")).toEqual({
      attempt: 1,
      offset: 7,
      text: "one\n\nevent: run.completed\ndata: {}\r\n",
    });
    expect(text.match(/^id: /gm)).toHaveLength(2);
  });

  test("what a tool prints comes as tool.stream, without an id", async () => {
    const gateway = await startGateway();
    const runId = await gateway.queueRun();
    const stream = await openStream(gateway, runId);
    await stream.until("run.created");
    gateway.assistant.print(runId, "one\n\nid: 9\n");
    await stream.until("event: tool.stream");
    gateway.assistant.end(runId);
    const text = await stream.rest();
    const frame = framesIn(text).find((each) => each.startsWith("event: tool.stream"));
    expect(JSON.parse(frame?.split("\ndata: ")[1] ?? "")).toEqual({
      ...{ step: 1, call_id: "call_1", stream: "stderr", offset: 7 },
      text: "one\n\nid: 9\n",
    });
    expect(text.match(/^id: /gm)).toHaveLength(2);
  });

  test("a beat shows that it lives while nothing happens", async () => {
    const gateway = await startGateway();
    const runId = await gateway.queueRun();
    const stream = await openStream(gateway, runId);
    await stream.until("run.created");
    gateway.clock.advance(BEAT_MS);
    await stream.until("\n:\n\n");
    gateway.clock.advance(BEAT_MS);
    await stream.until("\n:\n\n:\n\n");
    gateway.assistant.end(runId);
    expect(await stream.rest()).toContain("run.completed");
    expect(gateway.clock.pending).toBe(0);
  });

  test("a client that leaves ends the watch", async () => {
    const gateway = await startGateway();
    const runId = await gateway.queueRun();
    const stream = await openStream(gateway, runId);
    await stream.until("run.created");
    expect(gateway.assistant.watching).toBe(1);
    stream.leave();
    await eventually(() => gateway.assistant.watching === 0);
    expect([gateway.errors, gateway.clock.pending]).toEqual([[], 0]);
  });

  test("a client that does not read is cut off, and no more is taken from the run than it has room for", async () => {
    const assistant = new Torrent();
    const gateway = await startGateway({ assistant });
    const stream = await openStream(gateway, await queueOn(gateway));
    stream.incoming.pause();
    await assistant.stalled();
    expect(assistant.taken * assistant.bytesEach).toBeLessThan(MOST_BYTES);
    expect(assistant.isLeft).toBe(false);
    gateway.clock.advance(BEAT_MS);
    gateway.clock.advance(BEAT_MS);
    await eventually(() => assistant.isLeft);
    expect(stream.incoming.complete).toBe(false);
  });

  test("a client that reads slowly is not", async () => {
    const assistant = new Torrent();
    const gateway = await startGateway({ assistant });
    const stream = await openStream(gateway, await queueOn(gateway));
    for (let beats = 0; beats < 4; beats += 1) {
      stream.incoming.pause();
      await assistant.stalled();
      gateway.clock.advance(BEAT_MS);
      const { taken } = assistant;
      stream.incoming.resume();
      await eventually(() => assistant.taken > taken + 1000 || assistant.isLeft);
    }
    expect(assistant.isLeft).toBe(false);
    stream.leave();
    await eventually(() => assistant.isLeft);
  });

  test("news that fail half-way say so without saying what, and end", async () => {
    const assistant = new Torrent(3);
    const gateway = await startGateway({ assistant });
    const runId = await queueOn(gateway);
    const { text } = await gateway.ask("GET", `/v1/runs/${runId}/events`, { headers: AUTHORIZED });
    const last = framesIn(text).at(-1) ?? "";
    expect(last).toMatch(/^event: error\ndata: \{"error":\{"code":"internal\.error"/);
    expect(last).not.toContain("secret");
    expect(gateway.errors).toHaveLength(1);
  });

  test("news that cannot be opened are an ordinary error", async () => {
    const gateway = await startGateway();
    const runId = await gateway.queueRun();
    gateway.assistant.failure = new StoreError("store.busy", "locked");
    const answer = await gateway.ask("GET", `/v1/runs/${runId}/events`, { headers: AUTHORIZED });
    expect([answer.status, errorOf(answer).code]).toEqual([503, "store.unavailable"]);
  });
});

/** RunBroadcaster without end, as fast as they are taken; after `failAfter` of them they fail. */
class Torrent extends MemoryAssistant {
  readonly bytesEach = 1024;
  taken = 0;
  isLeft = false;
  readonly #failAfter: number;

  constructor(failAfter = Number.POSITIVE_INFINITY) {
    super();
    this.#failAfter = failAfter;
  }

  override watch(): Promise<AsyncIterable<RunUpdate>> {
    return Promise.resolve(this.#pour());
  }

  /** Until nothing more is taken, or far too much was. */
  async stalled(): Promise<void> {
    let turnsWithout = 0;
    for (let seen = -1; turnsWithout < 300 && this.taken * this.bytesEach < MOST_BYTES; ) {
      await new Promise((resolve) => setImmediate(resolve));
      turnsWithout = this.taken === seen ? turnsWithout + 1 : 0;
      seen = this.taken;
    }
  }

  async *#pour(): AsyncGenerator<RunUpdate, void> {
    try {
      for (;;) {
        // Now and then others get their turn, as they would with news from a disk.
        if (this.taken % 16 === 0) await new Promise((resolve) => setImmediate(resolve));
        if (this.taken >= this.#failAfter) throw new Error("secret detail");
        this.taken += 1;
        yield { kind: "delta", attempt: 1, offset: 0, text: "x".repeat(this.bytesEach) };
      }
    } finally {
      this.isLeft = true;
    }
  }
}

const queueOn = (gateway: RunningGateway): Promise<RunId> => gateway.queueRun();

const framesIn = (text: string): readonly string[] => text.split("\n\n").filter((frame) => frame !== "");

async function openStream(gateway: RunningGateway, runId: RunId) {
  const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
    const path = `/v1/runs/${runId}/events`;
    const outgoing = request({ host: "127.0.0.1", port: gateway.port, path, headers: AUTHORIZED, agent: false });
    outgoing.on("response", resolve).on("error", reject).end();
  });
  let text = "";
  let notice = (): void => {};
  incoming.setEncoding("utf8");
  incoming.on("data", (chunk: string) => {
    text += chunk;
    notice();
  });
  // Being cut off is what some of these tests are about.
  incoming.on("error", () => notice());
  return {
    incoming,
    leave: () => incoming.destroy(),
    /** Until this was heard. */
    async until(part: string): Promise<void> {
      while (!text.includes(part)) {
        await new Promise<void>((resolve) => {
          notice = resolve;
        });
      }
    },
    async rest(): Promise<string> {
      if (!incoming.readableEnded) await new Promise((resolve) => incoming.on("end", resolve));
      return text;
    },
  };
}

async function eventually(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}
