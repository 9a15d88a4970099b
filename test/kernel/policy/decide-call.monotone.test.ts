/** D5 and D6: narrowing anything never makes a decision more permissive. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decideCall, decideUnder, type PolicyQuestion } from "../../../src/kernel/policy/decide-call.ts";
import type { ToolPolicy } from "../../../src/kernel/policy/tool-policy.ts";
import { CONFIDENTIALITIES, INTEGRITIES, joinLabels } from "../../../src/kernel/vocabulary/labels.ts";
import { CHANNEL_CLASSES, RISK_CLASSES } from "../../../src/kernel/vocabulary/risk.ts";
import { verifies } from "../../requirements.ts";
import { anyCapabilities, anyPolicy, anyQuestion } from "./question.ts";

const ORDER = ["allow", "approve", "deny"] as const;
const strictness = (asked: PolicyQuestion): number => ORDER.indexOf(decideCall(asked).decision);
const stricterBy = <T extends (typeof ORDER)[number]>(decision: T, steps: number) =>
  ORDER[Math.min(ORDER.indexOf(decision) + steps, 2)] ?? "deny";

/** One way to narrow: from a question and a number that says where, a narrower question. */
type Narrowing = (asked: PolicyQuestion, at: number) => PolicyQuestion;
const without = <T>(list: readonly T[], at: number): T[] => list.filter((_, index) => index !== at % list.length);
const withPolicy = (asked: PolicyQuestion, changes: Partial<ToolPolicy>): PolicyQuestion => ({
  ...asked,
  policy: { ...asked.policy, ...changes },
});

const NARROWINGS: Readonly<Record<string, Narrowing>> = {
  "a tool less in the contract": (asked, at) => ({ ...asked, allowedTools: without(asked.allowedTools, at) }),
  "a pattern less in the allowlist": (asked, at) => withPolicy(asked, { allow: without(asked.policy.allow, at) }),
  "a pattern less for the channel": (asked, at) => {
    const patterns = asked.policy.channels[asked.channelClass] ?? [];
    return withPolicy(asked, { channels: { ...asked.policy.channels, [asked.channelClass]: without(patterns, at) } });
  },
  "no tools for the channel": (asked) => {
    const { [asked.channelClass]: _gone, ...channels } = asked.policy.channels;
    return withPolicy(asked, { channels });
  },
  "the kill switch": (asked) => withPolicy(asked, { sideEffects: "disabled" }),
  "a capability less": (asked, at) => ({ ...asked, capabilities: without(asked.capabilities, at) }),
  "a domain less in the global allowlist": (asked, at) =>
    withPolicy(asked, { allowDomains: without(asked.policy.allowDomains ?? ["a.test", "x.a.test"], at) }),
  "a host more to reach": (asked, at) => ({ ...asked, egress: [...asked.egress, ["a.test", "b.test"][at % 2] ?? ""] }),
  "a stricter default for the risk class": (asked, at) =>
    withPolicy(asked, {
      risk: { ...asked.policy.risk, [asked.risk]: stricterBy(asked.policy.risk[asked.risk], at % 3) },
    }),
  "a stricter exception": (asked, at) =>
    withPolicy(asked, {
      exceptions: asked.policy.exceptions.map((exception, index) =>
        index === at % asked.policy.exceptions.length
          ? { ...exception, decision: stricterBy(exception.decision, 1 + (at % 2)) }
          : exception,
      ),
    }),
  "a denial more, anywhere in the list": (asked, at) =>
    withPolicy(asked, {
      exceptions: asked.policy.exceptions.toSpliced(at % 4, 0, { tool: "*", decision: "deny" }),
    }),
  "an approved tool less": (asked, at) => ({ ...asked, approvedTools: without(asked.approvedTools, at) }),
  "no honeypot": (asked) => ({ ...asked, honeypot: false }),
  "a call that asks always": (asked) => ({ ...asked, asksAlways: true }),
  "higher labels": (asked, at) => ({
    ...asked,
    labels: joinLabels(asked.labels, {
      integrity: INTEGRITIES[at % 3] ?? "untrusted",
      confidentiality: CONFIDENTIALITIES[(at >> 2) % 3] ?? "secret",
    }),
  }),
};

describe("monotonicity", () => {
  for (const [what, narrow] of Object.entries(NARROWINGS)) {
    test(`${what} never makes a decision more permissive`, () => {
      let bit = 0;
      fc.assert(
        fc.property(anyQuestion, fc.nat(15), (asked, at) => {
          const [before, after] = [strictness(asked), strictness(narrow(asked, at))];
          if (after > before) bit += 1;
          expect(after).toBeGreaterThanOrEqual(before);
        }),
        { numRuns: 1500 },
      );
      // Were no question ever affected, this would prove nothing.
      expect(bit).toBeGreaterThan(0);
    });
  }

  test("an allow-exception less never makes a decision more permissive", () => {
    let bit = 0;
    fc.assert(
      fc.property(anyQuestion, fc.nat(3), (asked, at) => {
        const exceptions = asked.policy.exceptions.filter(
          ({ decision }, index) => decision !== "allow" || index !== at % asked.policy.exceptions.length,
        );
        const [before, after] = [strictness(asked), strictness(withPolicy(asked, { exceptions }))];
        if (after > before) bit += 1;
        expect(after).toBeGreaterThanOrEqual(before);
      }),
      { numRuns: 1500 },
    );
    expect(bit).toBeGreaterThan(0);
  });

  test("the order of exceptions changes no decision", () => {
    fc.assert(
      fc.property(anyQuestion, (asked) => {
        const reversed = withPolicy(asked, { exceptions: asked.policy.exceptions.toReversed() });
        expect(decideCall(reversed).decision).toBe(decideCall(asked).decision);
      }),
    );
  });
});

