/** Why a call was not run, and what to do, from recorded facts. */
import { describe, expect, test } from "vitest";
import type { DecidedCall } from "../../../../src/kernel/journal/entry.ts";
import { callInWords, explainCall } from "../../../../src/kernel/journal/views/call-explanation.ts";
import { observedOutcome, refusedOutcome, skippedOutcome } from "../../../../src/kernel/journal/views/call-outcome.ts";
import type { CallQuestion } from "../../../../src/kernel/journal/views/run-timeline.ts";
import { FAILURES } from "../../../../src/kernel/vocabulary/failures.ts";
import { asBodyRef, asCallId } from "../../../../src/kernel/vocabulary/identifiers.ts";
import { hashOf } from "./canned-events.ts";

const ref = asBodyRef(hashOf("arguments"));
const OLD_WORDS = "The call was refused, in the words of an earlier version.";

function callOf(tool: string, policyId: string, messageRef: typeof ref | null = null): DecidedCall {
  return {
    ...{ callId: asCallId("c"), tool, argsRef: ref, planHash: null, policyId, decision: "deny", approvalId: null },
    refusal: { code: "policy.denied", message: OLD_WORDS, messageRef },
  };
}
const answered = (...decisions: readonly string[]): CallQuestion =>
  ({ hosts: [], answers: decisions.map((decision) => ({ decision, by: "operator" })) }) as unknown as CallQuestion;

function why(tool: string, policyId: string, question: CallQuestion = answered()): string | undefined {
  const call = callOf(tool, policyId);
  return explainCall({ call, outcome: refusedOutcome(call), question, sessionId: "ses_1" }, () => null)?.message;
}

