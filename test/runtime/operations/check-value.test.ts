/** The sentence about a bad field agrees with the compiled validator: both find a problem, or neither does. */
import fc from "fast-check";
import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { RunInputSchema } from "../../../src/assistant/runs/run-request.ts";
import { checkInput, isValid } from "../../../src/runtime/operations/check-value.ts";

const GOOD = { agent_id: "main", message: "hello" };
const problemOf = (value: unknown): string | null => {
  const checked = checkInput(RunInputSchema, value, "the body");
  return checked.ok ? null : checked.problem;
};

describe("checkInput", () => {
  test("drops null fields, but not those inside a tool's arguments", () => {
    const args = { path: null, deep: [{ a: null }] };
    const contract = {
      max_inferences: null,
      required_effects: [{ tool: "a", args }],
      context_budget: { reserved_system: null },
    };
    expect(checkInput(RunInputSchema, { ...GOOD, model: null, contract }, "the body")).toEqual({
      ok: true,
      value: { ...GOOD, contract: { required_effects: [{ tool: "a", args }], context_budget: {} } },
    });
  });

  test("refuses an unknown field even if it is null", () => {
    expect(problemOf({ ...GOOD, contract: { x: null } })).toMatch(/^unknown field x in contract; known: tool_policy/);
  });

  test.each([
    [{ ...GOOD, contract: { context_budget: { reserved_system: -1 } } }, "contract.context_budget.reserved_system"],
    [{ ...GOOD, media: [{ type: "image", mime_type: "image/png", data: "" }] }, "media[0].data"],
    [{ ...GOOD, contract: { required_effects: [{ tool: "a" }, { tool: 1 }] } }, "contract.required_effects[1].tool"],
  ])("%j is refused with the path %s", (value, path) => {
    expect(problemOf(value)).toContain(`${path} must be`);
  });

  test("names no unknown field that could be a secret, and never a value", () => {
    expect(problemOf({ ...GOOD, "sk-4f9a8b7c6d": 1 })).toMatch(/^unknown field in the body; known: agent_id/);
    expect(problemOf({ ...GOOD, thinking_mode: "hunter2" })).not.toContain("hunter2");
  });

  test("finds a problem in words exactly where the compiled schema finds one", () => {
    const field = fc.constantFrom(...Object.keys(RunInputSchema.properties), "constructor", "x");
    const value = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom("always", "low", true, "", " ", ["a"], [["a", "b"]], { provider: "a", model: "b" }),
      fc.record({ max_inferences: fc.jsonValue(), cycle_forbid: fc.array(fc.array(fc.string())) }),
    );
    fc.assert(
      fc.property(fc.dictionary(field, value), (fields) => {
        const given = { ...GOOD, ...fields };
        const checked = checkInput(RunInputSchema, given, "the body");
        expect(checked.ok ? isValid(RunInputSchema, checked.value) : checked.problem).not.toBe("the body is invalid");
        expect(checked.ok && !isValid(RunInputSchema, checked.value)).toBe(false);
      }),
    );
  });

  test("of a union the branch for the value's own type is explained", () => {
    const Either = Type.Object({ ref: Type.Union([Type.String(), Type.Object({ id: Type.Integer() })]) });
    expect(checkInput(Either, { ref: { id: "x" } }, "it")).toEqual({
      ok: false,
      problem: "ref.id must be a whole number, 0 or more",
    });
  });
});
