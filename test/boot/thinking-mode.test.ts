/** What a model thought, and who gets to see it (O-5.2; design §8): the person at this machine, as far as they asked for it. */
import { describe, expect, test, vi } from "vitest";
import type { RunUpdate } from "../../src/assistant/runs/run-updates.ts";
import { answer, json } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { openSocketStage } from "./socket-stage.ts";

const CANARY = "canary: seventeen and twenty-five";
const KEY = "sk-Kq7ZpX2mVb9RtYw4NcHs6LdJf8Ga3Eu1";

const WAIT = { timeout: 30_000, interval: 10 };

interface Record {
  readonly id: string;
  readonly outcome: string | null;
  readonly output: string;
  readonly thinking_mode: string;
  readonly trace: { readonly thoughts?: readonly { readonly attempt: number; readonly text: string }[] };
}

/** The model thinks, calls a tool, thinks and answers; `fail` in the message fails the second answer. */
async function stage(config: object = {}) {
  const opened = await openSocketStage(({ body }) => {
    const asked = JSON.stringify(body.messages.findLast(({ role }) => role === "user"));
    if (body.messages.at(-1)?.role !== "tool") {
      return answer({ reasoning: `${CANARY} ${KEY}`, calls: [{ name: "clock.now", arguments: {} }] });
    }
    return asked.includes("fail") ? json(400, { error: {} }) : answer({ text: `<think>${CANARY}</think>42` });
  }, config);
  const ended = (id: string) =>
    vi.waitFor(async () => {
      const { json: record } = (await opened.ask("GET", `/v1/runs/${id}`)) as unknown as { readonly json: Record };
      if (record.outcome === null) throw new Error(`${id} goes on`);
      return record;
    }, WAIT);
  const run = async (message: string, more: object = {}) => {
    const created = await opened.ask("POST", "/v1/runs", { agent_id: "agent_default", message, ...more });
    expect(created).toEqual({
      status: 202,
      json: { id: expect.any(String), status: "queued", session_id: expect.any(String) },
    });
    return await ended(created.json["id"] as string);
  };
  return { ...opened, run, ended };
}

describe("thinking_mode", () => {
  verifies(
    ["O-5.2/modes", "O-5.2/config"],
    "shows thoughts never, of failed runs, or always; else as configured",
    async () => {
      const { run, ask } = await stage({ output: { thinking_mode: "always" } });
      const seen = async (message: string, thinking_mode?: string) => {
        const { trace, output, ...record } = await run(message, thinking_mode === undefined ? {} : { thinking_mode });
        expect(output).not.toContain("canary");
        return [record.thinking_mode, trace.thoughts?.map(({ text }) => text.includes(CANARY)) ?? null];
      };
      expect(await seen("add")).toEqual(["always", [true, true]]);
      expect(await seen("fail")).toEqual(["always", [true]]);
      expect(await seen("add", "on_error")).toEqual(["on_error", null]);
      expect(await seen("fail", "on_error")).toEqual(["on_error", [true]]);
      expect(await seen("add", "never")).toEqual(["never", null]);
      expect(await seen("fail", "never")).toEqual(["never", null]);
      const refused = await ask("POST", "/v1/runs", { agent_id: "main", message: "x", thinking_mode: "sometimes" });
      expect(refused).toMatchObject({ status: 400, json: { error: { code: "invalid.request" } } });
    },
  );

  verifies("O-5.2/request", "a run needs agent_id and message, and is accepted with its id and status", async () => {
    const { ask, run } = await stage();
    for (const body of [{ message: "x" }, { agent_id: "main" }, { agent_id: "main", message: " " }, {}]) {
      expect((await ask("POST", "/v1/runs", body)).status).toBe(400);
    }
    expect((await run("add")).thinking_mode).toBe("on_error");
  });

  verifies("O-5.2/modes", "a message of a conversation says it for itself; nobody outside is shown any", async () => {
    const { ask, ended, surety } = await stage({ output: { thinking_mode: "always" } });
    const say = async (more: object) => {
      const { json: queued } = await ask("POST", "/v1/chat/messages", { user_id: "ada", message: "add", ...more });
      const record = await ended(queued["id"] as string);
      const { json: read } = await ask("GET", `/v1/runs/${record.id}/entries`);
      return [record.thinking_mode, record.trace.thoughts?.length ?? 0, JSON.stringify(read).includes("thoughts_ref")];
    };
    expect(await say({})).toEqual(["always", 2, true]);
    expect(await say({ thinking_mode: "never" })).toEqual(["never", 0, false]);
    expect(await say({ channel: "telegram", thinking_mode: "always" })).toEqual(["never", 0, false]);
    const sessions = await surety.operations.call("sessions.list", {});
    const texts = sessions.ok
      ? await Promise.all(sessions.value.sessions.map(({ id }) => ask("GET", `/api/sessions/${id}`)))
      : [];
    expect(texts).toHaveLength(2);
    expect(JSON.stringify(texts)).not.toContain("canary");
  });

  test("a watcher of the run gets them with each answer, redacted, where they are always shown", async () => {
    const { ask, surety, ended } = await stage({});
    const thoughtsOf = async (thinking_mode: string): Promise<readonly unknown[]> => {
      const { json: queued } = await ask("POST", "/v1/runs", { agent_id: "main", message: "add", thinking_mode });
      const record = await ended(queued["id"] as string);
      const { signal } = new AbortController();
      const watched = await surety.operations.subscribe("runs.events", { id: record.id as never }, null, signal);
      const heard: unknown[] = [];
      if (!watched.ok) throw new Error(watched.message);
      const updates: AsyncIterable<RunUpdate> = watched.updates;
      for await (const update of updates) {
        if (update.kind === "event" && update.event.event_type === "model.requested")
          heard.push(update.event.payload.thoughts);
      }
      return heard;
    };
    const [first, second] = await thoughtsOf("always");
    expect(first).toContain(CANARY);
    expect(first).not.toContain(KEY);
    expect(second).toBe(CANARY);
    expect(await thoughtsOf("on_error")).toEqual([undefined, undefined]);
  });

  verifies("X-4/replay", "a run with thoughts verifies and replays", async () => {
    const { run, ask } = await stage({ output: { thinking_mode: "always" } });
    const { id } = await run("add");
    const replayed = await ask("POST", `/v1/runs/${id}/replay`, {});
    expect(replayed).toMatchObject({ status: 200, json: { reproduced: true } });
  });
});
