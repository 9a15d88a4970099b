import { describe, expect, test } from "vitest";
import { type DecidedCall, type Result, UNKNOWN_EFFECT } from "../../../../src/kernel/journal/entry.ts";
import { ERASED } from "../../../../src/kernel/journal/views/body-content.ts";
import {
  abandonedOutcome,
  observedOutcome,
  refusedOutcome,
  shownError,
  skippedOutcome,
} from "../../../../src/kernel/journal/views/call-outcome.ts";
import { asBodyRef, asCallId } from "../../../../src/kernel/vocabulary/identifiers.ts";
import { USER_LABELS } from "../../../../src/kernel/vocabulary/labels.ts";
import { verifies } from "../../../requirements.ts";
import { Bodies, callEnded, hashOf } from "./canned-events.ts";

const callId = asCallId("t1");
const ref = asBodyRef(hashOf("body"));
const nothing = { outputRef: null, outputBytes: 0, truncated: false, durationMs: 0, child: null, refusedBy: null };
const resolved = (decision: "done" | "fail" | "retry" | "expired"): Result => ({
  type: "effect.resolved",
  step: 1,
  callId,
  decision,
  by: "operator",
  tokens: 0,
});
const finished = (response: object): Result => ({
  type: "tool.finished",
  step: 1,
  callId,
  response: {
    ok: true,
    outputRef: null,
    outputBytes: 3,
    truncated: true,
    error: null,
    durationMs: 7,
    ...response,
  },
  labels: USER_LABELS,
  tokens: 1,
});
const failure = { code: "timeout", retryable: true, messageRef: ref } as const;

const BARE = { messageRef: null, retryable: false, details: {}, detailsRef: null } as const;

describe("what ended a call", () => {
  const unconfirmed = ["internal.error", "The call was interrupted, and no one confirmed that it took effect."];
  const unknown = ["internal.error", "It is unknown whether the call took effect."];
  const late = ["timeout", "The tool did not answer in time."];
  const abandoned = ["internal.error", "The run ended before the call answered."];
  const table: readonly (readonly [
    Result,
    { performed: boolean; error: readonly string[] | null; endedBy?: string },
  ])[] = [
    [
      { type: "tool.malformed", step: 1, callId, problem: "x" },
      { performed: true, error: ["internal.error", "The tool's answer is not a valid envelope."] },
    ],
    [
      { type: "effect.unknown", step: 1, callId },
      { performed: true, error: unknown },
    ],
    [resolved("done"), { performed: true, error: null }],
    [resolved("fail"), { performed: true, error: unconfirmed }],
    [resolved("retry"), { performed: false, error: unconfirmed }],
    [resolved("expired"), { performed: false, error: unknown }],
    [
      { type: "timer.fired", timer: "tool" },
      { performed: true, error: late },
    ],
    [
      { type: "timer.fired", timer: "grace" },
      {
        performed: true,
        error: unknown,
        endedBy: "effect.unknown",
      },
    ],
    [
      { type: "timer.fired", timer: "step" },
      { performed: false, error: late },
    ],
    [
      { type: "timer.fired", timer: "run" },
      { performed: false, error: late },
    ],
    [
      { type: "cancel.requested", by: "ada" },
      { performed: false, error: ["invalid.request", "The run was cancelled."] },
    ],
    [{ type: "call.abandoned" }, { performed: false, error: abandoned }],
    [null, { performed: false, error: abandoned, endedBy: "call.abandoned" }],
  ];
  test.each(table)("%j", (result, { performed, error, endedBy }) => {
    expect(observedOutcome(result)).toEqual({
      ...nothing,
      endedBy: endedBy ?? result?.type,
      performed,
      ok: error === null,
      error: error && {
        ...{ code: error[0], message: error[1], messageRef: null, detailsRef: null },
        ...{ retryable: error === late, details: error === unknown ? { outcome: "unknown" } : {} },
      },
    });
  });

  verifies("O-1.2", "a tool's own answer is told as it was recorded", () => {
    const common = {
      endedBy: "tool.finished",
      performed: true,
      outputBytes: 3,
      truncated: true,
      labels: { integrity: "user", confidentiality: "private" },
      durationMs: 7,
      child: null,
      refusedBy: null,
    };
    expect(observedOutcome(finished({ outputRef: ref }))).toEqual({ ...common, ok: true, outputRef: ref, error: null });
    expect(observedOutcome(finished({ ok: false, error: failure }))).toEqual({
      ...common,
      ok: false,
      outputRef: null,
      error: {
        code: "timeout",
        message: "The tool failed.",
        messageRef: ref,
        retryable: true,
        details: {},
        detailsRef: null,
      },
    });
  });

  verifies("O-1.2", "an answer that is no envelope is a failure, whatever it claims", () => {
    for (const response of [{ error: failure }, { ok: false }, { ok: false, error: failure, outputRef: ref }]) {
      expect(observedOutcome(finished(response))).toEqual({
        ...nothing,
        endedBy: "tool.finished",
        performed: true,
        ok: false,
        error: { code: "internal.error", message: "The tool's answer is not a valid envelope.", ...BARE },
      });
    }
  });

  test("a delegated run's answer names the run", () => {
    expect(observedOutcome(callEnded(new Bodies(), callId, "child"))).toMatchObject({
      endedBy: "child.finished",
      ok: true,
      child: { runId: "run_child", outcome: "COMPLETED_CHAT_ONLY", headHash: hashOf("child") },
    });
  });
});

