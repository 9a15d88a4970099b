import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type ChildRequest,
  childRunId,
  childTerms,
  type RemainingBudget,
} from "../../../src/kernel/contract/child-contract.ts";
import type { ContractTerms } from "../../../src/kernel/contract/contract.ts";
import { MAXIMUM_DEPTH } from "../../../src/kernel/contract/preflight.ts";
import { sealContract } from "../../../src/kernel/contract/seal-contract.ts";
import { hashCanonical } from "../../../src/kernel/vocabulary/hash.ts";
import { asRunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { verifies } from "../../requirements.ts";
import { contractOf, POLICY_STATE, TOOLS } from "../machine/scripted-run.ts";

const LEFT: RemainingBudget = { inferences: 6, tokens: 5_000, spendMicrousd: 700, elapsedMs: 90_000 };
const REQUEST: ChildRequest = {
  contractId: "contract_child",
  tools: ["http.get", "mail.send", "fs.read_text"],
  toolPolicy: "required",
  maxInferences: 4,
  maxTokensConsumed: 4_000,
  maxSpendMicrousd: 500,
  totalTimeoutMs: 60_000,
  outputSchema: { type: "object", required: ["key_facts"] },
};

function termsOf(
  request: Partial<ChildRequest> = {},
  left: Partial<RemainingBudget> = {},
  parent: Partial<ContractTerms> = {},
): ContractTerms | string {
  const child = childTerms(contractOf(parent), { ...LEFT, ...left }, { ...REQUEST, ...request });
  return child.ok ? child.terms : child.problem;
}

describe("a child's terms", () => {
  verifies("T-3b", "are its parent's but for what it asked for, and it names its parent by hash", () => {
    const parent = contractOf({
      requiredEffects: [{ tool: "fs.*" }],
      capabilities: ["net:a.test"],
      approvedTools: ["http.get"],
      channelClass: "external_email",
      policyState: POLICY_STATE,
    });
    const { contractHash, ...inherited } = parent;
    const child = childTerms(parent, LEFT, REQUEST);
    expect(child).toEqual({
      ok: true,
      terms: {
        ...inherited,
        contractId: "contract_child",
        parentContractHash: contractHash,
        depth: 1,
        toolPolicy: "required",
        allowedTools: ["http.get", "fs.read_text"],
        requiredEffects: [],
        outputSchema: REQUEST.outputSchema,
        maxInferences: 4,
        maxTokensConsumed: 4_000,
        maxSpendMicrousd: 500,
        stepTimeoutMs: 60_000,
        totalTimeoutMs: 60_000,
      },
    });
  });

  test("of a parent with null tools mean all that were asked for", () => {
    expect(termsOf({}, {}, { allowedTools: null })).toMatchObject({
      version: "2.3",
      allowedTools: REQUEST.tools,
    });
  });

  test("keep the parent's step timeout where it is the shorter one", () => {
    expect(termsOf({}, {}, { stepTimeoutMs: 59_999 })).toMatchObject({ stepTimeoutMs: 59_999, totalTimeoutMs: 60_000 });
  });

  test.each([
    ["both limited", 500, 700, 500],
    ["the parent has less left", 500, 300, 300],
    ["only the parent is limited", null, 700, 700],
    ["only the child is limited", 500, null, 500],
    ["neither is", null, null, null],
  ])("spend: %s", (_, maxSpendMicrousd, spendMicrousd, expected) => {
    expect(termsOf({ maxSpendMicrousd }, { spendMicrousd })).toMatchObject({ maxSpendMicrousd: expected });
  });

  verifies("T-3b", "a budget is carved out of what is left, or there is no child", () => {
    const rows: readonly (readonly [Partial<ChildRequest>, Partial<RemainingBudget>, unknown])[] = [
      [{}, { inferences: 3 }, { maxInferences: 3 }],
      [{}, { inferences: 1 }, { maxInferences: 1 }],
      [{}, { inferences: 0 }, "no-budget"],
      [{ maxInferences: 0 }, {}, "no-budget"],
      [{}, { tokens: 1 }, { maxTokensConsumed: 1 }],
      [{}, { tokens: 0 }, "no-budget"],
      [{}, { elapsedMs: 1 }, { totalTimeoutMs: 1, stepTimeoutMs: 1 }],
      [{}, { elapsedMs: 0 }, "no-budget"],
      [{}, { spendMicrousd: 1 }, { maxSpendMicrousd: 1 }],
      [{}, { spendMicrousd: 0 }, "no-budget"],
      [{}, { spendMicrousd: -1 }, "no-budget"],
      [{ maxSpendMicrousd: -1 }, {}, "no-budget"],
      [{ maxSpendMicrousd: null }, { spendMicrousd: -1 }, "no-budget"],
    ];
    for (const [request, left, expected] of rows) {
      const terms = termsOf(request, left);
      if (typeof expected === "string") expect(terms).toBe(expected);
      else expect(terms).toMatchObject(expected as object);
    }
  });

  verifies("T-3b", "what is no whole number is no budget", () => {
    const amounts = [
      ["maxInferences", "inferences"],
      ["maxTokensConsumed", "tokens"],
      ["maxSpendMicrousd", "spendMicrousd"],
      ["totalTimeoutMs", "elapsedMs"],
    ] as const;
    for (const [asked, left] of amounts) {
      for (const value of [Number.NaN, 1.5, Number.POSITIVE_INFINITY]) {
        expect(termsOf({ [asked]: value }, { [left]: value }), `${left} ${value}`).toBe("no-budget");
      }
      expect(termsOf({}, { [left]: Number.NaN }), left).toBe("no-budget");
      expect(termsOf({ [asked]: Number.NaN }), asked).toBe("no-budget");
    }
  });

  verifies("T-3b", "delegation nests only so deep", () => {
    expect(termsOf({}, {}, { depth: MAXIMUM_DEPTH - 1 })).toMatchObject({ depth: MAXIMUM_DEPTH });
    expect(termsOf({}, {}, { depth: MAXIMUM_DEPTH })).toBe("too-deep");
    expect(termsOf({}, {}, { depth: MAXIMUM_DEPTH + 1 })).toBe("too-deep");
  });

  verifies("T-3b", "never hold a tool, a token or a moment more than the parent has", () => {
    const amount = fc.integer({ min: 0, max: 20 });
    fc.assert(
      fc.property(
        fc.subarray([...TOOLS, "mail.send"]),
        fc.option(fc.subarray([...TOOLS])),
        fc.record({ inferences: amount, tokens: amount, spendMicrousd: fc.option(amount), elapsedMs: amount }),
        fc.record({ maxInferences: amount, maxTokensConsumed: amount, maxSpendMicrousd: fc.option(amount) }),
        (tools, allowedTools, left, request) => {
          const terms = termsOf({ tools, ...request }, left, { allowedTools });
          if (typeof terms === "string") return;
          expect(terms.maxInferences).toBeLessThanOrEqual(left.inferences);
          expect(terms.maxTokensConsumed).toBeLessThanOrEqual(left.tokens);
          expect(terms.totalTimeoutMs).toBeLessThanOrEqual(left.elapsedMs);
          if (left.spendMicrousd !== null) expect(terms.maxSpendMicrousd).toBeLessThanOrEqual(left.spendMicrousd);
          if (allowedTools !== null) expect(allowedTools).toEqual(expect.arrayContaining(terms.allowedTools ?? []));
          expect(sealContract(terms).parentContractHash).toBe(contractOf({ allowedTools }).contractHash);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe("a child's run id", () => {
  const parent = asRunId("run_1");

  verifies("T-3b", "is derived from parent, step and index, so that a resumed parent finds it again", () => {
    expect(childRunId(parent, "step-1", 0)).toBe(`run_${hashCanonical(["run_1", "step-1", 0]).slice(0, 32)}`);
  });

  test("differs when any of the three does", () => {
    const ids = [
      childRunId(parent, "step-1", 0),
      childRunId(parent, "step-1", 1),
      childRunId(parent, "step-2", 0),
      childRunId(asRunId("run_2"), "step-1", 0),
    ];
    expect(new Set(ids).size).toBe(4);
  });
});
