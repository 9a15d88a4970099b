/** Pace, states and plans of ghosts: the shadow loop on a real store, with watchers and a clock that the test moves. */
import { expect, onTestFinished, test, vi } from "vitest";
import { openSqliteStore } from "../../../src/adapters/store-sqlite/open-sqlite-store.ts";
import { EventBus } from "../../../src/assistant/events/event-bus.ts";
import type { RunRequest } from "../../../src/assistant/runs/run-request.ts";
import { HOUR_MS } from "../../../src/assistant/shadow/ghost-rules.ts";
import { SHADOW_LABELS, Shadow } from "../../../src/assistant/shadow/shadow.ts";
import type { Finding } from "../../../src/assistant/shadow/trouble.ts";
import type { WireGhost } from "../../../src/assistant/shadow/wire-ghost.ts";
import { planId } from "../../../src/assistant/shadow/word-ghost.ts";
import { systemRandomness } from "../../../src/boot/system-randomness.ts";
import { asRunId, asSessionId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { type Caller, scopesUpTo } from "../../../src/runtime/operations/operation.ts";
import { ManualClock } from "../../adapters/gateway/manual-clock.ts";
import { temporaryDirectory } from "../../boot/temporary-home.ts";
import { verifies } from "../../requirements.ts";

const CALLER: Caller = {
  ...{ principal: "operator", source: "cli", idempotencyKey: null, sender: null, scopes: scopesUpTo("admin") },
};
const EVERYTHING = { limit: 100, offset: 0 };

const broken = (path: string, line = 1): Finding => ({
  type: "found",
  subject: `syntax ${path}`,
  trouble: { kind: "syntax-error", event: "change", path, language: "JSON", line, problem: "no value", repaired: null },
});

async function openLoop(pace = { cooldown: 30_000, maxGhostsPerHour: 10 }) {
  const clock = new ManualClock();
  const store = await openSqliteStore({ home: await temporaryDirectory(), clock, random: systemRandomness });
  onTestFinished(() => store.close());
  const events = new EventBus((error) => defects.push(error));
  const defects: unknown[] = [];
  const appeared: WireGhost[] = [];
  const requests: RunRequest[] = [];
  const lookedAgain: (readonly string[])[] = [];
  events.on("shadow.ghost", (ghost) => appeared.push(ghost));
  let report = (_finding: Finding): Promise<void> => Promise.resolve();
  const start = async (): Promise<Shadow> => {
    const shadow = new Shadow({
      ...{ store, clock, events, random: systemRandomness },
      redactor: { redactText: (text) => ({ text: text.replaceAll("hunter2", "[REDACTED]"), found: [] }) },
      assistant: {
        submit: (request) => {
          requests.push(request);
          const ids = { runId: asRunId("run_1"), sessionId: asSessionId("session_1") };
          return Promise.resolve({ ok: true, ...ids, status: "queued", isRepeat: requests.length > 1 });
        },
      },
      pace: () => pace,
      showPath: (path) => ({ name: path.slice(1), isReachable: true }),
      watch: (lookAgain, onFinding) => {
        lookedAgain.push(lookAgain);
        report = onFinding;
        return Promise.resolve({ stop: () => Promise.resolve() });
      },
      onDefect: (error) => defects.push(error),
    });
    await shadow.restart();
    return shadow;
  };
  let shadow = await start();
  return {
    ...{ clock, store, appeared, requests, lookedAgain, defects },
    get shadow() {
      return shadow;
    },
    restart: async () => {
      await shadow.stop();
      shadow = await start();
    },
    /** Until all of it was dealt with. */
    tell: async (...findings: readonly Finding[]) => {
      await Promise.all(findings.map((finding) => report(finding)));
    },
    advance: async (ms: number) => {
      clock.advance(ms);
      // Behind what the clock has woken.
      await report({ type: "settled", subject: "nothing" });
    },
    list: () => shadow.list(null, EVERYTHING),
    triggers: () => appeared.map(({ trigger }) => trigger.replace("file changed: ", "")),
  };
}

verifies(
  "T-5.2/cooldown",
  "the next ghost appears when 30 seconds have passed, the newest first, over a restart",
  async () => {
    const loop = await openLoop();
    await loop.tell(broken("/a"), broken("/b"), broken("/c"));
    expect(loop.triggers()).toEqual(["a"]);
    await loop.advance(29_999);
    expect(loop.triggers()).toEqual(["a"]);
    await loop.advance(1);
    expect(loop.triggers()).toEqual(["a", "c"]);
    await loop.restart();
    await loop.tell(broken("/d"));
    expect(loop.triggers()).toEqual(["a", "c"]);
    await loop.advance(30_000);
    expect(loop.triggers()).toEqual(["a", "c", "d"]);
    expect(loop.defects).toEqual([]);
  },
);

verifies("T-5.2/hourly", "ten appear in an hour, and the eleventh when the first is an hour old", async () => {
  const loop = await openLoop({ cooldown: 0, maxGhostsPerHour: 10 });
  for (let count = 0; count < 12; count += 1) await loop.tell(broken(`/${count}`));
  expect(loop.appeared).toHaveLength(10);
  await loop.restart();
  await loop.advance(HOUR_MS - 1);
  await loop.tell(broken("/late"));
  expect(loop.appeared).toHaveLength(10);
  await loop.advance(1);
  expect(loop.triggers().at(-1)).toBe("late");
});

test("what waits is dropped when it is no longer so, after ten minutes, and beyond 32", async () => {
  const loop = await openLoop({ cooldown: HOUR_MS, maxGhostsPerHour: 1000 });
  await loop.tell(broken("/first"), broken("/a"), broken("/b"), { type: "settled", subject: "syntax /b" });
  await loop.advance(HOUR_MS);
  expect(loop.triggers()).toEqual(["first"]);
  await loop.tell(...Array.from({ length: 100 }, (_, index) => broken(`/${index}`)));
  expect(loop.clock.pending).toBe(1);
  expect(loop.triggers()).toEqual(["first", "0"]);
});

verifies(
  "T-5.2/states",
  "a ghost settles, is looked at again after a restart, and is not repeated while it is open",
  async () => {
    const loop = await openLoop({ cooldown: 0, maxGhostsPerHour: 100 });
    await loop.tell(broken("/a"), broken("/a"));
    expect(loop.appeared).toHaveLength(1);
    await loop.restart();
    expect(loop.lookedAgain).toEqual([[], ["/a"]]);
    // Elsewhere in the file: another ghost takes its place.
    await loop.tell(broken("/a", 7));
    expect((await loop.list()).map(({ state }) => state)).toEqual(["open", "settled"]);
    await loop.tell({ type: "settled", subject: "syntax /a" });
    expect((await loop.list()).map(({ state }) => state)).toEqual(["settled", "settled"]);
    await loop.tell(broken("/a", 7));
    expect((await loop.list()).map(({ state }) => state)).toEqual(["open", "settled", "settled"]);
  },
);

verifies(
  ["T-5.2/states", "T-5.2/action"],
  "what was dismissed starts no run, and is not said again for a day",
  async () => {
    const loop = await openLoop({ cooldown: 0, maxGhostsPerHour: 100 });
    await loop.tell(broken("/a"));
    const [ghost] = loop.appeared;
    const id = ghost?.id ?? "";
    expect(await loop.shadow.act(id, "dismiss", null, CALLER)).toMatchObject({
      ok: true,
      ghost: { state: "dismissed" },
    });
    expect(await loop.shadow.act(id, "Fix it", null, CALLER)).toMatchObject({ ok: false, code: "conflict" });
    expect(loop.requests).toEqual([]);
    await loop.tell(broken("/a"));
    await loop.advance(24 * HOUR_MS - 1);
    await loop.tell(broken("/a"));
    expect(loop.appeared).toHaveLength(1);
    await loop.advance(1);
    await loop.tell(broken("/a"));
    expect(loop.appeared).toHaveLength(2);
  },
);

verifies(
  "T-5.2/action",
  "an action is the run of its plan, private and untrusted; a changed plan is refused",
  async () => {
    const loop = await openLoop({ cooldown: 0, maxGhostsPerHour: 100 });
    await loop.tell(broken("/a"));
    const [ghost] = await loop.list();
    const id = ghost?.id ?? "";
    const [fix] = ghost?.actions ?? [];
    expect(fix?.plan?.id).toBe(planId(id, fix?.plan?.message ?? ""));
    expect(await loop.shadow.act("ghost_none", "dismiss", null, CALLER)).toMatchObject({ code: "not_found" });
    expect(await loop.shadow.act(id, "rm", null, CALLER)).toMatchObject({ code: "invalid.request" });
    expect(await loop.shadow.act(id, "approve", "plan_other", CALLER)).toMatchObject({ code: "conflict" });
    expect(loop.requests).toEqual([]);
    const twice = [fix?.plan?.id ?? "", "fix it"].map((action) => loop.shadow.act(id, action, null, CALLER));
    for (const acted of await Promise.all(twice)) {
      expect(acted).toMatchObject({ ok: true, ghost: { state: "acted", runId: "run_1", decidedBy: "operator" } });
    }
    expect(loop.requests).toHaveLength(2);
    for (const request of loop.requests) {
      expect(request).toMatchObject({
        ...{ message: fix?.plan?.message, labels: SHADOW_LABELS, principal: "operator", approvedTools: [] },
        idempotencyKey: `ghost ${id}`,
      });
      expect(request.channelClass).toBeUndefined();
    }
  },
);

test("texts are redacted, and a repair that redaction would change is not proposed", async () => {
  const loop = await openLoop({ cooldown: 0, maxGhostsPerHour: 100 });
  const found = broken("/hunter2.json");
  if (found.type !== "found" || found.trouble.kind !== "syntax-error") throw new Error("not so");
  const repaired = '{"password": "hunter2"}';
  await loop.tell({ ...found, trouble: { ...found.trouble, repaired } });
  await vi.waitFor(() => expect(loop.appeared).toHaveLength(1));
  expect(JSON.stringify(loop.appeared)).not.toContain("hunter2");
  expect(loop.appeared[0]?.actions[0]?.payload?.message).toMatch(/^Fix the JSON syntax error in/);
});
