import { describe, expect, test } from "vitest";
import { type ContractTerms, type ExecutionContract, MACHINE_VERSION } from "../../../src/kernel/contract/contract.ts";
import { openContract } from "../../../src/kernel/contract/open-contract.ts";
import {
  backendVerdict,
  MAXIMUM_DEPTH,
  MINIMUM_LOOP_MARGIN,
  MINIMUM_OUTPUT_TOKENS,
  PREFLIGHT_CHECKS,
  type PreflightFacts,
  preflight,
} from "../../../src/kernel/contract/preflight.ts";
import { hashBytes } from "../../../src/kernel/vocabulary/hash.ts";
import { verifies } from "../../requirements.ts";
import { contractOf, TOOLS, TOOLS_DIGEST } from "../machine/scripted-run.ts";
import { seedDocument } from "./seed-document.ts";

const FACTS: PreflightFacts = {
  promptTokens: 100,
  tools: { digest: TOOLS_DIGEST, names: TOOLS },
  profile: {
    id: "native-tools",
    adapterVersion: "native-tools@1",
    supportsTools: true,
    holdsRequired: true,
    grammarProfiles: ["json"],
  },
};

const contextBudget = (changes: Partial<ContractTerms["contextBudget"]>) => ({
  contextBudget: {
    contextWindow: 1_000,
    reservedSystem: 100,
    reservedSynthesis: 50,
    forceSynthesisAtRatio: 0.5,
    ...changes,
  },
});
const profile = (changes: Partial<PreflightFacts["profile"]>): Partial<PreflightFacts> => ({
  profile: { ...FACTS.profile, ...changes },
});

/** What stands first among the failures: `check failure: detail`, or "passed" when all four are made and hold. */
function verdictOf(terms: Partial<ContractTerms>, facts: Partial<PreflightFacts> = {}): string {
  return firstFailure(contractOf(terms), facts);
}

function firstFailure(contract: ExecutionContract, facts: Partial<PreflightFacts>): string {
  const verdicts = preflight(contract, { ...FACTS, ...facts });
  const last = verdicts.at(-1);
  return last?.failure ? `${last.check} ${last.failure}: ${last.detail}` : `passed ${verdicts.length}`;
}

/** A row that must pass, or the one thing that is wrong with it. */
type Row = readonly [string, Partial<ContractTerms>, Partial<PreflightFacts>, string];
const PASSED = "passed 4";
const invalid = (detail: string): string => `structure contract.invalid: ${detail}`;
const unavailable = (detail: string): string => `tools contract.tools-unavailable: ${detail}`;
const incompatible = (detail: string): string => `profile contract.profile-incompatible: ${detail}`;
const UNCONSTRAINED = incompatible("the profile holds neither a grammar nor a logits_mask");

const OVER = "context context.over-budget: prompt and reserve need";
const CONTEXT: readonly Row[] = [
  ["prompt and reserve fill the window", contextBudget({}), { promptTokens: 950 }, PASSED],
  ["one token more", contextBudget({}), { promptTokens: 951 }, `${OVER} 1001 of 1000 tokens`],
  [
    "without a reserve the shortest answer counts",
    contextBudget({ reservedSynthesis: 0 }),
    { promptTokens: 984 },
    PASSED,
  ],
  ["and no less", contextBudget({ reservedSynthesis: 0 }), { promptTokens: 985 }, `${OVER} 1001 of 1000 tokens`],
  [
    "reserves and margin fill the window",
    contextBudget({ reservedSystem: 1_000 - 50 - MINIMUM_LOOP_MARGIN }),
    {},
    PASSED,
  ],
  [
    "one reserved token more",
    contextBudget({ reservedSystem: 1_000 - 50 - MINIMUM_LOOP_MARGIN + 1 }),
    {},
    "context contract.context-infeasible: reserves need 1001 of 1000 tokens",
  ],
];

