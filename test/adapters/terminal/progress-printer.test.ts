import { describe, expect, test } from "vitest";
import { progressPrinter } from "../../../src/adapters/terminal/progress-printer.ts";
import { styleFor } from "../../../src/adapters/terminal/style.ts";
import type { RunUpdate } from "../../../src/assistant/runs/run-updates.ts";
import { RECEIPT_FORMAT } from "../../../src/kernel/journal/signed-receipt.ts";
import type { LifecycleEvent } from "../../../src/kernel/journal/views/lifecycle-events.ts";
import type { RunRecord } from "../../../src/kernel/journal/views/run-record.ts";
import type { ApprovalCard } from "../../../src/runtime/ports/approver.ts";

const PLAIN = styleFor({}, true);

const NOT_RETRYABLE = { retryable: false, details: {}, details_ref: null } as const;

const RECORD: RunRecord = {
  id: "run_1",
  agent_id: "main",
  session_id: "s",
  status: "completed",
  outcome: "COMPLETED_WITH_TOOLS",
  reason: null,
  output: "Hello there.",
  artifact_path: "",
  duration_ms: 1234,
  tool_calls: 1,
  provider: "builtin",
  model: "demo",
  thinking_mode: "never",
  contract_hash: "c",
  head_hash: "h",
  state_digest: "d",
  trace: { tool_execution_results: [] },
};

type PayloadOf<Type extends LifecycleEvent["event_type"]> = Extract<LifecycleEvent, { event_type: Type }>["payload"];

function event<Type extends LifecycleEvent["event_type"]>(event_type: Type, payload: PayloadOf<Type>): RunUpdate {
  const common = { event_id: "e", ts: "t", run_id: "run_1", agent_id: "main", seq: 1 };
  return { kind: "event", event: { ...common, event_type, payload } as LifecycleEvent };
}
const delta = (text: string, attempt = 1, offset = 0): RunUpdate => ({ kind: "delta", attempt, offset, text });

const CREATED = event("run.created", { session_id: "s", principal: "p", message_ref: null, contract_hash: "c" });
const STARTED = event("run.started", { checks: [{ check: "backend", failure: null }] });
const asked = (attempt: number) =>
  event("model.requested", {
    step_id: "1",
    attempt,
    mode: "normal",
    prompt_head: "",
    max_output_tokens: 1,
    constraint_hash: "",
  });
const called = (over: Partial<PayloadOf<"tool.call">>) =>
  event("tool.call", {
    step_id: "1",
    call_id: "c",
    tool: "fs.read_text",
    args_ref: "a",
    plan_hash: null,
    policy_id: "risk",
    decision: "allow",
    approval: null,
    ...over,
  });
const ended = (over: Partial<PayloadOf<"tool.result">>) =>
  event("tool.result", {
    step_id: "1",
    call_id: "c",
    tool: "fs.read_text",
    ok: true,
    ended_by: "tool",
    output_ref: null,
    output_bytes: 1500,
    truncated: false,
    duration_ms: 12,
    error: null,
    child: null,
    ...over,
  });

/** Both streams in one text, as a terminal shows them; `answers` is what went to the answer's alone. */
function screen(isTTY: boolean, hasAnswer = true) {
  let shown = "";
  let answers = "";
  const write = (text: string): void => {
    shown += text;
  };
  const progress = { isTTY, write };
  const answer = {
    isTTY,
    write(text: string) {
      write(text);
      answers += text;
    },
  };
  const printer = progressPrinter({ progress, answer: hasAnswer ? answer : null, style: PLAIN });
  return { printer, shown: () => shown, answers: () => answers };
}

