import fc from "fast-check";
import { Compile } from "typebox/compile";
import { describe, expect, test } from "vitest";
import {
  type LifecycleEvent,
  LifecycleEventSchema,
  lifecycleEvents,
} from "../../../../src/kernel/journal/views/lifecycle-events.ts";
import { verifies } from "../../../requirements.ts";
import { answered, begin, cancel, contractOf, modelFailed, play, ref } from "../../machine/scripted-run.ts";
import { anyRun } from "./any-run.ts";
import { CANARY, hashOf } from "./canned-events.ts";
import { call, calls, RUN_ENDS, type RunEnd, type TurnScript } from "./run-script.ts";
import { writeRun } from "./write-run.ts";

const TERMINAL = ["run.completed", "run.failed", "run.cancelled"];
const isValid = Compile(LifecycleEventSchema);
const namesOf = (events: readonly LifecycleEvent[]): readonly string[] => events.map(({ event_type }) => event_type);
const eventsOfRun = (turns: readonly TurnScript[], end: RunEnd) => lifecycleEvents(writeRun(turns, end).entries);
const resultsOf = (events: readonly LifecycleEvent[]) =>
  events.flatMap((event) => (event.event_type === "tool.result" ? [event.payload] : []));

describe("any run", () => {
  verifies(
    "O-2.1/order",
    "events come in the required order, with seq from 1 and exactly one terminal event, the last",
    () => {
      fc.assert(
        fc.property(anyRun, ({ entries }) => {
          const events = lifecycleEvents(entries);
          const names = namesOf(events);
          expect(names[0]).toBe("run.created");
          expect(names.lastIndexOf("run.created")).toBe(0);
          expect(names.filter((name) => name === "run.started").length).toBe(names.length === 2 ? 0 : 1);
          if (names.length > 2) expect(names[1]).toBe("run.started");
          expect(names.findIndex((name) => TERMINAL.includes(name))).toBe(names.length - 1);
          expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
        }),
      );
    },
  );

  verifies("O-2.1", "every tool.call has exactly one tool.result, after it and before the turn's end", () => {
    fc.assert(
      fc.property(anyRun, ({ entries }) => {
        const open: string[] = [];
        for (const { event_type, payload } of lifecycleEvents(entries)) {
          if (event_type === "tool.call") open.push(`${payload.step_id} ${payload.call_id} ${payload.tool}`);
          if (event_type === "tool.result") {
            const place = open.indexOf(`${payload.step_id} ${payload.call_id} ${payload.tool}`);
            expect(place).toBeGreaterThanOrEqual(0);
            open.splice(place, 1);
          }
          if (event_type === "model.requested" || TERMINAL.includes(event_type)) expect(open).toEqual([]);
        }
      }),
    );
  });

  verifies("O-2.1", "calls are told in the order they were proposed", () => {
    fc.assert(
      fc.property(anyRun, ({ entries }) => {
        const proposed = entries.flatMap((entry) => (entry.kind === "VALIDATE_CALLS" ? entry.decided.calls : []));
        const told = lifecycleEvents(entries).flatMap((event) =>
          event.event_type === "tool.call" ? [event.payload] : [],
        );
        expect(told.map(({ call_id, args_ref }) => [call_id, args_ref])).toEqual(
          proposed.map(({ callId, argsRef }) => [callId, argsRef]),
        );
      }),
    );
  });

  verifies("O-2.1", "the events of a prefix of the journal are a prefix of its events", () => {
    fc.assert(
      fc.property(anyRun, fc.nat(), ({ entries }, cut) => {
        const all = lifecycleEvents(entries);
        const some = lifecycleEvents(entries.slice(0, cut % (entries.length + 1)));
        expect(some).toEqual(all.slice(0, some.length));
      }),
    );
  });

  verifies("O-2.1/fields", "events have the published shape, ids of their own and no content", () => {
    fc.assert(
      fc.property(anyRun, ({ entries }) => {
        const events = lifecycleEvents(entries);
        expect(events.filter((event) => !isValid.Check(event))).toEqual([]);
        expect(new Set(events.map(({ event_id }) => event_id)).size).toBe(events.length);
        expect(JSON.stringify(events)).not.toContain(CANARY);
      }),
    );
  });

  test("what a COMMIT skipped is told as skipped, in order", () => {
    fc.assert(
      fc.property(anyRun, ({ entries }) => {
        const skipped = entries.flatMap((entry) =>
          entry.kind === "COMMIT" ? entry.decided.skipped.map(({ callId }) => callId) : [],
        );
        const told = resultsOf(lifecycleEvents(entries)).filter(({ ended_by }) => ended_by === "call.skipped");
        // A defect leaves no list: its turn was not accounted for call by call.
        const last = entries.at(-1);
        const isDefect = last?.kind === "TERMINATE" && last.decided.reason === "defect";
        expect(told.map(({ call_id }) => call_id)).toEqual(isDefect ? ["t3"] : skipped);
      }),
    );
  });
});