describe("calls that were not performed", () => {
  const denied = (refusal: DecidedCall["refusal"]) =>
    refusedOutcome({ refusal, policyId: "policy.latch" } as DecidedCall);

  test("a refusal is told with its own code and sentence", () => {
    expect(denied({ code: "policy.denied", message: "denied by user", messageRef: null })).toEqual({
      ...nothing,
      refusedBy: "policy.latch",
      endedBy: "call.refused",
      performed: false,
      ok: false,
      error: { code: "policy.denied", message: "denied by user", ...BARE },
    });
  });

  test("a refusal without a sentence gets one", () => {
    expect(denied({ code: "tool.not_found", message: "", messageRef: ref }).error).toEqual({
      code: "tool.not_found",
      message: "Not run: the call was refused.",
      ...BARE,
      messageRef: ref,
    });
    expect(denied(null).error).toEqual({
      code: "policy.denied",
      message: "Not run: the call was refused.",
      ...BARE,
    });
  });

  test("skipped and abandoned differ", () => {
    const skipped = { code: "invalid.request", message: "Not run: the turn ended first.", ...BARE };
    expect(skippedOutcome(null)).toEqual({
      ...nothing,
      endedBy: "call.skipped",
      performed: false,
      ok: false,
      error: skipped,
    });
    expect(abandonedOutcome()).toEqual(observedOutcome({ type: "call.abandoned" }));
  });
});

test("a shown error prefers the tool's own words, and says when they were erased", () => {
  const failed = observedOutcome(finished({ ok: false, error: failure }));
  expect(shownError(failed, () => "disk full")).toEqual({
    code: "timeout",
    message: "disk full",
    retryable: true,
    details: {},
  });
  expect(shownError(failed, () => null)).toEqual({ code: "timeout", message: ERASED, retryable: true, details: {} });
  expect(shownError(skippedOutcome(null), () => "never asked")).toEqual({
    code: "invalid.request",
    message: "Not run: the turn ended first.",
    ...{ retryable: false, details: {} },
  });
  expect(shownError(observedOutcome(resolved("done")), () => "never asked")).toBeNull();
});

verifies("O-1.3", "a shown error has the details the tool gave, unless they were erased", () => {
  const detailed = observedOutcome(
    finished({ ok: false, error: { ...failure, detailsRef: asBodyRef(hashOf("details")) } }),
  );
  const bodies: Readonly<Record<string, string>> = { [ref]: "no such file", [hashOf("details")]: '{"path":"a.txt"}' };
  expect(shownError(detailed, (wanted) => bodies[wanted] ?? null)?.details).toEqual({ path: "a.txt" });
  expect(shownError(detailed, () => null)?.details).toEqual({});
});

verifies("O-1.2", "an entry that states an unknown effect is shown so, whatever ended the wait", () => {
  const endings: readonly Result[] = [{ type: "call.abandoned" }, { type: "cancel.requested", by: "ada" }];
  for (const result of endings) {
    expect(observedOutcome(result, UNKNOWN_EFFECT)).toMatchObject({
      ...{ ok: false, performed: false },
      error: { code: "internal.error", retryable: false, details: { outcome: "unknown" } },
    });
  }
  const malformed: Result = { type: "tool.malformed", step: 1, callId, problem: "x" };
  expect(observedOutcome(malformed, UNKNOWN_EFFECT).error).toMatchObject({
    message: "The tool's answer is not a valid envelope.",
    details: { outcome: "unknown" },
  });
});

test("a call that a rule stood against was denied; one the turn ended before was not", () => {
  expect(skippedOutcome("policy.kill-switch").error?.code).toBe("policy.denied");
  expect(skippedOutcome(null).error?.code).toBe("invalid.request");
});