const RATIO = invalid("force_synthesis_at_ratio must be above 0 and at most 1");
const ROOM = invalid("max_tokens_consumed leaves no room for one inference");
const STRUCTURE: readonly Row[] = [
  ["the first machine's version", { machineVersion: 1 }, {}, PASSED],
  ["this machine's version", { machineVersion: MACHINE_VERSION }, {}, PASSED],
  ["the next one", { machineVersion: MACHINE_VERSION + 1 }, {}, invalid("machine_version is newer than this machine")],
  ["no format retry", { maxFormatRetries: 0 }, {}, PASSED],
  ["one format retry", { maxFormatRetries: 1 }, {}, PASSED],
  ["two format retries", { maxFormatRetries: 2 }, {}, invalid("max_format_retries must be 0 or 1")],
  ["half a format retry", { maxFormatRetries: 0.5 }, {}, invalid("max_format_retries must be 0 or 1")],
  ["one inference", { maxInferences: 1 }, {}, PASSED],
  ["no inference", { maxInferences: 0 }, {}, invalid("max_inferences must be at least 1")],
  ["a fraction of one", { maxInferences: 1.5 }, {}, invalid("max_inferences must be at least 1")],
  ["a millisecond a step", { stepTimeoutMs: 1 }, {}, PASSED],
  ["no time for a step", { stepTimeoutMs: 0 }, {}, invalid("step_timeout_ms must be at least 1")],
  ["a millisecond", { totalTimeoutMs: 1 }, {}, PASSED],
  ["no time", { totalTimeoutMs: 0 }, {}, invalid("total_timeout_ms must be at least 1")],
  [
    "a byte of output",
    { toolOutputBudget: { maxBytesPerCall: 1, truncationMarker: "", summarizerModel: null } },
    {},
    PASSED,
  ],
  [
    "no output at all",
    { toolOutputBudget: { maxBytesPerCall: 0, truncationMarker: "", summarizerModel: null } },
    {},
    invalid("max_bytes_per_call must be at least 1"),
  ],
  ["ratio 1", contextBudget({ forceSynthesisAtRatio: 1 }), {}, PASSED],
  ["ratio above 1", contextBudget({ forceSynthesisAtRatio: 1.01 }), {}, RATIO],
  ["ratio just above 0", contextBudget({ forceSynthesisAtRatio: 0.01 }), {}, PASSED],
  ["ratio 0", contextBudget({ forceSynthesisAtRatio: 0 }), {}, RATIO],
  ["tokens for prompt and shortest answer", { maxTokensConsumed: 100 + MINIMUM_OUTPUT_TOKENS }, {}, PASSED],
  ["one token fewer", { maxTokensConsumed: 100 + MINIMUM_OUTPUT_TOKENS - 1 }, {}, ROOM],
  ["the shortest answer", { maxOutputTokens: MINIMUM_OUTPUT_TOKENS }, {}, PASSED],
  [
    "a shorter one",
    { maxOutputTokens: MINIMUM_OUTPUT_TOKENS - 1 },
    {},
    invalid("max_output_tokens is below the minimum"),
  ],
  ["speculation", { speculativeExec: true }, {}, invalid("speculative_exec is not offered")],
  [
    "a summarizer",
    { toolOutputBudget: { maxBytesPerCall: 1, truncationMarker: "", summarizerModel: "a:b" } },
    {},
    PASSED,
  ],
  [
    "a summarizer under an earlier machine",
    {
      machineVersion: 2,
      toolOutputBudget: { maxBytesPerCall: 1, truncationMarker: "", summarizerModel: "a:b" },
    },
    {},
    invalid("summarizer_model is not offered"),
  ],
  ["strict and optional", { strictMode: true }, {}, invalid("strict_mode refuses tool_policy optional")],
  ["strict and forbidden", { strictMode: true, toolPolicy: "forbidden" }, {}, PASSED],
  ["strict and required", { strictMode: true, toolPolicy: "required" }, {}, PASSED],
  ["required without gate", { toolPolicy: "required" }, {}, PASSED],
  ["an effect of optional tools", { requiredEffects: [{ tool: "fs.*" }] }, {}, PASSED],
  ["forbidden and no effect", { toolPolicy: "forbidden" }, {}, PASSED],
  [
    "an effect of forbidden tools",
    { toolPolicy: "forbidden", requiredEffects: [{ tool: "fs.*" }] },
    {},
    invalid("required_effects contradict tool_policy forbidden"),
  ],
  ["as deep as it goes", { depth: MAXIMUM_DEPTH }, {}, PASSED],
  ["deeper", { depth: MAXIMUM_DEPTH + 1 }, {}, invalid("delegation is nested too deeply")],
];

