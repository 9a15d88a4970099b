import { describe, expect, test } from "vitest";
import { CLAUSES } from "../clauses.ts";
import proven from "../proven.json" with { type: "json" };
import { citationsFor, citedTitle, REQUIREMENTS, verifies } from "../requirements.ts";
import withdrawn from "../withdrawn.json" with { type: "json" };
import { checkRequirements, type GateInput, idsAddedBy, idsCitedBy, tally } from "./requirements-gate.ts";

const known = new Map([
  ["M-A", ["M-A"]],
  ["M-B", ["M-B"]],
  ["M-C", ["M-C/order", "M-C/result"]],
]);
const check = (
  listed: readonly string[],
  earlier: readonly string[],
  cited: readonly string[],
  more: Partial<GateInput> = {},
) => checkRequirements({ known, listed, withdrawn: {}, earlier, hasHistory: true, cited: new Set(cited), ...more });

describe("the gate", () => {
  test("passes when every listed id is cited by a passing test", () => {
    expect(check(["M-A"], ["M-A"], ["M-A", "M-B"])).toEqual({
      failures: [],
      notes: ["Requirements: 1 of 3 proven; cited but not called proven: M-B; not proven yet: M-C"],
    });
  });

  test("fails for a listed id that no passing test cites", () => {
    const result = check(["M-A", "M-B"], [], ["M-B"]);
    expect(result.failures).toEqual(["M-A was called proven, but no passing test of this run cites M-A."]);
    expect(result.notes).toEqual(["Requirements: 1 of 3 proven; not proven yet: M-C"]);
  });

  test("wants every clause of a rule: some of them, or the bare id, prove nothing", () => {
    expect(check(["M-C"], [], ["M-C/order", "M-C/result"]).failures).toEqual([]);
    expect(check(["M-C"], [], ["M-C", "M-C/order"]).failures).toEqual([
      "M-C was called proven, but no passing test of this run cites M-C/result.",
    ]);
    expect(check(["M-C"], [], ["M-C"]).failures).toEqual([
      "M-C was called proven, but no passing test of this run cites M-C/order, M-C/result.",
    ]);
    expect(check([], [], ["M-C/order"]).notes).toEqual(["Requirements: 0 of 3 proven; not proven yet: M-A M-B M-C"]);
  });

  test("fails for an id that only an earlier list called proven, once", () => {
    expect(check([], ["M-B"], []).failures).toEqual([
      "M-B was called proven, but no passing test of this run cites M-B.",
    ]);
    expect(check(["M-B"], ["M-B"], []).failures).toHaveLength(1);
  });

  test("accepts an id that left the list while its tests still pass", () => {
    expect(check([], ["M-B"], ["M-B"]).failures).toEqual([]);
  });

  test("fails for a listed id that is not a requirement", () => {
    expect(check(["M-Z"], [], ["M-Z"])).toEqual({
      failures: ["M-Z is in test/proven.json but is not a requirement."],
      notes: ["Requirements: 0 of 3 proven; not proven yet: M-A M-B M-C"],
    });
  });

  test("checks what there is without history and says so", () => {
    const result = check(["M-A", "M-B"], [], ["M-A"], { hasHistory: false });
    expect(result.failures).toEqual(["M-B was called proven, but no passing test of this run cites M-B."]);
    expect(result.notes[0]).toBe("No full git history: earlier lists of proven requirements could not all be checked.");
  });
});

describe("a withdrawn rule", () => {
  const withdrawn = { "M-B": "The runtime drops the result; issue 20 proves it." };

  test("is no failure, not proven, and named with its reason", () => {
    expect(check(["M-A"], ["M-A", "M-B"], ["M-A", "M-B"], { withdrawn })).toEqual({
      failures: [],
      notes: [
        "Requirements: 1 of 3 proven; not proven yet: M-B M-C",
        "Withdrawn: M-B: The runtime drops the result; issue 20 proves it.",
      ],
    });
  });

  test("covers no other rule", () => {
    expect(check([], ["M-A", "M-B"], [], { withdrawn }).failures).toEqual([
      "M-A was called proven, but no passing test of this run cites M-A.",
    ]);
  });

  test.each([
    ["listed", ["M-B"], ["M-B"], withdrawn, "M-B is both in test/proven.json and in test/withdrawn.json."],
    ["never proven", [], ["M-A"], withdrawn, "M-B is in test/withdrawn.json but was never called proven."],
    [
      "unexplained",
      [],
      ["M-B"],
      { "M-B": "later" },
      "The withdrawal of M-B does not name the issue that will prove it.",
    ],
  ])("is a failure when %s", (_, listed, earlier, withdrawn, failure) => {
    expect(check(listed, earlier, ["M-A", "M-B"], { withdrawn }).failures).toEqual([failure]);
  });
});

describe("citations", () => {
  test.each([
    ["[M-C] title", ["M-C"]],
    ["[M-4.2][S-3.1] title", ["M-4.2", "S-3.1"]],
    ["[S-3.2/order] title", ["S-3.2/order"]],
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

  test("a clause is cited by its rule and its name, an only clause by its rule", () => {
    expect(citationsFor("S-3.2")).toEqual(["S-3.2/order", "S-3.2/permission", "S-3.2/result"]);
    expect(citationsFor("M-C")).toEqual(["M-C"]);
    expect(citedTitle("S-3.2/order", "a title")).toBe("[S-3.2/order] a title");
  });

  test.each([
    [["M-Z"]],
    [["M-C", "M-Z"]],
    ["constructor"],
    [[]],
    ["S-3.2/no-such"],
    ["M-C/order"],
    ["S-3.2/"],
    ["S-3.2/toString"],
  ])("verifies refuses %j", (ids) => {
    expect(() => verifies(ids, "a title", () => undefined)).toThrow("a title");
  });
});

describe("the list", () => {
  test("of requirements holds every seed's rules with a text each", () => {
    expect([...new Set(Object.keys(REQUIREMENTS).map((id) => id[0]))].sort()).toEqual(["M", "O", "P", "S", "T", "X"]);
    expect(Object.values(REQUIREMENTS).filter((text) => text.length < 5)).toEqual([]);
  });

  test("of clauses splits known rules into two or more, with a text each", () => {
    expect(Object.keys(CLAUSES).filter((id) => !Object.hasOwn(REQUIREMENTS, id))).toEqual([]);
    const clauses = Object.entries(CLAUSES).flatMap(([id, own]) => Object.entries(own).map((each) => [id, ...each]));
    expect(
      clauses.filter(([, name, text]) => !/^[a-z][A-Za-z_.-]+$/.test(name ?? "") || (text ?? "").length < 5),
    ).toEqual([]);
    expect(Object.entries(CLAUSES).filter(([, own]) => Object.keys(own).length < 2)).toEqual([]);
  });

  test("of withdrawn ids holds known ids that are not called proven", () => {
    const ids = Object.keys(withdrawn);
    expect(ids.filter((id) => !Object.hasOwn(REQUIREMENTS, id) || (proven as readonly string[]).includes(id))).toEqual(
      [],
    );
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
