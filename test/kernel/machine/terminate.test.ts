import { describe, expect, test } from "vitest";
import { verifies } from "../../requirements.ts";
import {
  answered,
  backendOk,
  begin,
  cancel,
  contractOf,
  finished,
  isIgnored,
  lastCommands,
  lastEntry,
  NO_SIDE_EFFECTS,
  narrowed,
  path,
  play,
  ref,
  timer,
} from "./scripted-run.ts";

describe("TERMINATE", () => {
  verifies(["M-5", "M-E"], "states outcome and answer once, after COMMIT", () => {
    const run = play(contractOf(), [...begin(), answered(1, { text: "hi" })]);
    expect(path(run).slice(-2)).toEqual(["COMMIT", "TERMINATE"]);
    expect(lastEntry(run, "TERMINATE")).toMatchObject({
      actor: "system",
      decided: { outcome: "COMPLETED_CHAT_ONLY", reason: null, attempts: [] },
      result: { type: "run.answered", ref: ref("hi") },
    });
    expect(lastEntry(run, "TERMINATE").decided).not.toHaveProperty("heard");
    expect(run.state.phase).toEqual({
      at: "TERMINATE",
      outcome: "COMPLETED_CHAT_ONLY",
      reason: null,
      answerRef: ref("hi"),
    });
    expect(lastCommands(run)).toEqual([
      { type: "finish", outcome: "COMPLETED_CHAT_ONLY", reason: null, answerRef: ref("hi") },
    ]);
  });

  verifies("M-F", "tells no text of a run that did not complete", () => {
    const run = play(contractOf({ toolPolicy: "required" }), [...begin(), answered(1, { text: "hi" })]);
    expect(lastEntry(run, "TERMINATE")).toMatchObject({
      decided: { outcome: "FAILED_PROTOCOL_NO_TOOLS", reason: "protocol.no-tool-call", attempts: [] },
      result: null,
    });
    expect(run.state.phase).toMatchObject({ answerRef: null });
  });

  test("an empty answer is an answer without a body", () => {
    const run = play(contractOf(), [...begin(), answered(1, {})]);
    expect(lastEntry(run, "TERMINATE")).toMatchObject({ decided: { outcome: "COMPLETED_CHAT_ONLY" }, result: null });
  });

  verifies("M-5", "is the end: nothing is heard afterwards, not even a defect", () => {
    const run = play(contractOf(), [...begin(), answered(1, { text: "hi" })]);
    const later = [
      ...begin(),
      backendOk(),
      answered(1, { text: "again" }),
      answered(2, { text: "again" }),
      finished("c1"),
      cancel(),
      narrowed(NO_SIDE_EFFECTS),
      timer("run", 999_999),
      timer("step", 999_999),
      { type: "defect.found" as const, ts: "", elapsedMs: 0, errorId: "x" },
    ];
    expect(later.map((event) => isIgnored(run, event))).toEqual(later.map(() => true));
  });
});