const CHANGED = unavailable("the registered tools are not the ones the contract was sealed with");
const EMPTY = { digest: TOOLS_DIGEST, names: [] };
const TOOL_ROWS: readonly Row[] = [
  ["other tools than sealed", {}, { tools: { digest: hashBytes("others"), names: TOOLS } }, CHANGED],
  [
    "no digest to compare (2.1)",
    { toolsDigest: null },
    { tools: { digest: hashBytes("others"), names: TOOLS } },
    PASSED,
  ],
  ["fewer than registered", { allowedTools: ["http.get"] }, {}, PASSED],
  [
    "one that is not registered",
    { allowedTools: ["http.get", "mail.send"] },
    {},
    unavailable("allowed tool mail.send is not registered"),
  ],
  [
    "all that are granted, not resolved",
    { allowedTools: null },
    {},
    "structure contract.invalid: allowed_tools must be resolved when a contract is sealed",
  ],
  [
    "nothing to spend",
    { maxSpendMicrousd: 0 },
    {},
    "structure contract.invalid: max_spend_microusd must be at least 1",
  ],
  ["a millionth to spend", { maxSpendMicrousd: 1 }, {}, PASSED],
  [
    "required with an empty list",
    { allowedTools: [], toolPolicy: "required" },
    {},
    unavailable("tool_policy required with no tool"),
  ],
  ["optional with none", { allowedTools: [] }, { tools: EMPTY }, PASSED],
  ["an effect one of them proves", { requiredEffects: [{ tool: "http.get" }, { tool: "fs.*" }] }, {}, PASSED],
  [
    "an effect none of them proves",
    { requiredEffects: [{ tool: "fs.*" }, { tool: "mail.*" }] },
    {},
    unavailable("no allowed tool can prove required effect mail.*"),
  ],
];

const STRICT: Partial<ContractTerms> = { strictMode: true, toolPolicy: "required" };
const HOLD = incompatible("the profile cannot hold strict_mode, tool_policy required and token_gate together");
const HELD = ["off", "calls", "calls-or-text", "text"];
const PROFILE_ROWS: readonly Row[] = [
  ["another profile", {}, profile({ id: "marker-json" }), incompatible("the model's profile is marker-json")],
  ["another adapter", {}, profile({ adapterVersion: "native-tools@2" }), incompatible("the adapter is native-tools@2")],
  [
    "required without tool calls",
    { toolPolicy: "required" },
    profile({ supportsTools: false }),
    incompatible("the profile has no tool calls"),
  ],
  ["optional without tool calls", {}, profile({ supportsTools: false }), PASSED],
  ["a grammar it has", { grammarProfile: "json" }, {}, PASSED],
  ["a grammar it lacks", { grammarProfile: "xml" }, {}, incompatible("the profile cannot hold grammar xml")],
  ["no grammar needed", {}, profile({ grammarProfiles: [] }), PASSED],
  ["a grammar of one's own", { grammar: "root ::= object" }, {}, PASSED],
  ["a grammar where none is held", { grammar: "root" }, profile({ grammarProfiles: [] }), UNCONSTRAINED],
  ["a mask where none is held", { logitsMask: [1] }, profile({ grammarProfiles: [] }), UNCONSTRAINED],
  [
    "a mask where only grammars are held",
    { logitsMask: [1] },
    profile({ grammarProfiles: HELD }),
    incompatible("the profile cannot hold a logits_mask"),
  ],
  ["a mask where one is held", { logitsMask: [1] }, profile({ grammarProfiles: [...HELD, "logits_mask"] }), PASSED],
  [
    "a grammar where only a mask is held",
    { grammar: "root" },
    profile({ grammarProfiles: ["logits_mask"] }),
    incompatible("the profile cannot hold a grammar"),
  ],
  [
    "text alone where a call is required",
    { toolPolicy: "required", grammarProfile: "text", grammar: "text" },
    profile({ grammarProfiles: HELD }),
    incompatible("grammar_profile text contradicts tool_policy required"),
  ],
  [
    "strict, required and gated, held by its grammar",
    { ...STRICT, grammarProfile: "calls", grammar: "calls" },
    profile({ grammarProfiles: HELD }),
    PASSED,
  ],
  ...(["off", "calls-or-text", null] as const).map(
    (grammarProfile): Row => [
      `strict, required and gated, under ${grammarProfile}`,
      { ...STRICT, grammarProfile, grammar: grammarProfile === "off" ? null : "calls" },
      profile({ grammarProfiles: HELD }),
      incompatible("strict_mode, tool_policy required and token_gate together need grammar_profile calls"),
    ],
  ),
  [
    "strict, required and gated, without a grammar",
    { ...STRICT, grammarProfile: "calls" },
    profile({ grammarProfiles: HELD }),
    incompatible("strict_mode, tool_policy required and token_gate together need grammar_profile calls"),
  ],
  ["strict, required and gated, but it cannot be held to it", STRICT, profile({ holdsRequired: false }), HOLD],
  [
    "the same, but lenient",
    { ...STRICT, strictMode: false, tokenGate: true },
    profile({ holdsRequired: false }),
    PASSED,
  ],
  [
    "the same, but forbidden",
    { ...STRICT, toolPolicy: "forbidden", tokenGate: true },
    profile({ holdsRequired: false }),
    PASSED,
  ],
];

