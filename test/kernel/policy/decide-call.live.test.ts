/** D6: contract ∩ live, case by case; `decide-call.monotone.test.ts` has the general law. */
import { describe, expect, test } from "vitest";
import {
  decideCall,
  decideUnder,
  type PolicyDecision,
  type PolicyQuestion,
  stricter,
} from "../../../src/kernel/policy/decide-call.ts";
import { fetching, policy, write } from "./question.ts";

const bait = { honeypot: { templates: ["bait"], recipientTypes: ["trap"], perHour: 1 } };
const exception = (decision: "allow" | "approve" | "deny", tool = "fs.write_text") => ({ tool, decision });

describe("stricter", () => {
  const made = (decision: PolicyDecision["decision"], policyId: string): PolicyDecision => ({
    decision,
    policyId,
    reason: ".",
  });

  test("deny beats approve beats allow; of equals the first is kept", () => {
    const order = ["allow", "approve", "deny"] as const;
    for (const [i, left] of order.entries()) {
      for (const [j, right] of order.entries()) {
        const [a, b] = [made(left, "a"), made(right, "b")];
        expect(stricter(a, b)).toBe(j > i ? b : a);
      }
    }
  });
});

describe("decideUnder", () => {
  const under = (asked: PolicyQuestion, live: Parameters<typeof decideUnder>[1]) => {
    const { decision, policyId } = decideUnder(asked, live);
    return `${decision} ${policyId}`;
  };

  test("without live policy the contract decides", () => {
    expect(decideUnder(write(), null)).toEqual(decideCall(write()));
  });

  test("policy_changed_between: what live policy denies by now is denied, although the contract allows it", () => {
    const asked = write({ policy: policy({ exceptions: [exception("allow")] }) });
    expect(under(asked, null)).toBe("allow policy.exception.0");
    expect(under(asked, { policy: { ...asked.policy, sideEffects: "disabled" }, capabilities: [] })).toBe(
      "deny policy.kill-switch",
    );
    expect(under(asked, { policy: policy({ allow: [] }), capabilities: [] })).toBe("deny policy.not-allowlisted");
    expect(under(asked, { policy: policy(), capabilities: [] })).toBe("approve policy.risk.side_effect");
  });

  test("a revoked capability is gone, and one granted later does not widen the run", () => {
    expect(under(fetching(), { policy: policy(), capabilities: ["net:a.test"] })).toBe("allow policy.risk.read_only");
    expect(under(fetching(), { policy: policy(), capabilities: [] })).toBe("deny policy.capability");
    expect(under(fetching({ capabilities: [] }), { policy: policy(), capabilities: ["net"] })).toBe(
      "deny policy.capability",
    );
  });

  test("live policy cannot widen, and where both agree the contract's rule is named", () => {
    const wide = policy({ allow: ["*"], exceptions: [exception("allow", "*")] });
    expect(under(write(), { policy: wide, capabilities: ["net"] })).toBe("approve policy.risk.side_effect");
    const asking = policy({ exceptions: [exception("approve")] });
    expect(under(write(), { policy: asking, capabilities: [] })).toBe("approve policy.risk.side_effect");
  });

  test("what always asks does so under live policy too", () => {
    const open = policy({ exceptions: [exception("allow")] });
    const asked = write({ policy: open, asksAlways: true });
    expect(under(asked, { policy: structuredClone(open), capabilities: [] })).toBe("approve policy.asks-always");
  });

  test("the operator's approval for this run holds under live policy too, as long as it does not deny", () => {
    const asked = write({ approvedTools: ["fs.write_text"] });
    expect(under(asked, { policy: policy({ allow: ["fs.write_text"] }), capabilities: [] })).toBe(
      "allow policy.approved-tool",
    );
    expect(under(asked, { policy: policy({ allow: [] }), capabilities: [] })).toBe("deny policy.not-allowlisted");
  });

  test("a honeypot send asks once the live conditions are no longer the ones it was checked against", () => {
    const asked = write({ honeypot: true, policy: policy(bait) });
    expect(under(asked, { policy: policy(structuredClone(bait)), capabilities: [] })).toBe("allow policy.honeypot");
    for (const change of [{ templates: [] }, { recipientTypes: ["other"] }, { perHour: 0 }]) {
      const live = policy({ honeypot: { ...bait.honeypot, ...change } });
      expect(under(asked, { policy: live, capabilities: [] })).toBe("approve policy.risk.side_effect");
    }
    expect(under({ ...asked, honeypot: false }, { policy: policy(bait), capabilities: [] })).toBe(
      "approve policy.risk.side_effect",
    );
  });
});
