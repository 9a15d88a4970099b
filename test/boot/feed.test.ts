/** The feed of a real home over a real socket: what changes, is heard of, and can be read by then. */
import { expect } from "vitest";
import { verifies } from "../requirements.ts";
import { type Frame, openInterface } from "./interface-gateway.ts";

interface Changed {
  readonly record: string;
  readonly id: string | null;
}

const isOf =
  (record: string, id: string | null = null) =>
  ({ event, data }: Frame): boolean => {
    const changed = data as Changed;
    return event === "changed" && changed.record === record && (id === null || changed.id === id);
  };

verifies(
  "T-1.2",
  "a feed says which record changed, once it can be read; a client that comes back misses none",
  async () => {
    const { ask, get, submit, listen, cardOf, ended } = await openInterface();
    const first = await listen("/api/feed");
    const ready = await first.next();
    expect([first.status, ready]).toEqual([200, { event: "ready", id: ready.id, data: {} }]);

    const runId = await submit([{ tool: "fs.write_text", path: "a.txt", text: "one" }]);
    const asked = (await first.until(isOf("approval"))).at(-1) as Frame;
    const { id, plan_hash, session_id } = await cardOf(runId);
    expect(asked.data).toEqual({ record: "approval", id });
    first.leave();

    await ask("POST", `/api/approvals/${id}`, { decision: "deny", plan_hash });
    await ended(runId);
    await ask("POST", "/api/capabilities", { session_id, grant: "net:example.org" });
    await ask("POST", `/api/sessions/${session_id}/rename`, { title: "notes" });

    const again = await listen("/api/feed", { "last-event-id": asked.id });
    const missed = (await again.until(isOf("session", session_id))).map(({ data }) => data as Changed);
    expect(missed).toEqual(
      expect.arrayContaining([
        { record: "approval", id },
        { record: "run", id: runId },
        { record: "budget", id: null },
        { record: "capability", id: session_id },
        { record: "session", id: session_id },
      ]),
    );
    expect((await get(`/v1/runs/${runId}`)).outcome).not.toBeNull();

    const all = await listen(`/api/feed?after=${ready.id}`);
    expect((await all.next()).event).toBe("changed");
    const stranger = await listen("/api/feed", { "last-event-id": "feed_of_yesterday.7" });
    expect((await stranger.next()).event).toBe("reset");
  },
);
