import fc from "fast-check";
import { Compile } from "typebox/compile";
import { describe, expect, test } from "vitest";
import { receiptOf } from "../../../../src/kernel/journal/views/receipt.ts";
import { digestOf, snapshotOfEntries } from "../../../../src/kernel/journal/views/run-snapshot.ts";
import {
  type WsMessage,
  WsMessageSchema,
  websocketMessages,
} from "../../../../src/kernel/journal/views/websocket-messages.ts";
import { verifies } from "../../../requirements.ts";
import { anyRun } from "./any-run.ts";
import { CANARY } from "./canned-events.ts";
import { call, calls, type RunEnd, type TurnScript } from "./run-script.ts";
import { MODEL, RUN_ID, writeRun } from "./write-run.ts";

const isValid = Compile(WsMessageSchema);
const messagesOf = (turns: readonly TurnScript[], end: RunEnd): readonly WsMessage[] => {
  const { entries, lookup } = writeRun(turns, end);
  return websocketMessages(entries, lookup, MODEL);
};
const typesOf = (messages: readonly WsMessage[]): readonly string[] => messages.map(({ type }) => type);

describe("any run", () => {
  verifies("T-1.1", "messages have the envelope, ids of their own, and end in one agent.response.end", () => {
    fc.assert(
      fc.property(anyRun, ({ entries, lookup }) => {
        const messages = websocketMessages(entries, lookup, MODEL);
        expect(messages.filter((message) => !isValid.Check(message))).toEqual([]);
        expect(messages.map(({ id }) => id)).toEqual(messages.map((_, index) => `msg_run_1_${index + 1}`));
        expect(typesOf(messages).indexOf("agent.response.end")).toBe(messages.length - 1);
      }),
    );
  });

  verifies("T-1.1", "every tool.call has its tool.result before the end", () => {
    fc.assert(
      fc.property(anyRun, ({ entries, lookup }) => {
        const open: string[] = [];
        for (const { type, payload } of websocketMessages(entries, lookup, MODEL)) {
          if (type === "tool.call") open.push(payload.callId);
          if (type === "tool.result") open.splice(open.indexOf(payload.callId), 1);
          if (type === "agent.response.end") expect(open).toEqual([]);
        }
      }),
    );
  });

  test("a growing journal only appends messages", () => {
    fc.assert(
      fc.property(anyRun, fc.nat(), ({ entries, lookup }, cut) => {
        const some = websocketMessages(entries.slice(0, cut % (entries.length + 1)), lookup, MODEL);
        expect(some).toEqual(websocketMessages(entries, lookup, MODEL).slice(0, some.length));
      }),
    );
  });

  verifies("X-25", "erased content is shown as erased and breaks nothing", () => {
    fc.assert(
      fc.property(anyRun, ({ entries }) => {
        const messages = websocketMessages(entries, () => null, MODEL);
        expect(messages.filter((message) => !isValid.Check(message))).toEqual([]);
        expect(JSON.stringify(messages)).not.toContain(CANARY);
      }),
    );
  });
});

describe("one run, in full", () => {
  const turn = calls(
    call("http.get"),
    call("fs.write_text", { arg: 2, decision: "deny-by-user" }),
    call("http.get", { end: "error" }),
  );
  const { entries, lookup, contract } = writeRun([turn], "answered");
  const run = { sessionId: "session-1", runId: "run_1" };

  verifies(["T-1.1", "X-10", "M-D"], "calls, results, the answer, and its end with outcome, digest and receipt", () => {
    const at = (second: number) => 1_771_149_600_250 + second * 1000;
    const receipt = {
      model: MODEL,
      model_fingerprint: "large-2026",
      tokens: 20,
      cost_usd: 0.000006,
      contract_hash: contract.contractHash,
      outcome: "COMPLETED_WITH_TOOLS",
      head_hash: entries.at(-1)?.hash,
    };
    expect(websocketMessages(entries, lookup, MODEL)).toEqual([
      {
        id: "msg_run_1_1",
        type: "tool.call",
        timestamp: at(3),
        payload: { ...run, callId: "t1", tool: "http.get", args: { n: "canary 1" } },
      },
      {
        id: "msg_run_1_2",
        type: "tool.call",
        timestamp: at(3),
        payload: { ...run, callId: "t2", tool: "fs.write_text", args: { n: "canary 2" } },
      },
      {
        id: "msg_run_1_3",
        type: "tool.call",
        timestamp: at(3),
        payload: { ...run, callId: "t3", tool: "http.get", args: { n: "canary 1" } },
      },
      {
        id: "msg_run_1_4",
        type: "tool.result",
        timestamp: at(3),
        payload: {
          ...run,
          callId: "t2",
          tool: "fs.write_text",
          ok: false,
          output: null,
          error: { code: "policy.denied", message: "Not run: denied by user (owner).", retryable: false, details: {} },
        },
      },
      {
        id: "msg_run_1_5",
        type: "tool.result",
        timestamp: at(5),
        payload: { ...run, callId: "t1", tool: "http.get", ok: true, output: { text: "canary output" }, error: null },
      },
      {
        id: "msg_run_1_6",
        type: "tool.result",
        timestamp: at(7),
        payload: {
          ...run,
          callId: "t3",
          tool: "http.get",
          ok: false,
          output: null,
          error: { code: "internal.error", message: "canary went wrong", retryable: true, details: {} },
        },
      },
      { id: "msg_run_1_7", type: "agent.response", timestamp: at(12), payload: { ...run, content: "canary text 2" } },
      {
        id: "msg_run_1_8",
        type: "agent.response.end",
        timestamp: at(12),
        payload: {
          ...run,
          outcome: "COMPLETED_WITH_TOOLS",
          digest: digestOf(snapshotOfEntries(RUN_ID, contract.contractHash, entries)),
          receipt,
        },
      },
    ]);
    expect(receiptOf(entries, MODEL)).toEqual(receipt);
  });

  verifies("X-10", "there is no receipt before the run has ended", () => {
    for (const count of entries.keys()) expect(receiptOf(entries.slice(0, count), MODEL)).toBeNull();
  });
});

test("a run with nothing to say ends without an answer; an escalation asks its question", () => {
  expect(typesOf(messagesOf([], "cancelled-inferring"))).toEqual(["agent.response.end"]);
  const [, , response, end] = messagesOf([], "escalated");
  expect(response).toMatchObject({ type: "agent.response", payload: { content: expect.stringContaining("guidance") } });
  expect(end).toMatchObject({ type: "agent.response.end", payload: { outcome: "FAILED_BUDGET_EXHAUSTED" } });
});

test("an entry with a broken time is told at the epoch", () => {
  const { entries, lookup } = writeRun([], "cancelled-inferring");
  const broken = entries.map((entry) => ({ ...entry, ts: "" }));
  expect(websocketMessages(broken, lookup, MODEL).map(({ timestamp }) => timestamp)).toEqual([0]);
});