describe("a call that was not run", () => {
  test.each([
    ["policy.contract", "fs.write_text is not among this run's tools", "surety policy explain fs.write_text '{}'"],
    ["policy.kill-switch", "side effects are switched off", "surety config unset tools.policy.sideEffects"],
    ["policy.not-allowlisted", "not in tools.policy.allow", "surety config add tools.policy.allow fs.write_text"],
    ["policy.channel", "not in tools.policy.channels", "surety policy show"],
    ["policy.exception.2", "tools.policy.exceptions[2] forbids it", "surety config get tools.policy.exceptions"],
    ["policy.risk.side_effect", "denies it", "surety config set tools.policy.risk.side_effect approve"],
    ["approval.plan-changed", "changed after it was approved", "Run it again"],
    ["contract.strict-batch", "another call of the same batch", "strict mode"],
    ["budget.carved", "cannot afford", "Raise its limits"],
    ["tool.forbidden", "the contract forbids tools", "nothing was performed"],
  ])("%s: says why and what to do, whatever words were recorded", (rule, reason, advice) => {
    const said = why("fs.write_text", rule);
    expect(said).toMatch(/^Not run: /);
    expect(said).toContain(reason);
    expect(said).toContain(advice);
    expect(said).not.toContain(OLD_WORDS);
  });

  test("a blocked host is named, with the grant that opens it for this session", () => {
    const reaching = (...hosts: readonly string[]) => why("http.get", "policy.capability", { hosts, answers: [] });
    expect(reaching("example.org")).toBe(
      "Not run: example.org is blocked. Allow it: surety caps grant net:example.org --session ses_1",
    );
    expect(reaching("a.org", "b.org")).toContain("a.org and b.org are blocked");
    expect(reaching("127.0.0.1")).toContain("Allow it: surety caps grant net --session ses_1");
    expect(reaching()).toContain("surety caps grant net:HOST --session ses_1");
  });

  test.each([
    [["deny"], "denied by user (operator)."],
    [["unreachable"], "no one could be asked. Approve it for one run: surety run … --approve fs.write_text"],
    [["expired"], "no one answered in time. Approve it for one run: surety run … --approve fs.write_text"],
    [["allow", "expired"], "its approval expired before it was used"],
  ])("answers %j: the question's end is the reason, not the rule that asked", (decisions, words) => {
    expect(why("fs.write_text", "policy.risk.side_effect", answered(...decisions))).toContain(words);
  });

  test.each(["policy.latch", "effect.in-doubt"])("%s: --approve would not help, so it is not offered", (rule) => {
    const said = why("fs.write_text", rule, answered("unreachable"));
    expect(said).toContain("answer at a terminal");
    expect(said).not.toContain("Approve it for one run");
  });

  test("an approval that policy overruled later is not the reason", () => {
    expect(why("fs.write_text", "policy.kill-switch", answered("allow"))).toContain("side effects are switched off");
  });

  test("a tool's own words are the best there are; erased ones say so", () => {
    const call = callOf("shell.exec", "plan.problem", ref);
    const said = (text: string | null) =>
      explainCall({ call, outcome: refusedOutcome(call), question: answered(), sessionId: "s" }, () => text)?.message;
    expect(said("Not run: `touch` is not in tools.shell.allow.")).toBe("Not run: `touch` is not in tools.shell.allow.");
    expect(said(null)).toBe("[erased]");
  });

  test("a rule of another version keeps its recorded words", () => {
    expect(why("fs.write_text", "policy.of-tomorrow")).toBe(OLD_WORDS);
  });

  test("refused before its turn came: by the same words", () => {
    const call = callOf("fs.write_text", "policy.risk.side_effect");
    const ended = (rule: string | null) =>
      explainCall({ call, outcome: skippedOutcome(rule), question: answered("allow"), sessionId: "s" }, () => null);
    expect(ended("policy.kill-switch")?.message).toContain("surety config unset tools.policy.sideEffects");
    expect(ended("policy.latch")?.message).toContain("earlier answer no longer counts");
    expect(ended("approval.expired")?.message).toContain("expired before it was used");
    expect(ended(null)).toEqual({
      ...{ code: "invalid.request", message: "Not run: the turn ended first." },
      ...{ retryable: false, details: {} },
    });
  });

  test("no reason of a run's end is without words", () => {
    for (const reason of Object.keys(FAILURES)) expect(why("fs.stat", reason)).toMatch(/^Not run: [a-z].+[.`]$/);
  });
});

test("a call that was made keeps its own error, and one that succeeded has none", () => {
  const call = callOf("fs.stat", "policy.risk.read_only");
  const ended = { call, question: answered(), sessionId: "s" };
  const late = observedOutcome({ type: "timer.fired", timer: "tool" });
  expect(explainCall({ ...ended, outcome: late }, () => null)).toEqual({
    code: "timeout",
    message: "The tool did not answer in time.",
    ...{ retryable: true, details: {} },
  });
  const done = observedOutcome({
    ...{ type: "effect.resolved", step: 1, callId: call.callId, decision: "done", by: "operator", tokens: 0 },
  });
  expect(explainCall({ ...ended, outcome: done }, () => null)).toBeNull();
});

test.each([
  [{ cmd: "touch a.txt" }, "t touch a.txt"],
  [{ content: "hello", path: "a.txt" }, 't a.txt content="hello"'],
  [{ path: "a\nb" }, 't "a\\nb"'],
  [{ path: 7 }, "t path=7"],
  [{ content: "x".repeat(99) }, `t content="${"x".repeat(59)}…`],
  [{ path: "p".repeat(300) }, `t ${"p".repeat(200)}…`],
  [Object.fromEntries(Array.from({ length: 99 }, (_, index) => [`a${index}`, 1])), expect.stringMatching(/^.{400}…$/)],
  [{}, "t"],
])("the call %j in one line is %s", (args, line) => {
  expect(callInWords({ tool: "t", argsRef: ref }, () => JSON.stringify(args))).toEqual(line);
});

test("erased arguments are shown as erased", () => {
  expect(callInWords({ tool: "t", argsRef: ref }, () => null)).toBe("t [erased]=true");
});
