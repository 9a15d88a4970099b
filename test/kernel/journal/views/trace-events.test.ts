import fc from "fast-check";
import { Compile } from "typebox/compile";
import { describe, expect, test } from "vitest";
import type { ContractTerms } from "../../../../src/kernel/contract/contract.ts";
import type { Entry } from "../../../../src/kernel/journal/entry.ts";
import type { RunEvent } from "../../../../src/kernel/journal/event.ts";
import { type TraceEvent, TraceEventSchema, traceEvents } from "../../../../src/kernel/journal/views/trace-events.ts";
import { verifies } from "../../../requirements.ts";
import {
  answered,
  begin,
  compacted,
  contractOf,
  finished,
  modelFailed,
  play,
  ref,
  timer,
  toolTurn,
} from "../../machine/scripted-run.ts";
import { anyRun } from "./any-run.ts";
import { CANARY, hashOf } from "./canned-events.ts";
import { call, calls, type RunEnd, type TurnScript } from "./run-script.ts";
import { writeRun } from "./write-run.ts";

const isValid = Compile(TraceEventSchema);
const HASH = expect.stringMatching(/^[0-9a-f]{64}$/);
const traceOf = (turns: readonly TurnScript[], end: RunEnd): readonly TraceEvent[] =>
  traceEvents(writeRun(turns, end).entries);
const kindsOf = (events: readonly TraceEvent[]): readonly string[] => events.map(({ kind }) => kind);
type DataOf<Kind> = Extract<TraceEvent, { kind: Kind }>["data"];
const dataOf = <Kind extends TraceEvent["kind"]>(events: readonly TraceEvent[], kind: Kind) =>
  events.filter((event) => event.kind === kind).map(({ data }) => data as DataOf<Kind>);

describe("any run", () => {
  verifies("S-6.1", "trace lines have the published shape and hold no content", () => {
    fc.assert(
      fc.property(anyRun, ({ entries }) => {
        const events = traceEvents(entries);
        expect(events.filter((event) => !isValid.Check(event))).toEqual([]);
        expect(JSON.stringify(events)).not.toContain(CANARY);
      }),
    );
  });

  verifies("S-6.1", "every llm_req is followed by its llm_done, every tool_start by its tool_done", () => {
    fc.assert(
      fc.property(anyRun, ({ entries }) => {
        let isAsking = false;
        const running: string[] = [];
        for (const { kind, data } of traceEvents(entries)) {
          if (kind === "llm_req" || kind === "llm_done") {
            expect(isAsking).toBe(kind === "llm_done");
            isAsking = !isAsking;
            expect(running).toEqual([]);
          }
          if (kind === "tool_start") running.push(`${data.step_id} ${data.call_id} ${data.tool} ${data.shared_by}`);
          if (kind === "tool_done") {
            const place = running.indexOf(`${data.step_id} ${data.call_id} ${data.tool} ${data.shared_by}`);
            expect(place).toBeGreaterThanOrEqual(0);
            running.splice(place, 1);
          }
        }
        expect([isAsking, running]).toEqual([false, []]);
      }),
    );
  });

  verifies("S-6.1", "a growing journal only appends trace lines, and their times never go back", () => {
    fc.assert(
      fc.property(anyRun, fc.nat(), ({ entries }, cut) => {
        const all = traceEvents(entries);
        const some = traceEvents(entries.slice(0, cut % (entries.length + 1)));
        expect(some).toEqual(all.slice(0, some.length));
        const times = all.map(({ ts }) => ts);
        expect(times).toEqual(times.toSorted((a, b) => a - b));
      }),
    );
  });
});

