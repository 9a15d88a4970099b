/** The event bus by itself: the seed's interface and its ten events. What a home emits is in test/boot/channels.test.ts. */
import { expect, vi } from "vitest";
import { EventBus, type EventMap, type EventName } from "../../../src/assistant/events/event-bus.ts";
import { asRunId, asSessionId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { verifies } from "../../requirements.ts";

// Talon §6, literally.
interface SeedEventBus {
  emit(event: string, data: unknown): void;
  on(event: string, handler: (data: unknown) => void): void;
  off(event: string, handler: (data: unknown) => void): void;
  once(event: string, handler: (data: unknown) => void): void;
}
const KEY_EVENTS = [
  "message.inbound",
  "message.outbound",
  "tool.execute",
  "tool.complete",
  "shadow.event",
  "shadow.ghost",
  "session.created",
  "session.idle",
  "config.changed",
  "agent.thinking",
] as const;

const sessionId = asSessionId("session_1");
const run = { runId: asRunId("run_1"), sessionId };
const SAMPLES: Readonly<{ [Name in (typeof KEY_EVENTS)[number]]: EventMap[Name] }> = {
  "message.inbound": { channel: "crm", senderId: "anna", messageId: "m1" },
  "message.outbound": { channel: "crm", recipient: { address: "anna", type: "contact" }, runId: null },
  "tool.execute": { ...run, callId: "c1", tool: "fs.read_text" },
  "tool.complete": { ...run, callId: "c1", tool: "fs.read_text", ok: true },
  "shadow.event": { detector: "syntax-error", subject: "syntax /a.json" },
  "shadow.ghost": {
    ...{ id: "ghost_1", trigger: "file changed: a.json", observation: "JSON syntax error", proposal: "Fix it?" },
    ...{
      confidence: "high",
      actions: [{ label: "Dismiss", type: "dismiss" }],
      detector: "syntax-error",
      state: "open",
    },
    labels: { integrity: "untrusted", confidentiality: "private" },
    ...{ created_at: "2026-11-19T23:00:00.000Z", decided_by: null, decided_at: null, run_id: null },
  },
  "session.created": { sessionId, agentId: "main", channel: "crm" },
  "session.idle": { sessionId },
  "config.changed": { file: "surety.json5", paths: [] },
  "agent.thinking": run,
};

/** Handlers are called after the emitter has gone on. */
const handled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

verifies("T-6/events", "the ten key events, and no other, reach a handler with their data", async () => {
  const names: readonly EventName[] = KEY_EVENTS;
  expect(Object.keys(SAMPLES).sort()).toEqual(([...names] satisfies EventName[]).sort());
  // A name too many or too few does not compile.
  const exact: { readonly [Name in EventName]: unknown } = SAMPLES;
  const defects: unknown[] = [];
  const bus: SeedEventBus = new EventBus((error) => defects.push(error));
  const heard: unknown[] = [];
  for (const name of names) bus.on(name, (data) => heard.push([name, data]));
  for (const name of names) bus.emit(name, exact[name]);
  expect(heard).toEqual([]);
  await handled();
  expect(heard).toEqual(names.map((name) => [name, exact[name]]));
  expect(defects).toEqual([]);
});

verifies("T-6/methods", "on hears each event, once the first alone, and what was taken off hears none", async () => {
  const bus: SeedEventBus = new EventBus((error) => {
    throw error;
  });
  for (const name of KEY_EVENTS) {
    const [always, first, gone, goneOnce, other] = [vi.fn(), vi.fn(), vi.fn(), vi.fn(), vi.fn()];
    bus.on(name, always);
    bus.once(name, first);
    bus.on(name, gone);
    bus.once(name, goneOnce);
    bus.on(name, other);
    bus.off(name, gone);
    bus.off(name, goneOnce);
    bus.off(name, vi.fn());
    bus.emit(name, 1);
    bus.emit(name, 2);
    await handled();
    bus.off(name, always);
    bus.emit(name, 3);
    await handled();
    expect(always.mock.calls).toEqual([[1], [2]]);
    expect(first.mock.calls).toEqual([[1]]);
    expect([gone, goneOnce].map((each) => each.mock.calls)).toEqual([[], []]);
    expect(other.mock.calls).toEqual([[1], [2], [3]]);
  }
});

verifies("T-6/handlers", "a handler that throws, rejects or never ends holds up no other and no emitter", async () => {
  const defects: unknown[] = [];
  const bus = new EventBus((error) => defects.push(error));
  const heard = vi.fn();
  bus.on("agent.thinking", () => {
    throw new Error("thrown");
  });
  bus.on("agent.thinking", () => Promise.reject(new Error("rejected")));
  bus.on("agent.thinking", () => new Promise(() => {}));
  bus.on("agent.thinking", heard);
  bus.emit("agent.thinking", run);
  await handled();
  expect(heard).toHaveBeenCalledExactlyOnceWith(run);
  expect(defects.map(String).sort()).toEqual(["Error: rejected", "Error: thrown"]);
});
