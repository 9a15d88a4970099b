import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { applyEdit, type EditVerdict } from "../../../../src/adapters/tools/fs/apply-edit.ts";
import { showDiff } from "../../../../src/adapters/tools/fs/show-diff.ts";

const ROOM = 1_000_000;

function edit(text: string, oldText: string, newText: string, replaceAll = false): EditVerdict {
  return applyEdit(text, { oldText, newText, replaceAll }, ROOM);
}

function textAfter(verdict: EditVerdict): string {
  if (!verdict.ok) throw new Error(verdict.problem);
  return verdict.text;
}

describe("a place that is meant beyond doubt is replaced", () => {
  test.each([
    ["the only one", "a b c", "b", "B", false, "a B c"],
    ["all of them", "a.a.a", "a", "bb", true, "bb.bb.bb"],
    ["all of them, from the left", "aaa", "aa", "b", true, "ba"],
    ["by nothing", "a\nb\n", "a\n", "", false, "b\n"],
    ["after a byte order mark", "\ufeffa\n", "a", "b", false, "\ufeffb\n"],
    ["without a line end at the end", "a\nb", "b", "c", false, "a\nc"],
    ["what a replacement pattern would expand", "price", "price", "$& $1 $$", false, "$& $1 $$"],
    ["what an expression would match", "a.c abc", "a.c", "x", false, "x abc"],
    ["with CRLF where the whole file has it", "a\r\nb\r\n", "a\nb", "c\nd", false, "c\r\nd\r\n"],
    ["with CRLF where the edit has it too", "a\r\nb\r\n", "a\r\nb", "c\r\nd", false, "c\r\nd\r\n"],
    ["with the line ends it was given where the file mixes them", "a\r\nb\nc\n", "b\nc", "x\ny", false, "a\r\nx\ny\n"],
  ])("%s", (_what, text, oldText, newText, replaceAll, after) => {
    expect(textAfter(edit(text, oldText, newText, replaceAll))).toBe(after);
  });
});

describe("other edits are refused with a line number and without file content", () => {
  test.each([
    ["nothing like it", "secret text", "zzz", /^old_text was not found\. Read the file again/],
    ["other white space", "a\n  if (secret) {\n", "if  (secret) {", /Line 2 comes nearest/],
    ["another case", "a\nb\nSECRET\n", "secret", /Line 3 comes nearest/],
    ["only white space", "secret", "\n\n", /^old_text was not found\. Read/],
    ["two places", "b\nsecret\nsecret\n", "secret", /occurs 2 times \(line 2, 3\).*replace_all/],
    ["two on a line", "aXa", "a", /occurs 2 times \(line 1\)/],
    ["places that overlap", "aaa", "aa", /occurs 2 times/],
    ["many", "a\n".repeat(30_000), "a", /more than 10000 times \(line 1, 2, 3, 4, 5, …\)/],
  ])("%s", (_what, text, oldText, problem) => {
    const verdict = edit(text, oldText, "new");
    expect(verdict).toEqual({ ok: false, problem: expect.stringMatching(problem) });
    expect(JSON.stringify(verdict)).not.toContain("secret");
  });

  test("an edit that changes nothing, line ends considered", () => {
    expect(edit("a", "a", "a")).toMatchObject({ ok: false, problem: expect.stringContaining("the same") });
    expect(edit("a\r\n", "a\n", "a\r\n")).toMatchObject({ ok: false, problem: expect.stringContaining("the same") });
  });

  test("one that would make too much of it, before it is made", () => {
    const verdict = applyEdit("a".repeat(9_000), { oldText: "a", newText: "b".repeat(1_000), replaceAll: true }, ROOM);
    expect(verdict).toMatchObject({ ok: false, problem: expect.stringContaining("too large") });
    expect(edit("a".repeat(10_001), "a", "b", true)).toMatchObject({ ok: false });
  });
});