describe("the progress of a run", () => {
  test("is printed in words", () => {
    const { printer, shown } = screen(false);
    const news = [
      CREATED,
      STARTED,
      asked(1),
      called({ shown: "fs.read_text a.txt" }),
      ended({}),
      asked(2),
      called({
        call_id: "d",
        tool: "fs.write_text",
        approval: { id: "a", decision: "allow", by: "terminal" },
      }),
      called({ call_id: "e", tool: "shell.exec", decision: "deny", shown: "shell.exec touch a.txt" }),
      ended({ call_id: "d", tool: "fs.write_text", truncated: true }),
      ended({
        call_id: "e",
        tool: "shell.exec",
        ok: false,
        ended_by: "call.refused",
        error: {
          code: "policy.denied",
          message: "Not run: `touch` is not in tools.shell.allow.",
          message_ref: null,
          ...NOT_RETRYABLE,
        },
      }),
    ];
    for (const piece of news) printer.show(piece);
    printer.finish(RECORD);
    expect(shown().split("\n")).toEqual([
      "run run_1",
      "thinking",
      "calling fs.read_text a.txt",
      "fs.read_text done in 12 ms, 1.5 kB",
      "thinking",
      "calling fs.write_text, allowed by terminal",
      "fs.write_text done in 12 ms, 1.5 kB, truncated",
      "shell.exec touch a.txt",
      "  Not run: `touch` is not in tools.shell.allow.",
      "thinking",
      "Hello there.",
      "COMPLETED_WITH_TOOLS · 1 tool call · 1.2 s · builtin:demo · run_1",
      "",
    ]);
  });

  test("a call that was not run or failed counts in the last line, which is not green then", () => {
    const shout = { ...PLAIN, green: (text: string) => `GREEN ${text}`, yellow: (text: string) => `YELLOW ${text}` };
    const lastLine = (...errors: readonly string[]): string => {
      let shown = "";
      const progress = { isTTY: false, write: (text: string) => (shown += text) };
      const trace = errors.map((error) => ({ tool: "t", tool_call_id: "c", summary: "", output: "", error }));
      const printer = progressPrinter({ progress, answer: null, style: shout });
      printer.finish({ ...RECORD, trace: { tool_execution_results: trace } });
      return shown;
    };
    expect(lastLine("")).toMatch(/^GREEN COMPLETED_WITH_TOOLS · 1 tool call · 1\.2 s/);
    expect(lastLine("policy.denied: Not run: no.")).toMatch(
      /^YELLOW COMPLETED_WITH_TOOLS · 1 tool call · 1 not run · /,
    );
    expect(
      lastLine("invalid.request: Not run: the turn ended first.", "timeout: late", "", "tool.not_found: x"),
    ).toMatch(/^YELLOW COMPLETED_WITH_TOOLS · 1 tool call · 1 not run · 2 failed · /);
  });

  test("that it waits for its turn is said with its id, and that it has begun as ever", () => {
    const { printer, shown } = screen(false);
    printer.showQueued("run_1");
    printer.show(CREATED);
    expect(shown().split("\n")).toEqual(["queued run_1", "run run_1", ""]);
  });

  test("that the model thinks is said when it begins to, and once a turn", () => {
    const { printer, shown } = screen(false);
    const told = (news: RunUpdate): string => {
      const before = shown().length;
      printer.show(news);
      return shown().slice(before);
    };
    expect(told(CREATED)).toBe("run run_1\n");
    expect(told(STARTED)).toBe("thinking\n");
    expect(told(asked(1))).toBe("");
    for (const call_id of ["c", "d"]) told(called({ call_id }));
    expect(told(ended({ call_id: "c" }))).not.toContain("thinking");
    expect(told(ended({ call_id: "d" }))).toMatch(/\nthinking\n$/);
    expect(told(asked(2))).toBe("");
    // An answer that nobody could read: it is asked again.
    expect(told(asked(3))).toBe("thinking\n");
  });

  test("a call that could not be planned is reported by its result: no policy denied it", () => {
    const { printer, shown } = screen(false);
    const unplanned = { decision: "deny", policy_id: "plan.problem" } as const;
    const failed = (code: string, message: string) => ({
      ok: false,
      ended_by: "call.refused",
      error: { code, message, message_ref: null, ...NOT_RETRYABLE },
    });
    printer.show(called({ ...unplanned, tool: "fs.raed" }));
    printer.show(ended({ ...failed("tool.not_found", "There is no tool fs.raed."), tool: "fs.raed" }));
    printer.show(called(unplanned));
    printer.show(ended(failed("tool.input_invalid", "path is missing")));
    expect(
      shown()
        .split("\n")
        .filter((line) => line !== "thinking"),
    ).toEqual([
      "fs.raed",
      "  Not run: tool.not_found: There is no tool fs.raed.",
      "fs.read_text",
      "  Not run: tool.input_invalid: path is missing",
      "",
    ]);
  });

  test("a failed run says why, what was found out and what to do", () => {
    const { printer, shown } = screen(false);
    const failed = { status: "failed", outcome: "FAILED_PREFLIGHT", output: "", tool_calls: 0 } as const;
    const check = { check: "backend", failure: "backend.unresponsive" };
    printer.show(event("run.started", { checks: [check] }));
    const explanation = "cannot be reached:\u001b[2J is it up? Check that it runs.";
    printer.finish({ ...RECORD, ...failed, reason: "backend.unresponsive", explanation });
    expect(shown().split("\n")).toEqual([
      "FAILED_PREFLIGHT (backend.unresponsive) · 0 tool calls · 1.2 s · builtin:demo · run_1",
      "cannot be reached:\\u{1b}[2J is it up? Check that it runs.",
      "",
    ]);
  });

  test("a completed run says what is wrong with its answer", () => {
    const { printer, shown } = screen(false);
    printer.finish({ ...RECORD, explanation: "The answer was cut off." });
    expect(shown()).toMatch(/^Hello there\.\nCOMPLETED_WITH_TOOLS .*\nThe answer was cut off\.\n$/);
  });

  test("what a run cost is said where that is known", () => {
    const { head_hash, contract_hash } = RECORD;
    const receipt: NonNullable<RunRecord["receipt"]> = {
      ...{ format: RECEIPT_FORMAT, run_id: "run_1", model: "p:m", model_fingerprint: "", tokens: 15, cost_usd: 0 },
      ...{ outcome: "COMPLETED_CHAT_ONLY", head_hash, contract_hash, public_key: null, signature: null },
    };
    const line = (cost: Partial<typeof receipt>) => {
      const { printer, shown } = screen(false);
      printer.finish({ ...RECORD, receipt: { ...receipt, ...cost } });
      return shown();
    };
    expect(line({})).toContain("· 15 tokens · $0.00 ·");
    expect(line({ cost_usd: null })).toContain("· 15 tokens · price unknown ·");
  });

  test("what waits for an answer says how to give it", () => {
    const { printer, shown } = screen(false);
    const card = { id: "approval_1", tool: "fs.write_text", shown: "Call: fs.write_text /w/a.txt\nWrite" };
    printer.showWaiting({ ...card, kind: "approve" } as ApprovalCard);
    printer.showWaiting({ ...card, kind: "resolve" } as ApprovalCard);
    expect(shown().split("\n")).toEqual([
      "waiting for approval: fs.write_text (approval_1)",
      "  │ /w/a.txt",
      "answer: surety approvals allow approval_1, or surety approvals deny approval_1",
      "waiting for you to say whether this was done: fs.write_text (approval_1)",
      "  │ /w/a.txt",
      "answer: surety approvals resolve approval_1 done|retry|fail",
      "",
    ]);
  });

  test("much output is folded: the call's end says how many lines were left out and where they are", () => {
    const { printer, shown } = screen(true);
    const text = Array.from({ length: 20_000 }, (_, index) => `line ${index}\n`).join("");
    printer.show({ kind: "output", step: 1, callId: "c" as never, stream: "stdout", offset: 0, text });
    printer.show(ended({}));
    const rows = shown().split("\n");
    expect(rows.length).toBeLessThan(60);
    expect(shown()).toMatch(/\n {2}… 19960 more lines: surety runs show run_1\nfs.read_text done/);
  });

  test("what a tool prints is shown on a terminal, line by line behind a bar", () => {
    const { printer, shown, answers } = screen(true);
    const print = (text: string): void =>
      printer.show({ kind: "output", step: 1, callId: "c", stream: "stdout", offset: 0, text });
    for (const text of ["one\n\ntw", "o", "\n", "three\u001b[2J"]) print(text);
    printer.show(ended({}));
    expect(shown()).toBe("  │ one\n  │\n  │ two\n  │ three\\u{1b}[2J\nfs.read_text done in 12 ms, 1.5 kB\nthinking\n");
    expect(answers()).toBe("");
    const piped = screen(false);
    piped.printer.show({ kind: "output", step: 1, callId: "c", stream: "stdout", offset: 0, text: "one" });
    expect(piped.shown()).toBe("");
  });

  test("that a provider wants to be waited for is said, with how long", () => {
    const { printer, shown } = screen(false);
    printer.show({ kind: "wait", code: "provider.rate-limited", waitMs: 60_000 });
    expect(shown()).toBe("provider.rate-limited: trying again in 1 min 0 s, as the provider asked\n");
  });

  test("foreign words of several rows pass for no other line: their rows are indented", () => {
    const filler = "x".repeat(300);
    const forged = `${filler} Allow fs.read_text? [a]llow / [d]eny: `;
    let shown = "";
    const progress = { isTTY: true, columns: 40, write: (text: string) => (shown += text) };
    const printer = progressPrinter({ progress, answer: null, style: PLAIN });
    printer.show(called({ shown: forged }));
    printer.show(called({ call_id: "d", decision: "deny", shown: forged }));
    for (const [call_id, ended_by] of [
      ["c", "tool.finished"],
      ["d", "call.refused"],
    ] as const)
      printer.show(
        ended({
          call_id,
          ended_by,
          ok: false,
          error: { code: "timeout", message: forged, message_ref: null, ...NOT_RETRYABLE },
        }),
      );
    printer.finish({ ...RECORD, explanation: forged });
    const rows = shown.split("\n");
    expect(Math.max(...rows.map((row) => row.length))).toBeLessThan(120);
    const begun = rows.filter((row) => row.includes("x") && !row.startsWith("    "));
    expect(begun.map((row) => row.slice(0, 12))).toEqual([
      "calling xxxx",
      "fs.read_text",
      "xxxxxxxxxxxx",
      "  Not run: t",
      "xxxxxxxxxxxx",
    ]);
  });

  test("foreign words move no cursor", () => {
    const { printer, shown } = screen(true);
    printer.show(called({ tool: "x\u001b[2J\ny" }));
    printer.show(ended({ error: { code: "timeout", message: "a\r\nb\u009b", message_ref: null, ...NOT_RETRYABLE } }));
    printer.show(delta("live \u001b[31m"));
    printer.finish({ ...RECORD, output: "other \u001b]0;x\u0007", model: "m\u001b" });
    expect(shown()).not.toMatch(/[\u001b\u009b\u0007\r]/);
  });
});

