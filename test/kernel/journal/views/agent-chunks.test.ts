import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AgentChunk, agentChunks } from "../../../../src/kernel/journal/views/agent-chunks.ts";
import { FAILURES } from "../../../../src/kernel/vocabulary/failures.ts";
import { verifies } from "../../../requirements.ts";
import { anyRun } from "./any-run.ts";
import { CANARY } from "./canned-events.ts";
import { call, calls, RUN_ENDS, type RunEnd, type TurnScript } from "./run-script.ts";
import { writeRun } from "./write-run.ts";

const chunksOf = (turns: readonly TurnScript[], end: RunEnd, isGated = false): readonly AgentChunk[] => {
  const { entries, lookup } = writeRun(turns, end);
  return agentChunks(entries, lookup, isGated);
};
const ran = { executionTime: 12, truncated: true };

describe("any run", () => {
  verifies("T-3.1", "the chunks end in done, once, and every start has its result before", () => {
    fc.assert(
      fc.property(anyRun, ({ entries, lookup }) => {
        const types = agentChunks(entries, lookup, false).map(({ type }) => type);
        const count = (wanted: string): number => types.filter((type) => type === wanted).length;
        expect(types.indexOf("done")).toBe(types.length - 1);
        expect(count("tool_result")).toBe(count("tool_call"));
        expect(count("subagent_result")).toBe(count("subagent_start"));
        expect(types.lastIndexOf("tool_call")).toBeLessThanOrEqual(types.lastIndexOf("tool_result"));
      }),
    );
  });

  test("a growing journal only appends chunks", () => {
    fc.assert(
      fc.property(anyRun, fc.nat(), fc.boolean(), ({ entries, lookup }, cut, isGated) => {
        const some = agentChunks(entries.slice(0, cut % (entries.length + 1)), lookup, isGated);
        expect(some).toEqual(agentChunks(entries, lookup, isGated).slice(0, some.length));
      }),
    );
  });

  verifies("X-25", "erased content is shown as erased", () => {
    fc.assert(
      fc.property(anyRun, ({ entries }) => {
        expect(JSON.stringify(agentChunks(entries, () => null, false))).not.toContain(CANARY);
      }),
    );
  });
});

verifies(
  "T-3.1",
  "a turn gives what the model says beside its calls, the calls and their results, then the answer",
  () => {
    const turn = { ...calls(call("http.get"), call("http.get", { arg: 2, end: "error" })), says: true };
    expect(chunksOf([turn], "answered")).toEqual([
      { type: "thinking", content: "canary text 1" },
      { type: "tool_call", tool: "http.get", args: { n: "canary 1" } },
      { type: "tool_call", tool: "http.get", args: { n: "canary 2" } },
      {
        type: "tool_result",
        tool: "http.get",
        result: { success: true, output: '{"text":"canary output"}', metadata: ran },
      },
      {
        type: "tool_result",
        tool: "http.get",
        result: {
          success: false,
          output: "internal.error: canary went wrong",
          metadata: { executionTime: 12, truncated: false },
        },
      },
      { type: "text", content: "canary text 2" },
      { type: "done" },
    ]);
  },
);

describe("under required with a token gate", () => {
  const says = (turn: TurnScript): TurnScript => ({ ...turn, says: true }) as TurnScript;
  const denied = says(calls(call("http.get", { decision: "deny" })));
  const allowed = says(calls(call("http.get", { decision: "deny" }), call("http.get")));
  const thoughts = (turns: readonly TurnScript[], isGated: boolean): readonly string[] =>
    chunksOf(turns, "unavailable", isGated).flatMap((chunk) => (chunk.type === "thinking" ? [chunk.content] : []));

  verifies("M-F", "nothing that was said before a call was allowed is told", () => {
    expect(thoughts([denied, denied], false)).toEqual(["canary text 1", "canary text 2"]);
    expect(thoughts([denied, denied], true)).toEqual([]);
    // The text of the allowing turn itself arrived while the gate was closed.
    expect(thoughts([denied, allowed, denied, allowed], true)).toEqual(["canary text 3", "canary text 4"]);
  });

  test("no other chunk is withheld", () => {
    fc.assert(
      fc.property(anyRun, ({ entries, lookup }) => {
        const others = (isGated: boolean) =>
          agentChunks(entries, lookup, isGated).filter(({ type }) => type !== "thinking");
        expect(others(true)).toEqual(others(false));
      }),
      { numRuns: 30 },
    );
  });
});

