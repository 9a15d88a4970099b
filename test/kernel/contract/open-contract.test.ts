import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openContract } from "../../../src/kernel/contract/open-contract.ts";
import { isSealIntact } from "../../../src/kernel/contract/seal-contract.ts";
import { Defect } from "../../../src/kernel/vocabulary/defect.ts";
import { hashBytes, hashCanonical } from "../../../src/kernel/vocabulary/hash.ts";
import { toWire } from "../../../src/kernel/vocabulary/wire-case.ts";
import { verifies } from "../../requirements.ts";
import { contractOf, POLICY_STATE } from "../machine/scripted-run.ts";
import { anyJson } from "../vocabulary/any-json.ts";
import { seedDocument } from "./seed-document.ts";

const current = (changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> => ({
  ...toWire(contractOf({ requiredEffects: [{ tool: "fs.*", args: { aB: 1, c_d: [2] } }] })),
  ...changes,
});
const without = (document: Record<string, unknown>, field: string): Record<string, unknown> =>
  Object.fromEntries(Object.entries(document).filter(([name]) => name !== field));

describe("opening a version 2.1 document", () => {
  verifies(["M-P5.4", "M-4.1"], "keeps every field and its hash, and fills the rest with the narrowest reading", () => {
    const document = seedDocument();
    expect(openContract(document)).toEqual({
      ok: true,
      contract: {
        version: "2.1",
        contractHash: document["contract_hash"],
        contractId: "contract_seed",
        parentContractHash: null,
        toolPolicy: "required",
        allowedTools: ["fs.read_text", "http.get"],
        strictMode: true,
        maxInferences: 4,
        maxTokensConsumed: 8_000,
        maxFormatRetries: 1,
        stepTimeoutMs: 1_000,
        totalTimeoutMs: 5_000,
        contextBudget: {
          contextWindow: 4_096,
          reservedSystem: 512,
          reservedSynthesis: 300,
          forceSynthesisAtRatio: 0.8,
        },
        toolOutputBudget: { maxBytesPerCall: 1_024, truncationMarker: "[cut]", summarizerModel: null },
        adapterVersion: "native-tools@1",
        modelProfileId: "native-tools",
        grammarProfile: null,
        grammar: null,
        logitsMask: null,
        tokenGate: true,
        speculativeExec: false,
        cycleForbid: [["fs.read_text", "http.get"]],
        machineVersion: 1,
        toolsDigest: null,
        model: "native-tools",
        maxOutputTokens: 300,
        maxSpendMicrousd: null,
        requiredEffects: [],
        policy: {
          sideEffects: "enabled",
          allow: ["fs.read_text", "http.get"],
          channels: { cli_local: ["*"] },
          risk: { read_only: "allow", draft_only: "allow", side_effect: "approve" },
          exceptions: [],
          honeypot: { templates: [], recipientTypes: [], perHour: 0 },
          allowDomains: null,
        },
        channelClass: "cli_local",
        capabilities: [],
        approvedTools: [],
        depth: 0,
      },
    });
  });

  test("allowed_tools null stays null, to mean all that are granted", () => {
    const opened = openContract(seedDocument({ allowed_tools: null, tool_policy: "forbidden" }));
    expect(opened).toMatchObject({
      ok: true,
      contract: { allowedTools: null, toolPolicy: "forbidden", policy: { allow: ["*"] } },
    });
  });

  test("grammar and mask stand under the hash by their own hash", () => {
    const byHash = seedDocument({ grammar: hashCanonical("root"), logits_mask: hashCanonical([1]) });
    const document = { ...byHash, grammar: "root", logits_mask: [1] };
    expect(openContract(document)).toMatchObject({ ok: true, contract: { grammar: "root", logitsMask: [1] } });
    expect(openContract({ ...document, grammar: "toor" })).toEqual({
      ok: false,
      problem: "contract_hash does not match the terms",
    });
  });

  test("the opened contract is frozen and its seal holds", () => {
    const opened = openContract(seedDocument());
    if (!opened.ok) throw new Error(opened.problem);
    expect(isSealIntact(opened.contract)).toBe(true);
    expect(Object.isFrozen(opened.contract) && Object.isFrozen(opened.contract.policy.channels)).toBe(true);
  });
});

describe("opening a version 2.2 document", () => {
  const { policy_state: _state, output_schema: _schema, contract_hash: _hash, ...terms } = toWire(contractOf());
  const earlier = (changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> => {
    const covered = { ...terms, version: "2.2", ...changes };
    return { ...covered, contract_hash: hashCanonical(covered) };
  };

  verifies("M-P5.4", "keeps every field and its hash, and adds none of version 2.3", () => {
    const document = earlier();
    const opened = openContract(document);
    expect(opened.ok && toWire(opened.contract)).toEqual(document);
    expect(opened.ok && isSealIntact(opened.contract)).toBe(true);
  });

  test.each([
    ["policy_state", null],
    ["output_schema", null],
  ])("with %s is refused, under whatever hash", (field, value) => {
    expect(openContract(earlier({ [field]: value }))).toEqual({ ok: false, problem: `/${field} schema is false` });
  });

  test("is another contract with a term of version 2.3", () => {
    const opened = openContract(earlier());
    expect(opened.ok && isSealIntact({ ...opened.contract, outputSchema: null })).toBe(false);
  });
});

describe("opening a version 2.3 document", () => {
  verifies("M-P5.4", "gives back the contract that was sealed, foreign argument names included", () => {
    const sealed = contractOf({ requiredEffects: [{ tool: "fs.*", args: { aB: 1, c_d: [2] } }] });
    expect(openContract(current())).toEqual({ ok: true, contract: sealed });
  });

  verifies(["M-P5.4", "M-4.1"], "gives back the policy state, and the output schema in its own spelling", () => {
    const outputSchema = { type: "object", properties: { keyFacts: {}, key_facts: {}, "x-Y": {} } };
    const sealed = contractOf({ policyState: POLICY_STATE, outputSchema });
    const document = toWire(sealed);
    expect(document).toMatchObject({ policy_state: { retry_tolerance: 1 }, output_schema: outputSchema });
    expect(openContract(document)).toEqual({ ok: true, contract: sealed });
  });

  test("the opened contract is frozen", () => {
    const opened = openContract(current());
    expect(opened.ok && Object.isFrozen(opened.contract.policy.allow)).toBe(true);
  });
});

describe("what is no contract", () => {
  const REFUSED: readonly (readonly [string, () => unknown, string])[] = [
    ["nothing", () => null, "not a JSON object"],
    ["text", () => "{}", "not a JSON object"],
    ["undefined", () => undefined, "not a JSON object"],
    ["a list", () => [], "/ must be object"],
    [
      "2.1 without a field",
      () => without(seedDocument(), "model_profile_id"),
      "/ must have required properties model_profile_id",
    ],
    [
      "2.1 with optional",
      () => seedDocument({ tool_policy: "optional" }),
      "/tool_policy must be equal to one of the allowed values",
    ],
    ["2.1 with a field too many", () => seedDocument({ depth: 0 }), "/depth schema is false"],
    ["2.1 with a wrong type", () => seedDocument({ max_inferences: "4" }), "/max_inferences must be integer"],
    [
      "2.1 with a changed term",
      () => ({ ...seedDocument(), max_inferences: 5 }),
      "contract_hash does not match the terms",
    ],
    ["2.1 that says its version", () => current({ version: "2.1" }), "version 2.1 documents carry no version field"],
    ["2.3 with a changed term", () => current({ max_inferences: 5 }), "contract_hash does not match the terms"],
    [
      "2.3 with another hash",
      () => current({ contract_hash: hashBytes("x") }),
      "contract_hash does not match the terms",
    ],
    ["2.3 with a field too many", () => current({ extra: 1 }), "/extra schema is false"],
    ["2.3 that says it is 2.2", () => current({ version: "2.2" }), "/policy_state schema is false"],
    [
      "2.3 with a policy state of another form",
      () => current({ policy_state: {} }),
      "/policy_state must have required properties retry_tolerance, step_limit_multiplier, autonomy_bias, verbosity_bias, critique_enabled",
    ],
    ["2.3 in our own spelling", () => current({ maxInferences: 10 }), "/maxInferences schema is false"],
    ["2.3 with a strange key", () => current({ "Not-Ours": 1 }), "/Not-Ours schema is false"],
    [
      "2.3 with a hash that is none",
      () => current({ contract_hash: "abc" }),
      '/contract_hash must match pattern "^[0-9a-f]{64}$"',
    ],
    ["2.3 with a fraction", () => current({ depth: 0.5 }), "/depth must be integer"],
    ["2.3 with a negative count", () => current({ max_inferences: -1 }), "/max_inferences must be >= 0"],
    ["an unknown version", () => current({ version: "3.0" }), "/version must be equal to constant"],
  ];
  test.each(REFUSED)("%s is refused with what is wrong", (_, document, problem) => {
    expect(openContract(document())).toEqual({ ok: false, problem });
  });

  /** Arguments of this many levels; with the effect, the list and the contract around them, three more. */
  const nested = (levels: number): unknown => JSON.parse(`${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`);
  const withArgs = (args: unknown) => current({ required_effects: [{ tool: "fs.*", args }] });
  test.each<[string, () => unknown, string]>([
    ["a lone surrogate", () => current({ contract_id: "\ud800" }), "a lone surrogate in a string"],
    [
      "a lone surrogate in a 2.1 document",
      () => ({ ...seedDocument(), contract_id: "\ud800" }),
      "a lone surrogate in a string",
    ],
    ["a lone surrogate in an argument's name", () => withArgs({ "\ud800": 1 }), "a lone surrogate in a string"],
    ["an overflow", () => withArgs({ a: JSON.parse("1e400") }), "a number that does not fit"],
    ["a count that several integers share", () => current({ max_inferences: 2 ** 53 }), "a number that does not fit"],
    ["arguments nested too deeply", () => withArgs(nested(30)), "nested deeper than 32 levels"],
    ["arguments that would exhaust the stack", () => withArgs(nested(100_000)), "nested deeper than 32 levels"],
    ["no JSON at all", () => withArgs({ a: undefined }), "not JSON"],
  ])("%s is refused, not thrown", (_, document, problem) => {
    expect(openContract(document())).toEqual({ ok: false, problem });
  });

  test("what can be sealed can be opened again, up to the same depth", () => {
    const sealed = contractOf({ requiredEffects: [{ tool: "fs.*", args: nested(29) as Record<string, unknown> }] });
    expect(openContract(JSON.parse(JSON.stringify(toWire(sealed))))).toEqual({ ok: true, contract: sealed });
    const tooDeep = () =>
      contractOf({ requiredEffects: [{ tool: "fs.*", args: nested(30) as Record<string, unknown> }] });
    expect(tooDeep).toThrow(new Defect("contract: nested deeper than 32 levels"));
  });

  verifies("M-4.1/fields", "every single field is demanded, in both versions", () => {
    for (const document of [seedDocument(), current()]) {
      const opened = Object.keys(document).filter((field) => openContract(without(document, field)).ok);
      expect(opened).toEqual([]);
    }
  });

  test("nothing is thrown, whatever the document", () => {
    fc.assert(
      fc.property(fc.oneof(anyJson, fc.anything({ withNullPrototype: true, withDate: true })), (value) => {
        expect(openContract(value).ok).toBe(false);
      }),
      { numRuns: 200 },
    );
  });
});
