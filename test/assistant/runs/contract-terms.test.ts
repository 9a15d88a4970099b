import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { contractTerms, grantedTools } from "../../../src/assistant/runs/contract-terms.ts";
import { type Ceilings, DEFAULT_CEILINGS } from "../../../src/assistant/runs/term-bounds.ts";
import { DEFAULT_POLICY, DEFAULT_TERMS } from "../../../src/kernel/contract/default-terms.ts";
import { sealContract } from "../../../src/kernel/contract/seal-contract.ts";
import { outsideWorld } from "../../runtime/trial/outside-world.ts";
import { says, scriptedModel } from "../../runtime/trial/scripted-model.ts";

const { toolbox } = outsideWorld();

function request(also: Partial<Parameters<typeof contractTerms>[0]> = {}): Parameters<typeof contractTerms>[0] {
  return {
    contractId: "contract_1",
    model: scriptedModel(() => says("")),
    toolbox,
    policy: DEFAULT_POLICY,
    channelClass: "cli_local",
    overrides: {},
    approvedTools: [],
    capabilities: [],
    ceilings: DEFAULT_CEILINGS,
    ...also,
  };
}

describe("terms of a contract", () => {
  test("are the defaults, the model's and what policy grants, and can be sealed", () => {
    const drafted = contractTerms(request());
    if (!drafted.ok) throw new Error(drafted.problem);
    expect(drafted.terms).toMatchObject({
      toolPolicy: "optional",
      maxInferences: DEFAULT_TERMS.maxInferences,
      maxOutputTokens: 1000,
      model: "scripted:model",
      toolsDigest: toolbox.digest,
      allowedTools: toolbox.tools.map(({ name }) => name),
    });
    expect(sealContract(drafted.terms).contractHash).toMatch(/^[0-9a-f]{64}$/);
  });

  test("what is asked for in part keeps the rest; the model's window and what memory holds are ceilings", () => {
    const contextWindow = scriptedModel(() => says("")).contextWindow;
    const overrides = { contextBudget: { reservedSystem: 7 }, toolOutputBudget: { maxBytesPerCall: 9 } };
    expect(contractTerms(request({ overrides }))).toMatchObject({
      ok: true,
      terms: {
        contextBudget: { contextWindow, reservedSystem: 7, forceSynthesisAtRatio: 0.85 },
        toolOutputBudget: { ...DEFAULT_TERMS.toolOutputBudget, maxBytesPerCall: 9 },
        logitsMask: null,
      },
    });
    const wide = contractTerms(request({ overrides: { contextBudget: { contextWindow: contextWindow + 1 } } }));
    expect(wide).toMatchObject({
      ok: false,
      problem: expect.stringMatching(/^context_budget\.context_window must be/),
    });
    const long = contractTerms(request({ overrides: { toolOutputBudget: { maxBytesPerCall: 1e9 } } }));
    expect(long).toMatchObject({ ok: false, problem: expect.stringMatching(/^tool_output_budget\.max_bytes/) });
  });

  test("what nobody can hold is sealed as asked, for preflight to refuse", () => {
    const overrides = { speculativeExec: true, grammarProfile: "json", grammar: "root", logitsMask: [0, 1] };
    expect(contractTerms(request({ overrides }))).toMatchObject({ ok: true, terms: overrides });
  });

  test("approved tools exist, each by its name", () => {
    const [known] = toolbox.tools;
    expect(contractTerms(request({ approvedTools: [known?.name ?? ""] })).ok).toBe(true);
    for (const unknown of ["nope", "*"]) {
      expect(contractTerms(request({ approvedTools: [known?.name ?? "", unknown] }))).toEqual({
        ok: false,
        problem: "approved_tools[1] is not a registered tool",
      });
    }
  });

  test("within the ceilings a caller has its way, beyond one it is told which", () => {
    const terms = fc.constantFrom<keyof Ceilings>(
      "maxInferences",
      "maxTokensConsumed",
      "stepTimeoutMs",
      "totalTimeoutMs",
    );
    fc.assert(
      fc.property(
        terms,
        fc.integer({ min: 16, max: 2000 }),
        fc.integer({ min: 16, max: 2000 }),
        (term, asked, most) => {
          const ceilings = { ...DEFAULT_CEILINGS, [term]: most };
          const drafted = contractTerms(request({ overrides: { [term]: asked }, ceilings }));
          if (asked <= most) expect(drafted).toMatchObject({ ok: true, terms: { [term]: asked } });
          else expect(drafted).toMatchObject({ ok: false, problem: expect.stringMatching(`from \\d+ to ${most}$`) });
        },
      ),
    );
    const drafted = contractTerms(
      request({ overrides: { maxSpendMicrousd: 11 }, ceilings: { ...DEFAULT_CEILINGS, maxSpendMicrousd: 10 } }),
    );
    expect(drafted).toEqual({ ok: false, problem: "max_spend_microusd must be a whole number from 1 to 10" });
  });

  test("a configured ceiling holds where nobody asked for anything", () => {
    const low: Omit<Ceilings, "daySpendMicrousd" | "dayTokens"> = {
      maxInferences: 3,
      maxTokensConsumed: 500,
      maxOutputTokens: 100,
      stepTimeoutMs: 1000,
      totalTimeoutMs: 2000,
      maxSpendMicrousd: 7,
    };
    expect(contractTerms(request({ ceilings: { ...DEFAULT_CEILINGS, ...low } }))).toMatchObject({
      ok: true,
      terms: low,
    });
  });

  test("the operator's limit of tokens is the run's, more or less than what a run has by default", () => {
    for (const maxTokensConsumed of [900, 900_000]) {
      const drafted = contractTerms(request({ ceilings: { ...DEFAULT_CEILINGS, maxTokensConsumed } }));
      expect(drafted).toMatchObject({ ok: true, terms: { maxTokensConsumed } });
    }
    expect(contractTerms(request())).toMatchObject({ ok: true, terms: { maxTokensConsumed: 200_000 } });
  });

  test("what no run could be carried out under is refused with its bounds", () => {
    const contextWindow = scriptedModel(() => says("")).contextWindow;
    for (const [overrides, problem] of [
      [{ maxInferences: 0 }, "max_inferences must be a whole number from 1 to 10000"],
      [{ stepTimeoutMs: 0 }, "step_timeout_ms must be a whole number from 1 to 86400000"],
      [{ totalTimeoutMs: 0 }, "total_timeout_ms must be a whole number from 1 to 86400000"],
      [{ maxTokensConsumed: 15 }, "max_tokens_consumed must be a whole number from 16 to 1000000000"],
      [{ maxFormatRetries: 2_147_483_648 }, "max_format_retries must be a whole number from 0 to 1"],
      [{ maxSpendMicrousd: 0 }, "max_spend_microusd must be a whole number from 1 to 1000000000000"],
      [
        { maxSpendMicrousd: 9_007_199_254_740_991 },
        "max_spend_microusd must be a whole number from 1 to 1000000000000",
      ],
      [
        { maxOutputTokens: 1001 },
        "max_output_tokens must be a whole number from 16 to 1000, the maxOutputTokens of scripted:model",
      ],
      [{ maxOutputTokens: 15 }, "max_output_tokens must be a whole number from 16 to 1000, the max"],
      [
        { contextBudget: { contextWindow: contextWindow + 1 } },
        `context_window must be a whole number from 1 to 100000`,
      ],
      [{ contextBudget: { forceSynthesisAtRatio: 0 } }, "force_synthesis_at_ratio must be above 0 and at most 1"],
      [{ contextBudget: { forceSynthesisAtRatio: 1.1 } }, "force_synthesis_at_ratio must be above 0 and at most 1"],
      [{ toolOutputBudget: { maxBytesPerCall: 0 } }, "max_bytes_per_call must be a whole number from 1 to 1048576"],
    ] as const) {
      const drafted = contractTerms(request({ overrides }));
      expect(drafted).toMatchObject({ ok: false, problem: expect.stringContaining(problem) });
    }
  });

  test("what is no term is named in the caller's words", () => {
    for (const [overrides, word] of [
      [{ maxSpendMicrousd: -1 }, "max_spend_microusd"],
      [{ maxInferences: 1.5 }, "max_inferences"],
      [{ stepTimeoutMs: -1 }, "step_timeout_ms"],
      [{ maxOutputTokens: Number.NaN }, "max_output_tokens"],
    ] as const) {
      const drafted = contractTerms(request({ overrides }));
      expect(drafted).toMatchObject({ ok: false, problem: expect.stringContaining(word) });
    }
  });

  test("tools nobody named are those that policy grants the channel", () => {
    const policy = {
      ...DEFAULT_POLICY,
      allow: ["look.*", "door.open"],
      risk: { ...DEFAULT_POLICY.risk, side_effect: "deny" as const },
    };
    expect(grantedTools({ toolbox, policy, channelClass: "cli_local" })).toEqual(["look.at"]);
    expect(grantedTools({ toolbox, policy, channelClass: "external_email" })).toEqual([]);
  });

  test("a small window keeps room to work", () => {
    const model = scriptedModel(() => says(""), { contextWindow: 4096 });
    const drafted = contractTerms(request({ model }));
    expect(drafted).toMatchObject({
      ok: true,
      terms: { contextBudget: { contextWindow: 4096, reservedSystem: 512, reservedSynthesis: 512 } },
    });
  });
});