describe("one run, in full", () => {
  const { entries, contract } = writeRun([calls(call("fs.read_text", { decision: "approve" }))], "answered");
  const events = lifecycleEvents(entries);
  const argsRef = entries.find((entry) => entry.kind === "EXECUTE")?.decided.argsRef;
  const frame = (seq: number, second: number) => ({
    event_id: `evt_run_1_${seq}`,
    ts: `2026-02-15T10:00:0${second}.250Z`,
    run_id: "run_1",
    agent_id: "main",
    seq,
  });

  verifies("O-2.1", "each event says what its entry says", () => {
    const asked = { mode: "normal", prompt_head: hashOf("prompt"), max_output_tokens: 512 };
    const checks = ["context", "structure", "tools", "profile", "backend"].map((check) => ({ check, failure: null }));
    const about = { step_id: "step-1", call_id: "t1", tool: "fs.read_text" };
    expect(events).toEqual([
      {
        ...frame(1, 1),
        event_type: "run.created",
        payload: {
          session_id: "session-1",
          principal: "user:ada",
          message_ref: entries[0]?.kind === "run.created" ? entries[0].decided.messageRef : "",
          contract_hash: contract.contractHash,
        },
      },
      { ...frame(2, 1), event_type: "run.started", payload: { checks } },
      {
        ...frame(3, 2),
        event_type: "model.requested",
        payload: { step_id: "step-1", attempt: 1, ...asked, constraint_hash: hashOf("constraint") },
      },
      {
        ...frame(4, 3),
        event_type: "tool.call",
        payload: {
          ...about,
          args_ref: argsRef,
          plan_hash: hashOf(`plan ${argsRef}`),
          policy_id: "policy.risk.read_only",
          decision: "allow",
          approval: { id: "approval-t1", decision: "allow", by: "owner" },
        },
      },
      {
        ...frame(5, 5),
        event_type: "tool.result",
        payload: {
          ...about,
          ok: true,
          ended_by: "tool.finished",
          output_ref: expect.stringMatching(/^[0-9a-f]{64}$/),
          output_bytes: 24,
          truncated: true,
          duration_ms: 12,
          error: null,
          child: null,
        },
      },
      {
        ...frame(6, 7),
        event_type: "model.requested",
        payload: { step_id: "step-2", attempt: 2, ...asked, constraint_hash: hashOf("constraint") },
      },
      {
        ...frame(7, 0),
        ts: "2026-02-15T10:00:10.250Z",
        event_type: "run.completed",
        payload: {
          outcome: "COMPLETED_WITH_TOOLS",
          reason: null,
          answer_ref: expect.stringMatching(/^[0-9a-f]{64}$/),
          head_hash: entries.at(-1)?.hash,
        },
      },
    ]);
  });
});

