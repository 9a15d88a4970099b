import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DecidedOf, EntryOf } from "../../../../src/kernel/journal/entry.ts";
import { escalationText } from "../../../../src/kernel/journal/views/run-answer.ts";
import { asBodyRef } from "../../../../src/kernel/vocabulary/identifiers.ts";
import { verifies } from "../../../requirements.ts";
import { hashOf } from "./canned-events.ts";
import { writeRun } from "./write-run.ts";

type Attempts = DecidedOf<"TERMINATE">["attempts"];
const ARGS = asBodyRef(hashOf("args"));
const MESSAGE = asBodyRef(hashOf("message"));
const OUTPUT = asBodyRef(hashOf("output"));
const attempt = { tool: "http.get", argsRef: ARGS, code: "timeout", messageRef: MESSAGE, outputRef: OUTPUT };
const ended = (attempts: Attempts, reason = "tool_failure_escalation") =>
  ({ decided: { outcome: "FAILED_BUDGET_EXHAUSTED", reason, attempts } }) as unknown as EntryOf<"TERMINATE">;
const linesOf = (attempts: Attempts, text: string | null): readonly string[] =>
  (escalationText(ended(attempts), () => text) ?? "").split("\n");

/** Any characters, control characters and halves of pairs among them. */
const anyText = fc
  .array(fc.oneof(fc.nat(0x10ffff), fc.nat(0x2f)), { maxLength: 400 })
  .map((points) => points.map((point) => String.fromCodePoint(point)).join(""));

verifies(
  "O-2.3/answer",
  "the answer holds recent attempts, their errors and output snippets, and asks for guidance",
  () => {
    const { entries, lookup } = writeRun([], "escalated");
    expect(escalationText(entries.at(-1) as EntryOf<"TERMINATE">, lookup)).toBe(
      [
        "The tools I need keep failing, so I stopped and need your guidance.",
        "",
        "Recent attempts:",
        '- http.get {"n":"canary 1"}',
        "  error: internal.error: canary went wrong",
        '- fs.read_text {"n":"canary 1"}',
        "  error: unknown",
        "  output: canary half an output",
        "",
        "How should I continue? You can correct the request, suggest another way, or tell me to stop.",
      ].join("\n"),
    );
  },
);

test("a run that ended otherwise has no such answer", () => {
  expect(escalationText(ended([attempt], "cycle"), () => "")).toBeNull();
});

test("without attempts the question stands alone", () => {
  expect(linesOf([], null)).toEqual([
    "The tools I need keep failing, so I stopped and need your guidance.",
    "",
    "How should I continue? You can correct the request, suggest another way, or tell me to stop.",
  ]);
});

describe("bounds", () => {
  test("only the five newest attempts are told", () => {
    const attempts = [1, 2, 3, 4, 5, 6].map((n) => ({ ...attempt, tool: `tool.${n}` }));
    const told = linesOf(attempts, "x").filter((line) => line.startsWith("- "));
    expect(told).toEqual(["- tool.2 x", "- tool.3 x", "- tool.4 x", "- tool.5 x", "- tool.6 x"]);
  });

  test.each([
    ["arguments", 160, "- http.get ", 3],
    ["messages", 240, "  error: timeout: ", 4],
    ["output", 320, "  output: ", 5],
  ])("%s are cut at %d code points", (_what, max, lead, line) => {
    expect(linesOf([attempt], "😀".repeat(max))[line]).toBe(lead + "😀".repeat(max));
    expect(linesOf([attempt], "😀".repeat(max + 1))[line]).toBe(`${lead}${"😀".repeat(max)}…`);
  });

  verifies("O-2.3", "whatever a tool printed, a snippet stays on its line and holds no control character", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const lines = linesOf([attempt], text);
        expect(lines.length).toBe(8);
        expect(lines.every((line) => line.length < 700 && !/\p{C}/u.test(line))).toBe(true);
      }),
    );
    expect(linesOf([attempt], "  a\r\n\u001b[31m\u202eb\u2028c ")[5]).toBe("  output: a [31m b c");
  });
});

verifies(["O-2.3", "X-25"], "erased bodies are shown as erased", () => {
  expect(linesOf([attempt], null).slice(3, 6)).toEqual([
    "- http.get [erased]",
    "  error: timeout: [erased]",
    "  output: [erased]",
  ]);
});

test("an error is told by whatever is known of it", () => {
  expect(linesOf([{ ...attempt, messageRef: null }], "x")[4]).toBe("  error: timeout");
  expect(linesOf([{ ...attempt, code: null }], "x")[4]).toBe("  error: x");
});