describe("every combination", () => {
  // Each dimension from open to closed; the product is small enough to try in full.
  const dimensions = {
    risk: RISK_CLASSES,
    inContract: [true, false],
    sideEffects: ["enabled", "disabled"],
    onAllowlist: [true, false],
    onChannel: [true, false],
    network: ["none", "granted", "refused"],
    exception: [null, ...ORDER],
    byRisk: ORDER,
    waiver: ["none", "approved", "honeypot"],
    latched: [false, true],
    asksAlways: [false, true],
  } as const;
  type Combination = { [Key in keyof typeof dimensions]: (typeof dimensions)[Key][number] };

  function* combinations(): Generator<Combination> {
    let partial: Record<string, unknown>[] = [{}];
    for (const [key, values] of Object.entries(dimensions)) {
      partial = partial.flatMap((made) => values.map((value) => ({ ...made, [key]: value })));
    }
    yield* partial as Combination[];
  }

  function asQuestion(c: Combination): PolicyQuestion {
    return {
      tool: "x.y",
      risk: c.risk,
      egress: c.network === "none" ? [] : ["a.test"],
      honeypot: c.waiver === "honeypot",
      asksAlways: c.asksAlways,
      channelClass: CHANNEL_CLASSES[0],
      policy: {
        sideEffects: c.sideEffects,
        allow: c.onAllowlist ? ["x.*"] : ["z.*"],
        channels: c.onChannel ? { cli_local: ["x.y"] } : { external_email: ["x.y"] },
        risk: { read_only: c.byRisk, draft_only: c.byRisk, side_effect: c.byRisk },
        exceptions: c.exception === null ? [] : [{ tool: "*", decision: c.exception }],
        honeypot: { templates: [], recipientTypes: [], perHour: 0 },
        allowDomains: null,
      },
      capabilities: c.network === "refused" ? ["net:b.test"] : ["net:a.test"],
      labels: { integrity: "untrusted", confidentiality: c.latched ? "private" : "public" },
      approvedTools: c.waiver === "approved" ? ["x.y"] : [],
      allowedTools: c.inContract ? ["x.y"] : [],
    };
  }

  verifies(
    ["P-3.2", "P-3.3", "X-5"],
    "a call is allowed exactly when nothing refuses it, nothing asks and the latch holds nothing back",
    () => {
      let allowed = 0;
      let tried = 0;
      for (const c of combinations()) {
        const rule = c.exception ?? c.byRisk;
        const isRefused =
          !c.inContract ||
          !c.onAllowlist ||
          !c.onChannel ||
          c.network === "refused" ||
          rule === "deny" ||
          (c.risk === "side_effect" && c.sideEffects === "disabled");
        const acts = c.risk !== "read_only" || c.network !== "none";
        const wantsApproval = rule === "approve" || c.asksAlways;
        const isWaived = c.waiver === "approved" || (c.waiver === "honeypot" && !c.asksAlways);
        const asks = c.latched ? acts || wantsApproval : wantsApproval && !isWaived;
        const expected = isRefused ? "deny" : asks ? "approve" : "allow";
        const { decision } = decideCall(asQuestion(c));
        if (decision !== expected) expect({ ...c, decision }).toEqual({ ...c, decision: expected });
        if (decision === "allow") allowed += 1;
        tried += 1;
      }
      expect(tried).toBe(20_736);
      expect(allowed).toBeGreaterThan(0);
    },
  );
});

describe("live policy", () => {
  test("contract ∩ live is never more permissive than either, and exactly as strict as the stricter but for honeypots", () => {
    fc.assert(
      fc.property(anyQuestion, anyPolicy, anyCapabilities, (asked, policy, capabilities) => {
        const effective = ORDER.indexOf(decideUnder(asked, { policy, capabilities }).decision);
        const underLive = strictness({ ...asked, policy, capabilities });
        expect(effective).toBeGreaterThanOrEqual(strictness(asked));
        expect(effective).toBeGreaterThanOrEqual(underLive);
        if (!asked.honeypot) expect(effective).toBe(Math.max(strictness(asked), underLive));
      }),
      { numRuns: 1500 },
    );
  });

  test("live policy that is the contract's own changes nothing", () => {
    fc.assert(
      fc.property(anyQuestion, (asked) => {
        const live = structuredClone({ policy: asked.policy, capabilities: asked.capabilities });
        expect(decideUnder(asked, live)).toEqual(decideCall(asked));
      }),
    );
  });
});