const text = fc.array(fc.constantFrom("a", "b", "\n", "\r\n", "é", "👍", "\ufeff"), { maxLength: 30 });
const piece = fc
  .array(fc.constantFrom("a", "b", "\n", "\r\n", "é", "👍"), { maxLength: 4 })
  .map((parts) => parts.join(""));
const anyEdit = fc.record({
  text: text.map((parts) => parts.join("")),
  oldText: piece.filter((each) => each !== ""),
  newText: piece,
  replaceAll: fc.boolean(),
});

test("bytes outside the replaced places are the same after as before", () => {
  fc.assert(
    fc.property(anyEdit, ({ text: before, ...wish }) => {
      const verdict = applyEdit(before, wish, ROOM);
      if (!verdict.ok) return;
      let from = 0;
      let rest = verdict.text;
      for (const { start, end, text: part } of verdict.replacements) {
        const kept = before.slice(from, start);
        expect(rest.startsWith(kept + part)).toBe(true);
        rest = rest.slice(kept.length + part.length);
        from = end;
      }
      expect(rest).toBe(before.slice(from));
      if (!wish.replaceAll) expect(verdict.replacements.length).toBe(1);
      expect(Buffer.from(verdict.text).toString()).toBe(verdict.text);
    }),
    { numRuns: 3_000 },
  );
});

describe("the diff", () => {
  test.each([
    ["a\nb\nc\n", "b", "B", false, ["@@ -2,1 +2,1 @@", "-b", "+B"]],
    ["a\nb\nc\n", "b\n", "", false, ["@@ -2,1 +2,0 @@", "-b"]],
    ["a\nb\n", "a", "x\ny", false, ["@@ -1,1 +1,2 @@", "-a", "+x", "+y"]],
    ["a\nb\n", "a\n", "a", false, ["@@ -1,2 +1,1 @@", "-a", "-b", "+ab"]],
    ["\na\n", "\n", "x\n", true, ["@@ -1,2 +1,2 @@", "-", "-a", "+x", "+ax"]],
    ["a\n", "a\n", "a", false, ["@@ -1,1 +1,1 @@", "-a", "+a", "\\ No newline at end of file"]],
    [
      "x\na\nx\na",
      "a",
      "b\nc",
      true,
      [
        "@@ -2,1 +2,2 @@",
        "-a",
        "+b",
        "+c",
        "@@ -4,1 +5,2 @@",
        "-a",
        "\\ No newline at end of file",
        "+b",
        "+c",
        "\\ No newline at end of file",
      ],
    ],
  ])("of %j: %j becomes %j", (before, oldText, newText, replaceAll, lines) => {
    const verdict = edit(before, oldText, newText, replaceAll);
    if (!verdict.ok) throw new Error(verdict.problem);
    expect(showDiff(before, verdict.replacements)).toEqual(lines);
  });

  test("says all that is needed to make one text of the other", () => {
    fc.assert(
      fc.property(anyEdit, ({ text: before, ...wish }) => {
        const verdict = applyEdit(before, wish, ROOM);
        if (verdict.ok) expect(patched(before, showDiff(before, verdict.replacements))).toBe(verdict.text);
      }),
      { numRuns: 3_000 },
    );
  });
});

/** A patch program of its own: it knows nothing but the diff. */
function patched(before: string, diff: readonly string[]): string {
  const lines = before.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  let out = "";
  let at = 0;
  for (const [index, line] of diff.entries()) {
    const [, from = "0"] = /^@@ -(\d+),/.exec(line) ?? [];
    const withEnd = line.slice(1) + (diff[index + 1]?.startsWith("\\") ? "" : "\n");
    if (line.startsWith("@@")) {
      out += lines.slice(at, Number(from) - 1).join("");
      at = Number(from) - 1;
    } else if (line.startsWith("-")) {
      expect(lines[at]).toBe(withEnd);
      at += 1;
    } else if (line.startsWith("+")) out += withEnd;
  }
  return out + lines.slice(at).join("");
}