describe("preflight", () => {
  verifies(
    ["M-4.1/retries", "M-4.1/optional", "M-P2b/preflight"],
    "every rule of every check holds up to its boundary and not beyond",
    () => {
      const rows = [...CONTEXT, ...STRUCTURE, ...TOOL_ROWS, ...PROFILE_ROWS];
      const found = rows.map(([name, terms, facts]) => [name, verdictOf(terms, facts)]);
      expect(found).toEqual(rows.map(([name, , , expected]) => [name, expected]));
    },
  );

  verifies("M-7.5", "a strict contract whose gate somebody turned off is refused", () => {
    const ungated = { ...contractOf(STRICT), tokenGate: false };
    expect(firstFailure(ungated, {})).toBe(invalid("strict_mode with tool_policy required needs token_gate"));
    expect(firstFailure({ ...ungated, strictMode: false }, {})).toBe(PASSED);
    expect(firstFailure({ ...ungated, toolPolicy: "forbidden" }, {})).toBe(PASSED);
  });

  verifies("M-P2b", "checks come in one order and stop at the first failure", () => {
    const wrong = {
      context: contextBudget({ contextWindow: 10 }),
      structure: { maxInferences: 0 },
      tools: { allowedTools: ["nope"] },
      profile: { modelProfileId: "other" },
    };
    const { context, structure, tools, profile: unfit } = wrong;
    const checksOf = (...terms: Partial<ContractTerms>[]) =>
      preflight(contractOf(Object.assign({}, ...terms)), FACTS).map(
        ({ check, failure }) => `${check} ${failure ?? "ok"}`,
      );
    expect(checksOf(context, structure, tools, unfit)).toEqual(["context context.over-budget"]);
    expect(checksOf(structure, tools, unfit)).toEqual(["context ok", "structure contract.invalid"]);
    expect(checksOf(tools, unfit)).toEqual(["context ok", "structure ok", "tools contract.tools-unavailable"]);
    expect(checksOf(unfit)).toEqual([
      "context ok",
      "structure ok",
      "tools ok",
      "profile contract.profile-incompatible",
    ]);
    expect(checksOf()).toEqual(["context ok", "structure ok", "tools ok", "profile ok"]);
  });

  test("a check that passed has no detail; the backend comes last", () => {
    expect(preflight(contractOf(), FACTS)).toEqual(
      PREFLIGHT_CHECKS.slice(0, -1).map((check) => ({ check, failure: null, detail: "" })),
    );
    expect(PREFLIGHT_CHECKS.at(-1)).toBe("backend");
  });

  test("the backend's verdict names what it said only when it failed", () => {
    expect(backendVerdict(true, "200 in 3 ms")).toEqual({ check: "backend", failure: null, detail: "" });
    expect(backendVerdict(false, "refused")).toEqual({
      check: "backend",
      failure: "backend.unresponsive",
      detail: "refused",
    });
  });

  test("the named constants are what the documents say", () => {
    expect([MINIMUM_LOOP_MARGIN, MINIMUM_OUTPUT_TOKENS, MAXIMUM_DEPTH]).toEqual([256, 16, 3]);
  });
});

test("of version 2.1 null tools are all that were granted", () => {
  const opened = openContract(seedDocument({ allowed_tools: null }));
  if (!opened.ok) throw new Error(opened.problem);
  const checked = (names: readonly string[]) =>
    preflight(opened.contract, { ...FACTS, tools: { ...FACTS.tools, names } }).map(({ failure }) => failure);
  expect(checked(["http.get"])).toEqual([null, null, null, null]);
  expect(checked([])).toEqual([null, null, "contract.tools-unavailable"]);
});