describe("one run, in full", () => {
  const turn = {
    ...calls(call("http.get", { decision: "approve" }), call("fs.write_text", { decision: "deny" })),
    says: true,
  };
  const events = traceOf([turn], "answered");
  const step = { run_id: "run_1", step_id: "step-1" };
  const argsRef = dataOf(events, "tool_start")[0]?.args_ref;

  verifies(["S-6.1", "S-2.5"], "all nine kinds are there, in the order of what happened", () => {
    expect(kindsOf(events)).toEqual([
      "retrieval",
      ...["llm_req", "llm_stream", "llm_done", "notes_patch", "actions"],
      ...["tool_plan", "tool_start", "tool_done"],
      ...["llm_req", "llm_stream", "llm_done", "notes_patch", "actions"],
    ]);
    expect(events[0]).toEqual({
      ts: 1_771_149_600.25,
      kind: "retrieval",
      data: { run_id: "run_1", step_id: "step-0", items: [{ id: "mem_1", score: 0.412 }] },
    });
    expect(events[1]).toEqual({
      ts: 1_771_149_602.25,
      kind: "llm_req",
      data: {
        ...step,
        attempt: 1,
        mode: "normal",
        prompt_head: hashOf("prompt"),
        max_output_tokens: 512,
        constraint_hash: hashOf("constraint"),
      },
    });
    expect(dataOf(events, "llm_stream")[0]).toEqual({ ...step, chunks: 4, chars: 40, first_ms: 5, last_ms: 9 });
    expect(dataOf(events, "llm_done")[0]).toEqual({
      ...step,
      ended_by: "model.answered",
      adapter: { status: "native", failure_code: null, version: "native-tools/1" },
      code: null,
      message_ref: HASH,
      raw_hash: hashOf("raw"),
      calls: 2,
      input_tokens: 8,
      output_tokens: 2,
      cost_microusd: 3,
      stop_reason: "stop",
      fingerprint: "large-2026",
    });
    expect(dataOf(events, "notes_patch")[0]).toEqual({ ...step, status: "applied", ref: HASH });
    expect(dataOf(events, "actions")[0]).toEqual({ ...step, actions: [{ action: "condense_now", status: "done" }] });
  });

  verifies("S-6.1", "tools are traced as planned, started and done", () => {
    expect(dataOf(events, "tool_plan")).toEqual([
      {
        ...step,
        calls: [
          {
            call_id: "t1",
            tool: "http.get",
            args_ref: argsRef,
            plan_hash: hashOf(`plan ${argsRef}`),
            policy_id: "policy.risk.read_only",
            decision: "allow",
            refusal_code: null,
          },
          {
            call_id: "t2",
            tool: "fs.write_text",
            args_ref: HASH,
            plan_hash: null,
            policy_id: "policy.risk.read_only",
            decision: "deny",
            refusal_code: "tool.input_invalid",
          },
        ],
      },
    ]);
    expect(dataOf(events, "tool_start")).toEqual([
      {
        ...step,
        call_id: "t1",
        tool: "http.get",
        args_ref: argsRef,
        plan_hash: hashOf(`plan ${argsRef}`),
        idempotency: "read_only",
        approval_id: null,
        shared_by: [],
        child_run_id: null,
      },
    ]);
    expect(dataOf(events, "tool_done")).toEqual([
      {
        ...step,
        call_id: "t1",
        tool: "http.get",
        shared_by: [],
        ok: true,
        ended_by: "tool.finished",
        code: null,
        output_ref: HASH,
        output_bytes: 24,
        truncated: true,
        duration_ms: 12,
      },
    ]);
  });
});

describe("what is not there is not traced", () => {
  test("a run that was never accepted retrieved nothing", () => {
    expect(traceOf([], "cancelled-queued")).toEqual([]);
    expect(kindsOf(traceOf([], "preflight-failed"))).toEqual(["retrieval"]);
  });

  test("a silent turn has no notes, a text-only turn no plan", () => {
    expect(kindsOf(traceOf([calls(call("http.get", { decision: "deny" }))], "cancelled-inferring"))).toEqual([
      "retrieval",
      ...["llm_req", "llm_stream", "llm_done", "tool_plan"],
      ...["llm_req", "llm_done"],
    ]);
  });

  verifies("S-2.5", "a notes block without actions is traced without any", () => {
    const { entries } = writeRun([], "answered");
    const silent = entries.map((entry) =>
      entry.kind === "INFER" && entry.result?.type === "model.answered"
        ? { ...entry, result: { ...entry.result, notes: { status: "malformed" as const, ref: null, actions: [] } } }
        : entry,
    );
    const events = traceEvents(silent);
    expect(kindsOf(events)).toEqual(["retrieval", "llm_req", "llm_stream", "llm_done", "notes_patch"]);
    expect(dataOf(events, "notes_patch")[0]).toEqual({
      run_id: "run_1",
      step_id: "step-1",
      status: "malformed",
      ref: null,
    });
  });
});

verifies("S-2.5", "what a notes block asked for is traced after its patch, in its order", () => {
  const actions = [
    { action: "condense_now", status: "done" },
    { action: "forget", status: "ignored" },
  ];
  const notes = { status: "applied" as const, ref: ref("notes"), actions };
  const step = { run_id: "run_1", step_id: "step-1" };
  const events = traceEvents(play(contractOf(), [...begin(), answered(1, { text: "noted", notes })]).entries);
  expect(kindsOf(events)).toEqual(["retrieval", "llm_req", "llm_stream", "llm_done", "notes_patch", "actions"]);
  expect(dataOf(events, "notes_patch")).toEqual([{ ...step, status: "applied", ref: ref("notes") }]);
  expect(dataOf(events, "actions")).toEqual([{ ...step, actions }]);
});

verifies("S-2.5", "unknown keys of a notes block are traced by their number, where there are any", () => {
  const notes = { status: "applied" as const, ref: ref("notes"), actions: [], unknownKeys: 2 };
  const events = traceEvents(play(contractOf(), [...begin(), answered(1, { text: "noted", notes })]).entries);
  const step = { run_id: "run_1", step_id: "step-1" };
  expect(dataOf(events, "notes_patch")).toEqual([{ ...step, status: "applied", ref: ref("notes"), unknown_keys: 2 }]);
});

