/** Why a call is asked about: taken from the decision itself, so it cannot say anything else. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { decideCall, decideUnder } from "../../../src/kernel/policy/decide-call.ts";
import { explainDecision } from "../../../src/kernel/policy/explain-decision.ts";
import { UNTRUSTED_LABELS } from "../../../src/kernel/vocabulary/labels.ts";
import { verifies } from "../../requirements.ts";
import { anyPolicy, anyQuestion, fetching, LATCHED, policy, write } from "./question.ts";

const changesOf = (explained: ReturnType<typeof explainDecision>) =>
  Object.fromEntries(explained.changes.map(({ change, decision }) => [change, decision]));

verifies("P-3.2", "an explanation ends in the rule that decides, under contract and live policy", () => {
  fc.assert(
    fc.property(anyQuestion, fc.option(anyPolicy), (asked, livePolicy) => {
      const live = livePolicy === null ? null : { policy: livePolicy, capabilities: asked.capabilities };
      const { decision, policyId } = decideUnder(asked, live);
      const explained = explainDecision(asked, live);
      expect([explained.decision, explained.rule]).toEqual([decision, policyId]);
      expect(explained.path.at(-1)).toMatchObject({ rule: policyId, result: decision });
      for (const change of explained.changes) expect(change.decision).not.toBe(decision);
    }),
  );
});

test("a write that its risk class asks about: gates, rule, facts, and what would change it", () => {
  const asked = write();
  const explained = explainDecision(asked, null);
  expect(explained.path).toEqual([
    { rule: "policy.contract", result: "passed", words: "This run may call fs.write_text." },
    { rule: "policy.kill-switch", result: "passed", words: "Side effects are switched on." },
    { rule: "policy.not-allowlisted", result: "passed", words: "tools.policy.allow has fs.*." },
    { rule: "policy.channel", result: "passed", words: "tools.policy.channels.cli_local has *." },
    { rule: "policy.risk.side_effect", result: "approve", words: "tools.policy.risk.side_effect is approve." },
  ]);
  expect(explained.facts).toMatchObject({ tool: "fs.write_text", reaches: [], isLatched: false, isNarrowed: false });
  expect(changesOf(explained)).toEqual({
    exception: "allow",
    risk: "allow",
    "approved-tool": "allow",
    "kill-switch": "deny",
  });
  expect(explained.changes[0]?.words).toBe(
    "With an exception in tools.policy.exceptions that allows fs.write_text on cli_local: it would be allowed without asking.",
  );
});

verifies("X-5", "the latch is explained by what it overruled, and by what the context has read", () => {
  const explained = explainDecision(write({ labels: LATCHED, approvedTools: ["fs.write_text"] }), null);
  expect(explained.path.slice(-3).map(({ rule, result }) => [rule, result])).toEqual([
    ["policy.risk.side_effect", "approve"],
    ["policy.approved-tool", "allow"],
    ["policy.latch", "approve"],
  ]);
  expect(explained.facts).toMatchObject({ isLatched: true, isApprovedTool: true });
  expect(changesOf(explained)).toEqual({ labels: "allow", "kill-switch": "deny" });
});

test("a denial names the gate, the later ones are not claimed; a grant would change it", () => {
  const explained = explainDecision(fetching({ capabilities: [] }), null);
  expect(explained.path.map(({ rule }) => rule)).toEqual([
    "policy.contract",
    "policy.not-allowlisted",
    "policy.channel",
    "policy.capability",
  ]);
  expect(changesOf(explained)).toEqual({ capability: "allow" });
});

test("narrower live policy decides, and the answer is as for later runs under it", () => {
  const exceptions = [{ tool: "fs.write_text", decision: "allow" as const }];
  const asked = write({ policy: policy({ exceptions }) });
  expect(decideCall(asked).decision).toBe("allow");
  const live = { policy: policy({ exceptions: [{ tool: "*", decision: "approve" }] }), capabilities: [] };
  const explained = explainDecision(asked, live);
  expect(explained).toMatchObject({ rule: "policy.exception.0", facts: { isNarrowed: true } });
  expect(explained.path.at(-1)?.words).toBe("tools.policy.exceptions[0] says approve for *.");
});

test("an effect in doubt asks last, and no rule would change that", () => {
  const inDoubt = { decision: "approve", policyId: "effect.in-doubt", reason: "check first" } as const;
  const asked = write({ approvedTools: ["fs.write_text"], labels: { ...UNTRUSTED_LABELS } });
  const explained = explainDecision(asked, null, inDoubt);
  expect(explained.path.slice(-2).map(({ rule }) => rule)).toEqual(["policy.approved-tool", "effect.in-doubt"]);
  expect(explained.changes).toEqual([]);
});