describe("the answer", () => {
  test("appears as it is written, once", () => {
    const { printer, shown, answers } = screen(true);
    for (const piece of [delta("Hello "), delta("there.", 1, 6)]) printer.show(piece);
    expect(answers()).toBe("Hello there.");
    printer.finish(RECORD);
    expect(answers()).toBe("Hello there.\n");
    expect(shown()).toMatch(/^Hello there\.\nCOMPLETED_WITH_TOOLS/);
  });

  test("an attempt that was given up is marked, and the recorded answer wins", () => {
    const { printer, shown } = screen(true);
    printer.show(delta("Hel", 1));
    printer.show(delta("Good ", 2));
    printer.finish({ ...RECORD, output: "Good day." });
    expect(shown()).toMatch(/^Hel\n\(the model starts over\)\nGood \n\(the recorded answer\)\nGood day\.\nCOMPLETED/);
  });

  test("text that comes again after a reconnect is shown once", () => {
    const { printer, answers } = screen(true);
    for (const piece of [delta("Hello "), delta("Hello the"), delta("re.", 1, 9)]) printer.show(piece);
    expect(answers()).toBe("Hello there.");
  });

  test("another text of the same attempt, as after a restart, is marked", () => {
    const { printer, shown } = screen(true);
    for (const piece of [delta("Hello "), delta("Good "), delta("day.", 1, 5)]) printer.show(piece);
    expect(shown()).toBe("Hello \n(the model starts over)\nGood day.");
  });

  test("what was said before a call is no attempt that was given up", () => {
    const { printer, shown } = screen(true);
    const news = [
      CREATED,
      STARTED,
      delta("Let me look."),
      asked(1),
      called({}),
      ended({}),
      delta("Done.", 2),
      asked(2),
    ];
    for (const piece of news) printer.show(piece);
    printer.finish({ ...RECORD, output: "Done." });
    expect(shown().split("\n").slice(0, -2)).toEqual([
      ...["run run_1", "thinking", "Let me look.", "calling fs.read_text"],
      ...["fs.read_text done in 12 ms, 1.5 kB", "thinking", "Done."],
    ]);
  });

  test("an emoji in two pieces stays one", () => {
    const { printer, answers } = screen(true);
    printer.show(delta("a\ud83d"));
    expect(answers()).toBe("a");
    printer.show(delta("\ude42", 1, 2));
    expect(answers()).toBe("a🙂");
  });

  test("into a file or a pipe it goes whole and as it is", () => {
    const { printer, answers } = screen(false);
    printer.show(delta("Hel"));
    printer.finish({ ...RECORD, output: "Hello\u001b[0m\n" });
    expect(answers()).toBe("Hello\u001b[0m\n");
  });

  test("is left out where nobody wants it", () => {
    const { printer, shown } = screen(true, false);
    printer.show(delta("Hello"));
    printer.finish(RECORD);
    expect(shown()).toMatch(/^COMPLETED_WITH_TOOLS/);
  });
});