verifies("T-3.1", "a delegated run is told as a sub-agent as well", () => {
  const delegated = call("agent.delegate", { end: "child" });
  const turn = calls(delegated, call("agent.delegate", { decision: "deny-by-user" }));
  const args = { agent: "canary agent", description: "canary task", n: "canary 1" };
  const denied = {
    success: false,
    output: "policy.denied: Not run: denied by user (owner).",
    metadata: { executionTime: 0, truncated: false },
  };
  const output = { text: "canary output" };
  expect(chunksOf([turn, calls(call("agent.delegate"))], "cancelled-inferring").slice(0, -2)).toEqual([
    { type: "tool_call", tool: "agent.delegate", args },
    { type: "tool_call", tool: "agent.delegate", args },
    { type: "tool_result", tool: "agent.delegate", result: denied },
    { type: "subagent_start", agent: "canary agent", task: "canary task" },
    { type: "subagent_result", agent: "canary agent", result: output },
    {
      type: "tool_result",
      tool: "agent.delegate",
      result: { success: true, output: JSON.stringify(output), metadata: ran },
    },
    // The next turn's call has the same id, but no sub-agent behind it.
    { type: "tool_call", tool: "agent.delegate", args },
    {
      type: "tool_result",
      tool: "agent.delegate",
      result: { success: true, output: JSON.stringify(output), metadata: ran },
    },
  ]);
});

test("a sub-agent that failed says why; one whose arguments were erased has no name", () => {
  const { entries } = writeRun([calls(call("agent.delegate", { end: "child" }))], "answered");
  const failed = entries.map((entry) =>
    entry.kind === "OBSERVE" ? { ...entry, result: { type: "call.abandoned" as const } } : entry,
  );
  expect(agentChunks(failed, () => null, false).slice(0, 3)).toEqual([
    { type: "tool_call", tool: "agent.delegate", args: { "[erased]": true } },
    { type: "subagent_start", agent: "[erased]", task: "[erased]" },
    {
      type: "subagent_result",
      agent: "[erased]",
      result: {
        error: {
          code: "internal.error",
          message: "The run ended before the call answered.",
          retryable: false,
          details: {},
        },
      },
    },
  ]);
});

describe("how a run ends", () => {
  test.each(RUN_ENDS.filter((end) => end !== "answered"))("%s is an error with its reason and advice", (end) => {
    const { entries, lookup } = writeRun([], end);
    const last = entries.at(-1);
    const reason = (last?.kind === "TERMINATE" ? last.decided.reason : "") as keyof typeof FAILURES;
    expect(agentChunks(entries, lookup, false).slice(-2)).toEqual([
      { type: "error", error: `${reason}: ${FAILURES[reason].advice}` },
      { type: "done" },
    ]);
  });

  test("an escalation's question is text, before the error", () => {
    expect(
      chunksOf([], "escalated")
        .slice(2)
        .map(({ type }) => type),
    ).toEqual(["text", "error", "done"]);
  });

  test.each([
    [null, "FAILED_TIMEOUT"],
    ["some.other", "some.other"],
  ])("a reason of %j that no table explains is told as it is", (reason, error) => {
    const { entries, lookup } = writeRun([], "timed-out-inferring");
    const renamed = entries.map((entry) =>
      entry.kind === "TERMINATE" ? { ...entry, decided: { ...entry.decided, reason } } : entry,
    );
    expect(agentChunks(renamed, lookup, false)).toEqual([{ type: "error", error }, { type: "done" }]);
  });

  test("text of a turn without calls is the answer or nothing, never a thought", () => {
    expect(chunksOf([{ kind: "rejected" }, { kind: "unreachable" }], "answered")).toEqual([
      { type: "text", content: "canary text 3" },
      { type: "done" },
    ]);
    expect(chunksOf([calls(call("http.get", { end: "done" }))], "answered").map(({ type }) => type)).toEqual([
      "tool_call",
      "tool_result",
      "text",
      "done",
    ]);
  });

  test("a result without output is an empty one", () => {
    expect(chunksOf([calls(call("http.get", { end: "done" }))], "answered")[1]).toEqual({
      type: "tool_result",
      tool: "http.get",
      result: { success: true, output: "", metadata: { executionTime: 0, truncated: false } },
    });
  });
});
