import { describe, expect, test } from "vitest";
import proven from "../proven.json" with { type: "json" };
import { citedTitle, REQUIREMENTS, verifies } from "../requirements.ts";
import { idsAddedBy, idsCitedBy, judgeRequirements, tally } from "./requirements-gate.ts";

const known = ["M-A", "M-B", "M-C"];
const judge = (listed: readonly string[], earlier: readonly string[], cited: readonly string[], hasHistory = true) =>
  judgeRequirements({ known, listed, earlier, hasHistory, cited: new Set(cited) });

describe("the gate", () => {
  test("passes when every listed id is cited by a passing test", () => {
    expect(judge(["M-A"], ["M-A"], ["M-A", "M-B"])).toEqual({
      failures: [],
      notes: ["Requirements: 1 of 3 proven; cited but not called proven: M-B; not proven yet: M-C"],
    });
  });

  test("fails for a listed id that no passing test cites", () => {
    const verdict = judge(["M-A", "M-B"], [], ["M-B"]);
    expect(verdict.failures).toEqual(["M-A was called proven, but no passing test of this run cites it."]);
    expect(verdict.notes).toEqual(["Requirements: 1 of 3 proven; not proven yet: M-C"]);
  });

  test("fails for an id that only an earlier list called proven, once", () => {
    expect(judge([], ["M-C"], []).failures).toEqual([
      "M-C was called proven, but no passing test of this run cites it.",
    ]);
    expect(judge(["M-C"], ["M-C"], []).failures).toHaveLength(1);
  });

  test("keeps quiet about an id taken off the list while its proof still stands", () => {
    expect(judge([], ["M-C"], ["M-C"]).failures).toEqual([]);
  });

  test("fails for a listed id that is no requirement", () => {
    expect(judge(["M-Z"], [], ["M-Z"])).toEqual({
      failures: ["M-Z stands in test/proven.json but is no requirement."],
      notes: ["Requirements: 0 of 3 proven; not proven yet: M-A M-B M-C"],
    });
  });

  test("checks what there is without history and says so", () => {
    const verdict = judge(["M-A", "M-B", "M-C"], [], ["M-A", "M-B"], false);
    expect(verdict.failures).toEqual(["M-C was called proven, but no passing test of this run cites it."]);
    expect(verdict.notes).toEqual([
      "No full git history here: earlier lists of proven requirements could not all be checked.",
      "Requirements: 2 of 3 proven",
    ]);
  });
});

describe("citations", () => {
  test.each([
    ["[M-C] title", ["M-C"]],
    ["[M-4.2][S-3.1] title", ["M-4.2", "S-3.1"]],
    ["title [M-C]", []],
    ["[M-C title", []],
    ["title", []],
  ])("%s cites %j", (title, ids) => {
    expect(idsCitedBy(title)).toEqual(ids);
  });

  test("what verifies writes is what the gate reads", () => {
    expect(citedTitle("M-C", "a title")).toBe("[M-C] a title");
    expect(idsCitedBy(citedTitle(["M-C", "X-1"], "a title"))).toEqual(["M-C", "X-1"]);
  });

  test.each([[["M-Z"]], [["M-C", "M-Z"]], ["constructor"], [[]]])("verifies refuses %j", (ids) => {
    expect(() => verifies(ids, "a title", () => undefined)).toThrow("a title");
  });
});

describe("the list", () => {
  test("of requirements holds every seed's rules with a text each", () => {
    expect([...new Set(Object.keys(REQUIREMENTS).map((id) => id[0]))].sort()).toEqual(["M", "O", "P", "S", "T", "X"]);
    expect(Object.values(REQUIREMENTS).filter((text) => text.length < 5)).toEqual([]);
  });

  test("of proven ids is sorted and holds each once", () => {
    const list: readonly string[] = proven;
    expect(list).toEqual([...new Set(list)].sort());
  });

  test("of a patch holds every id that was ever added", () => {
    const patch = ["--- a/test/proven.json", "+++ b/test/proven.json", '-["M-A"]', '+["M-A", "M-B"]', '+  "X-1",'];
    expect(idsAddedBy(patch.join("\n"))).toEqual(["M-A", "M-B", "X-1"]);
    expect(idsAddedBy("")).toEqual([]);
  });
});

test("the tally names skipped tests only if there are any", () => {
  expect(tally({ passed: 3, failed: 0, skipped: 0 })).toBe("3 passed, 0 failed");
  expect(tally({ passed: 3, failed: 1, skipped: 2 })).toBe("3 passed, 1 failed, 2 skipped");
});
