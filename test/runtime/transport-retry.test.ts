/**
 * F9 at the boundary: a fault before the first byte is tried again, a bounded number of times and on the record; after a
 * byte nothing is. Real requests to a real server.
 */
import { describe, expect, onTestFinished, test } from "vitest";
import { configureModel } from "../../src/adapters/models/configure-model.ts";
import type { ContractOverrides } from "../../src/assistant/runs/run-request.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import type { EntryOf } from "../../src/kernel/journal/entry.ts";
import { TRANSPORT_RETRY_DELAYS_MS } from "../../src/kernel/machine/commit.ts";
import type { Clock } from "../../src/runtime/ports/clock.ts";
import { startAnthropicServer } from "../loopback/anthropic-server.ts";
import { answer, html, json, type Reply, startOpenAiServer } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { openTrial, storeOfFile } from "./trial/open-trial.ts";
import { outsideWorld } from "./trial/outside-world.ts";

const store = storeOfFile();
const ATTEMPTS = TRANSPORT_RETRY_DELAYS_MS.length + 1;
const LONGEST_WISH_MS = 60_000;
const UNAVAILABLE = ["FAILED_PROTOCOL_MALFORMED", "provider.unavailable"];

/** Waits that a provider may ask for are over at once, and noted; deadlines are farther away. */
function hurriedClock(): { readonly clock: Clock; readonly waits: readonly number[] } {
  const waits: number[] = [];
  const wake: Clock["wake"] = (delayMs, callback) => {
    if (delayMs > LONGEST_WISH_MS) return systemClock.wake(delayMs, callback);
    waits.push(delayMs);
    return systemClock.wake(0, callback);
  };
  return { clock: { ...systemClock, wake }, waits };
}

const WIRES = { openai_compatible: startOpenAiServer, anthropic: startAnthropicServer } as const;
type Kind = keyof typeof WIRES;
const EVENTS_TO_TEXT = { openai_compatible: 2, anthropic: 4 } as const;
const KINDS: readonly Kind[] = ["openai_compatible", "anthropic"];

/** One run against a server that gives these replies, the last of them for ever. */
async function runAgainst(kind: Kind, replies: readonly Reply[], contract: ContractOverrides = {}) {
  const { clock, waits } = hurriedClock();
  const server = await WIRES[kind]((_, index) => replies[Math.min(index, replies.length - 1)] as Reply);
  const other = await startOpenAiServer(() => answer({ text: "nobody asked me" }));
  onTestFinished(async () => {
    await Promise.all([server.close(), other.close()]);
  });
  const model = configureModel({
    ...{ ref: "loop:scripted", kind, baseUrl: server.baseUrl, model: "scripted" },
    ...{ profile: "native-tools", contextWindow: 32_768, maxOutputTokens: 1024, price: null, isFree: true },
    ...{ apiKey: null, clock: systemClock },
  });
  const trial = openTrial({ store: store(), model, world: outsideWorld(), clock });
  const runId = await trial.submit("hello", { contract });
  const { outcome, reason } = await trial.ended(runId);
  const entries = await trial.entries(runId);
  const inferences = entries.filter((entry): entry is EntryOf<"INFER"> => entry.kind === "INFER");
  const waited = [...waits];
  await trial.stop();
  return {
    ...{ waited, ending: [outcome, reason], requests: server.requests.length, others: other.connections },
    /** What the journal says of each attempt. */
    told: inferences.map(({ result }) => {
      if (result?.type === "model.failed") return [result.code, result.retryable, result.retryAfterMs];
      return result?.type === "model.answered" ? result.adapter.status : result?.type;
    }),
  };
}

const slowDown = (retryAfter: string): Reply =>
  json(429, { error: { message: "slow down" } }, { "retry-after": retryAfter });
const hi = answer({ text: "hi" });

describe.each(KINDS)("a fault of %s before the first byte", (kind) => {
  test("of a provider that is too busy waits as long as it asks for, within bounds", async () => {
    const run = await runAgainst(kind, [slowDown("2"), slowDown("60"), hi]);
    expect(run.ending).toEqual(["COMPLETED_CHAT_ONLY", null]);
    expect(run.told).toEqual([
      ["provider.rate-limited", true, 2_000],
      ["provider.rate-limited", true, LONGEST_WISH_MS],
      "native",
    ]);
    expect(run.waited).toEqual([2_000, LONGEST_WISH_MS]);
    expect(run.requests).toBe(3);
  });

  test("of a provider that wants to be left alone for longer is not tried again too early", async () => {
    const run = await runAgainst(kind, [slowDown("86400"), hi]);
    const told = [["provider.rate-limited", false, 86_400_000]];
    expect([run.ending, run.requests, run.told]).toEqual([UNAVAILABLE, 1, told]);
  });

  for (const [name, reply, code] of [
    ["500", json(500, { error: {} }), "provider.http-500"],
    ["529", json(529, { type: "error", error: { type: "overloaded_error" } }), "provider.http-529"],
    ["an HTML 502", html(502), "provider.http-502"],
    ["a reset", { kind: "reset" }, "provider.connection-lost"],
    ["429 for ever", slowDown("0"), "provider.rate-limited"],
  ] as const satisfies readonly (readonly [string, Reply, string])[]) {
    verifies("P-0", `(${name}) is tried again so often and no more, on the record, and nowhere else`, async () => {
      const once = await runAgainst(kind, [reply, hi]);
      expect([once.ending, once.requests]).toEqual([["COMPLETED_CHAT_ONLY", null], 2]);
      const always = await runAgainst(kind, [reply]);
      expect([always.ending, always.requests]).toEqual([UNAVAILABLE, ATTEMPTS]);
      expect([once.waited, always.waited]).toEqual([[TRANSPORT_RETRY_DELAYS_MS[0]], TRANSPORT_RETRY_DELAYS_MS]);
      expect(always.told).toEqual(Array.from({ length: ATTEMPTS }, () => [code, true, 0]));
      expect([once.others, always.others]).toEqual([0, 0]);
    });
  }

  test("that will not pass by itself is not tried again", async () => {
    const run = await runAgainst(kind, [json(401, { error: {} }), hi]);
    expect([run.ending, run.requests, run.told]).toEqual([UNAVAILABLE, 1, [["provider.http-401", false, 0]]]);
  });
});

describe.each(KINDS)("a fault of %s after the first byte", (kind) => {
  for (const by of ["reset", "end"] as const) {
    test(`(a stream that breaks off by ${by}) is no fault of the way there: it is not sent again`, async () => {
      const broken = answer({ text: "hello there", cut: { events: EVENTS_TO_TEXT[kind], by } });
      const strict = await runAgainst(kind, [broken, hi], { maxFormatRetries: 0 });
      expect([strict.ending, strict.requests]).toEqual([["FAILED_PROTOCOL_MALFORMED", "protocol.malformed"], 1]);
      expect(strict.told).toEqual(["rejected"]);
      // What is asked then is to repair what was written, as with any answer that is no answer, and counted so.
      const lenient = await runAgainst(kind, [broken], { maxFormatRetries: 1 });
      expect([lenient.requests, lenient.told]).toEqual([2, ["rejected", "rejected"]]);
      expect(lenient.others).toBe(0);
    });
  }
});