describe("how runs end", () => {
  const terminal: Record<RunEnd, readonly [string, string, string | null]> = {
    answered: ["run.completed", "COMPLETED_CHAT_ONLY", null],
    escalated: ["run.failed", "FAILED_BUDGET_EXHAUSTED", "tool_failure_escalation"],
    "cancelled-inferring": ["run.cancelled", "INTERRUPTED", "run.cancelled"],
    "timed-out-inferring": ["run.failed", "FAILED_TIMEOUT", "run.timeout"],
    unavailable: ["run.failed", "FAILED_PROTOCOL_MALFORMED", "provider.unavailable"],
    "compaction-failed": ["run.failed", "FAILED_BUDGET_EXHAUSTED", "context.exhausted"],
    "cut-cancelled": ["run.cancelled", "INTERRUPTED", "run.cancelled"],
    "cut-timed-out": ["run.failed", "FAILED_TIMEOUT", "run.timeout"],
    "cut-expired": ["run.cancelled", "INTERRUPTED", "effect.unresolved"],
    "cut-defect": ["run.failed", "FAILED_CONTRACT_VIOLATION", "defect"],
    "cancelled-queued": ["run.cancelled", "INTERRUPTED", "run.cancelled"],
    "cancelled-checking": ["run.cancelled", "INTERRUPTED", "run.cancelled"],
    "preflight-failed": ["run.failed", "FAILED_PREFLIGHT", "contract.invalid"],
  };

  verifies("O-2.1", "the terminal event follows from the outcome", () => {
    for (const end of RUN_ENDS) {
      const last = eventsOfRun([], end).at(-1);
      expect([last?.event_type, last?.payload]).toMatchObject([
        terminal[end][0],
        { outcome: terminal[end][1], reason: terminal[end][2] },
      ]);
    }
  });

  verifies("O-2.1", "a completed run's terminal event refers to its answer", () => {
    const { entries } = play(contractOf(), [...begin(), answered(1, { text: "forty-two" })]);
    expect(lifecycleEvents(entries).at(-1)).toMatchObject({
      event_type: "run.completed",
      payload: { outcome: "COMPLETED_CHAT_ONLY", reason: null, answer_ref: ref("forty-two") },
    });
  });

  verifies("O-2.1", "a run that failed or was cancelled has no answer to refer to, whatever the model said", () => {
    const unproven = contractOf({ requiredEffects: [{ tool: "fs.write_text" }] });
    const endings = [
      play(unproven, [...begin(), answered(1, { text: "done, trust me" })]),
      play(contractOf(), [...begin(), modelFailed(1, { retryable: false })]),
      play(contractOf(), [...begin(), cancel()]),
    ].map(({ entries }) => lifecycleEvents(entries).at(-1));
    expect(endings.map((last) => last?.event_type)).toEqual(["run.failed", "run.failed", "run.cancelled"]);
    expect(endings.map((last) => last?.payload)).toMatchObject(endings.map(() => ({ answer_ref: null })));
  });

  verifies("O-2.1", "a run cancelled before it started goes from run.created to run.cancelled", () => {
    for (const end of ["cancelled-queued", "cancelled-checking"] as const) {
      expect(namesOf(eventsOfRun([], end))).toEqual(["run.created", "run.cancelled"]);
    }
  });

  test("a run that fails preflight has started, and says what failed", () => {
    const events = eventsOfRun([], "preflight-failed");
    expect(namesOf(events)).toEqual(["run.created", "run.started", "run.failed"]);
    expect(events[1]?.payload).toEqual({
      checks: [
        { check: "context", failure: null },
        { check: "structure", failure: "contract.invalid" },
      ],
    });
  });

  test("a run that ended before it was accepted has no agent and no session", () => {
    const [created] = eventsOfRun([], "cancelled-queued");
    expect(created).toMatchObject({
      agent_id: "",
      payload: { session_id: "", principal: "system", message_ref: null },
    });
  });

  test("a call in flight when a defect ends the run is abandoned, not skipped: it may have happened", () => {
    const ended = resultsOf(eventsOfRun([], "cut-defect")).map(({ call_id, ended_by }) => [call_id, ended_by]);
    expect(ended).toEqual([
      ["t1", "call.abandoned"],
      ["t2", "call.abandoned"],
      ["t3", "call.skipped"],
    ]);
  });
});

describe("results", () => {
  test("refused calls have their result before any performed one, and all calls are told first", () => {
    const turn = calls(call("http.get"), call("fs.write_text", { decision: "deny-by-user" }));
    const names = eventsOfRun([turn], "cancelled-inferring").map((event) =>
      "call_id" in event.payload ? `${event.event_type} ${event.payload.call_id}` : event.event_type,
    );
    expect(names.slice(3, 7)).toEqual(["tool.call t1", "tool.call t2", "tool.result t2", "tool.result t1"]);
  });

  test("a call that is tried again after an unclear effect has one result, the last", () => {
    const results = resultsOf(eventsOfRun([calls(call("http.get", { end: "retried" }))], "answered"));
    expect(results.map(({ ok, ended_by }) => [ok, ended_by])).toEqual([[true, "tool.finished"]]);
  });

  test("calls that share an execution share its result", () => {
    const turn = calls(call("http.get"), call("http.get", { shares: true }));
    const results = resultsOf(eventsOfRun([turn], "answered"));
    expect(results.map(({ call_id }) => call_id)).toEqual(["t1", "t2"]);
    expect(results[1]).toEqual({ ...results[0], call_id: "t2" });
  });

  test("a delegated run's result names the run", () => {
    const [result] = resultsOf(eventsOfRun([calls(call("agent.delegate", { end: "child" }))], "answered"));
    expect(result?.child).toEqual({ run_id: "run_child", outcome: "COMPLETED_CHAT_ONLY", head_hash: hashOf("child") });
  });
});