describe("what ended the wait for a model", () => {
  const unanswered = {
    run_id: "run_1",
    step_id: "step-1",
    adapter: null,
    code: null,
    message_ref: null,
    raw_hash: null,
    calls: 0,
    input_tokens: 0,
    output_tokens: 0,
    cost_microusd: 0,
    stop_reason: null,
    fingerprint: "",
  };
  test.each([
    ["cancelled-inferring", { ended_by: "cancel.requested" }],
    ["timed-out-inferring", { ended_by: "timer.fired" }],
    ["unavailable", { ended_by: "model.failed", code: "http.503", input_tokens: 1, cost_microusd: 1 }],
    ["compaction-failed", { ended_by: "context.compacted", input_tokens: 7, output_tokens: 3, cost_microusd: 2 }],
  ] as const)("%s", (end, told) => {
    expect(dataOf(traceOf([], end), "llm_done")).toEqual([{ ...unanswered, ...told }]);
  });

  describe("costs what its event says, and nothing where it says nothing", () => {
    const usage = { inputTokens: 11, outputTokens: 13, costMicrousd: 17 };
    const charged = { input_tokens: 11, output_tokens: 13, cost_microusd: 17 };
    // Full from 500 tokens on, and with an effect still missing nothing to wrap up.
    const terms: Partial<ContractTerms> = {
      contextBudget: { contextWindow: 1_000, reservedSystem: 101, reservedSynthesis: 50, forceSynthesisAtRatio: 0.5 },
      requiredEffects: [{ tool: "fs.write_text" }],
    };
    const filling = toolTurn(1, { id: "c1", tool: "fs.read_text" }, { result: finished("c1", { tokens: 395 }) });
    const WAITS: readonly (readonly [string, readonly RunEvent[], object])[] = [
      ["a timer", [timer("step", 120_000)], { ended_by: "timer.fired" }],
      [
        "a failure",
        [modelFailed(1, { code: "http.502", retryable: false, usage })],
        { ended_by: "model.failed", code: "http.502", ...charged },
      ],
      [
        "a compaction that made no room",
        [...filling, compacted(500, { usage })],
        { step_id: "step-2", ended_by: "context.compacted", ...charged },
      ],
    ];
    for (const [what, events, told] of WAITS) {
      verifies("S-6.1", what, () => {
        const { entries } = play(contractOf(terms), [...begin(), ...events]);
        expect(dataOf(traceEvents(entries), "llm_done").at(-1)).toEqual({ ...unanswered, ...told });
      });
    }

    test("no event at all", () => {
      const { entries } = play(contractOf(), [...begin(), modelFailed(1, { retryable: false, usage })]);
      const silent = entries.map((entry): Entry => (entry.kind === "INFER" ? { ...entry, result: null } : entry));
      expect(dataOf(traceEvents(silent), "llm_done")).toEqual([{ ...unanswered, ended_by: "" }]);
    });
  });

  test("a rejected answer", () => {
    expect(dataOf(traceOf([{ kind: "rejected" }], "answered"), "llm_done")[0]).toMatchObject({
      ended_by: "model.answered",
      adapter: { status: "rejected", failure_code: "marker.unclosed" },
      message_ref: null,
    });
  });
});

test("an entry with a broken time is traced at the epoch", () => {
  const { entries } = writeRun([], "cancelled-inferring");
  const broken = entries.map((entry) => (entry.kind === "INFER" ? { ...entry, ts: "" } : entry));
  expect(traceEvents(broken).map(({ ts }) => ts)).toEqual([1_771_149_600.25, 0, 0]);
});

describe("executions", () => {
  const endings = (turns: readonly TurnScript[], end: RunEnd) =>
    dataOf(traceOf(turns, end), "tool_done").map(({ call_id, ok, ended_by, code }) => [call_id, ok, ended_by, code]);

  test("an effect that is tried again is started and done twice", () => {
    expect(endings([calls(call("http.get", { end: "retried" }))], "answered")).toEqual([
      ["t1", false, "effect.resolved", "internal.error"],
      ["t1", true, "tool.finished", null],
    ]);
  });

  test("calls left in flight by a defect are done when their turn is", () => {
    expect(endings([], "cut-defect")).toEqual([
      ["t1", false, "call.abandoned", "internal.error"],
      ["t2", false, "call.abandoned", "internal.error"],
    ]);
  });

  test("a shared and a delegated execution say so", () => {
    const turn = calls(call("agent.delegate", { end: "child" }), call("agent.delegate", { shares: true }));
    const events = traceOf([turn], "answered");
    expect(dataOf(events, "tool_start")[0]).toMatchObject({ shared_by: ["t2"], child_run_id: "run_child" });
    expect(dataOf(events, "tool_done")[0]).toMatchObject({ shared_by: ["t2"], ended_by: "child.finished" });
  });

  test("an answer to a call that was never started is not traced", () => {
    const { entries } = writeRun([calls(call("http.get"))], "answered");
    const events = traceEvents(entries.filter(({ kind }) => kind !== "EXECUTE"));
    expect(dataOf(events, "tool_done")).toEqual([]);
  });
});
