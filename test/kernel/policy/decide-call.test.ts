import { describe, expect, test } from "vitest";
import { decideCall, type PolicyQuestion } from "../../../src/kernel/policy/decide-call.ts";
import { CONFIDENTIALITIES, INTEGRITIES } from "../../../src/kernel/vocabulary/labels.ts";
import { RISK_CLASSES } from "../../../src/kernel/vocabulary/risk.ts";
import { verifies } from "../../requirements.ts";
import { fetching, LATCHED, policy, question, write } from "./question.ts";

/** What was decided and by which rule, as `allow policy.risk.read_only`. */
function verdict(asked: PolicyQuestion): string {
  const { decision, policyId } = decideCall(asked);
  return `${decision} ${policyId}`;
}

const bait = { honeypot: { templates: ["bait"], recipientTypes: ["trap"], perHour: 1 } };
const exception = (decision: "allow" | "approve" | "deny", tool = "fs.write_text") => ({ tool, decision });

describe("gates", () => {
  verifies(
    ["P-0/fail-closed", "P-3.2/lists"],
    "what no list names is denied: by contract, by tool and by channel",
    () => {
      expect(verdict(question())).toBe("allow policy.risk.read_only");
      expect(verdict(question({ allowedTools: [] }))).toBe("deny policy.contract");
      expect(verdict(question({ allowedTools: ["*", "fs.*"] }))).toBe("deny policy.contract");
      expect(verdict(question({ policy: policy({ allow: [] }) }))).toBe("deny policy.not-allowlisted");
      expect(verdict(question({ policy: policy({ allow: ["fs", "http.*"] }) }))).toBe("deny policy.not-allowlisted");
      expect(verdict(question({ policy: policy({ channels: {} }) }))).toBe("deny policy.channel");
      expect(verdict(question({ channelClass: "external_message" }))).toBe("deny policy.channel");
      expect(verdict(write({ channelClass: "external_email" }))).toBe("deny policy.channel");
      expect(verdict(question({ channelClass: "external_email" }))).toBe("allow policy.risk.read_only");
    },
  );

  verifies("P-3.2/risk", "the risk class decides for a call that passed the lists, each with each decision", () => {
    for (const risk of RISK_CLASSES) {
      for (const decision of ["allow", "approve", "deny"] as const) {
        const others = decision === "deny" ? "allow" : "deny";
        const rules = { read_only: others, draft_only: others, side_effect: others, [risk]: decision } as const;
        expect(verdict(question({ risk, policy: policy({ risk: rules }) }))).toBe(`${decision} policy.risk.${risk}`);
      }
    }
  });

  test("the kill switch stops side effects, and leaves reading and drafting", () => {
    const off = policy({
      sideEffects: "disabled",
      risk: { read_only: "allow", draft_only: "allow", side_effect: "allow" },
    });
    expect(verdict(question({ policy: off, risk: "side_effect" }))).toBe("deny policy.kill-switch");
    expect(verdict(question({ policy: off, risk: "draft_only" }))).toBe("allow policy.risk.draft_only");
    expect(verdict(question({ policy: off, risk: "read_only" }))).toBe("allow policy.risk.read_only");
    expect(verdict(question({ policy: { ...off, sideEffects: "enabled" }, risk: "side_effect" }))).toBe(
      "allow policy.risk.side_effect",
    );
  });

  test("the gates are asked in order: contract, kill switch, tool, channel, capability, rules", () => {
    const closed = policy({ sideEffects: "disabled", allow: [], channels: {}, exceptions: [exception("deny", "*")] });
    const asked = write({ policy: closed, allowedTools: [], egress: ["a.test"] });
    const named = { ...asked, allowedTools: ["fs.write_text"] };
    const enabled = { ...named, policy: { ...closed, sideEffects: "enabled" as const } };
    const listed = { ...enabled, policy: { ...enabled.policy, allow: ["*"] } };
    const onChannel = { ...listed, policy: { ...listed.policy, channels: { cli_local: ["*"] } } };
    const granted = { ...onChannel, capabilities: ["net:a.test"] };
    expect([asked, named, enabled, listed, onChannel, granted].map(verdict)).toEqual([
      "deny policy.contract",
      "deny policy.kill-switch",
      "deny policy.not-allowlisted",
      "deny policy.channel",
      "deny policy.capability",
      "deny policy.exception.0",
    ]);
  });

  test("neither an exception nor a waiver lifts what a gate refuses", () => {
    const waivers = { approvedTools: ["fs.write_text"], honeypot: true };
    const open = policy({ ...bait, exceptions: [exception("allow", "*")] });
    const refused: PolicyQuestion[] = [
      write({ ...waivers, policy: open, allowedTools: [] }),
      write({ ...waivers, policy: { ...open, sideEffects: "disabled" } }),
      write({ ...waivers, policy: { ...open, allow: [] } }),
      write({ ...waivers, policy: { ...open, channels: {} } }),
      write({ ...waivers, policy: open, egress: ["a.test"] }),
    ];
    expect(verdict(write({ ...waivers, policy: open }))).toBe("allow policy.exception.0");
    expect(refused.map((asked) => decideCall(asked).decision)).toEqual(refused.map(() => "deny"));
  });
});

describe("network", () => {
  const listed = (...allowDomains: string[]) => policy({ allowDomains });

  verifies(
    ["S-4.4/capability", "S-4.4/allowlist"],
    "net and net:<domain> open what they say, with and without a global allowlist",
    () => {
      const rows: [string[], string[], string[] | null, "allow" | "deny"][] = [
        [["a.test"], [], null, "deny"],
        [["a.test"], ["net"], null, "allow"],
        [["a.test"], ["net:a.test"], null, "allow"],
        [["a.test"], ["net:b.test"], null, "deny"],
        [["a.test"], ["net"], ["a.test"], "allow"],
        [["a.test"], ["net"], ["b.test"], "deny"],
        [["a.test"], ["net"], [], "deny"],
        [["a.test"], ["net:a.test"], [], "allow"],
        [["a.test"], ["net:a.test"], ["b.test"], "allow"],
        [["a.test"], [], ["a.test"], "deny"],
        [["a.test"], ["net:b.test"], ["a.test"], "deny"],
        [["x.a.test"], ["net:a.test"], null, "deny"],
        [["x.a.test"], ["net"], ["a.test"], "deny"],
        [["test"], ["net:a.test"], null, "deny"],
        [["a.test."], ["net:a.test"], null, "deny"],
        [["a.test.evil.test"], ["net:a.test"], null, "deny"],
      ];
      for (const [egress, capabilities, allowDomains, expected] of rows) {
        const asked = fetching({ egress, capabilities, policy: policy({ allowDomains }) });
        expect([egress, capabilities, allowDomains, verdict(asked)]).toEqual([
          egress,
          capabilities,
          allowDomains,
          expected === "allow" ? "allow policy.risk.read_only" : "deny policy.capability",
        ]);
      }
    },
  );

  verifies("S-4.4", "every host of a call must be granted, each by whichever capability reaches it", () => {
    const both = ["a.test", "b.test"];
    expect(verdict(fetching({ egress: both, capabilities: ["net:a.test"] }))).toBe("deny policy.capability");
    expect(verdict(fetching({ egress: both, capabilities: ["net:b.test"] }))).toBe("deny policy.capability");
    expect(verdict(fetching({ egress: both, capabilities: ["net:a.test", "net:b.test"] }))).toMatch(/^allow/);
    expect(verdict(fetching({ egress: both, capabilities: ["net"], policy: listed("a.test") }))).toMatch(/^deny/);
    expect(verdict(fetching({ egress: both, capabilities: ["net", "net:b.test"], policy: listed("a.test") }))).toMatch(
      /^allow/,
    );
  });

  test("what is no capability by grammar grants nothing, even where it spells the host", () => {
    for (const [host, capability] of [
      ["127.0.0.1", "net:127.0.0.1"],
      ["localhost", "net:localhost"],
      ["*", "net:*"],
      ["a.test", "net:*"],
      ["a.test", "net:"],
      ["", "net:"],
      ["a.test", "NET"],
      ["a.test", "net "],
      ["A.test", "net:A.test"],
      ["a.test", "grant_permission:net"],
    ] as const) {
      expect([capability, verdict(fetching({ egress: [host], capabilities: [capability] }))]).toEqual([
        capability,
        "deny policy.capability",
      ]);
    }
  });

  test("a call without egress needs no capability", () => {
    expect(verdict(fetching({ egress: [], capabilities: [], policy: listed() }))).toBe("allow policy.risk.read_only");
  });
});

describe("rules", () => {
  verifies("P-3.3", "a side effect needs approval unless an explicit exception says otherwise", () => {
    expect(verdict(write())).toBe("approve policy.risk.side_effect");
    expect(verdict(write({ policy: policy({ exceptions: [exception("allow")] }) }))).toBe("allow policy.exception.0");
  });

  test("an exception overrides its risk class in every direction", () => {
    for (const risk of ["allow", "approve", "deny"] as const) {
      for (const decision of ["allow", "approve", "deny"] as const) {
        const rules = policy({
          risk: { read_only: risk, draft_only: risk, side_effect: risk },
          exceptions: [exception(decision)],
        });
        expect(verdict(write({ policy: rules }))).toBe(`${decision} policy.exception.0`);
      }
    }
  });

  test("of several exceptions the strictest decides, whatever the order; of equals the first is named", () => {
    const ordered = (...decisions: ("allow" | "approve" | "deny")[]) =>
      verdict(write({ policy: policy({ exceptions: decisions.map((decision) => exception(decision)) }) }));
    expect(ordered("allow", "approve", "deny")).toBe("deny policy.exception.2");
    expect(ordered("deny", "approve", "allow")).toBe("deny policy.exception.0");
    expect(ordered("allow", "approve")).toBe("approve policy.exception.1");
    expect(ordered("approve", "allow")).toBe("approve policy.exception.0");
    expect(ordered("allow", "deny", "deny")).toBe("deny policy.exception.1");
    expect(ordered("allow", "allow")).toBe("allow policy.exception.0");
  });

  test("a narrow allow does not open what a wide exception closes", () => {
    const exceptions = [exception("allow"), exception("approve", "fs.*")];
    expect(verdict(write({ policy: policy({ exceptions }) }))).toBe("approve policy.exception.1");
  });

  test("an exception counts for its tools and its channel only, and is known by its place in the list", () => {
    const elsewhere = [exception("deny", "http.*"), { ...exception("deny"), channel: "external_email" as const }];
    expect(verdict(write({ policy: policy({ exceptions: elsewhere }) }))).toBe("approve policy.risk.side_effect");
    const here = [...elsewhere, { ...exception("allow", "fs.*"), channel: "cli_local" as const }];
    expect(verdict(write({ policy: policy({ exceptions: here }) }))).toBe("allow policy.exception.2");
  });
});

describe("calls that always ask", () => {
  const freely = policy({ risk: { read_only: "allow", draft_only: "allow", side_effect: "allow" } });
  const excepted = policy({ exceptions: [exception("allow")] });

  verifies("P-3.3", "neither an exception nor a risk class allows them outright", () => {
    expect(verdict(write({ policy: excepted }))).toBe("allow policy.exception.0");
    expect(verdict(write({ policy: excepted, asksAlways: true }))).toBe("approve policy.asks-always");
    expect(verdict(write({ policy: freely }))).toBe("allow policy.risk.side_effect");
    expect(verdict(write({ policy: freely, asksAlways: true }))).toBe("approve policy.asks-always");
    expect(verdict(question({ asksAlways: true }))).toBe("approve policy.asks-always");
  });

  test("what a rule denies stays denied, and a rule that asks anyway keeps its name", () => {
    const denying = policy({ exceptions: [exception("deny")] });
    expect(verdict(write({ policy: denying, asksAlways: true }))).toBe("deny policy.exception.0");
    expect(verdict(write({ policy: { ...freely, sideEffects: "disabled" }, asksAlways: true }))).toBe(
      "deny policy.kill-switch",
    );
    expect(verdict(write({ asksAlways: true }))).toBe("approve policy.risk.side_effect");
  });

  test("the operator's approval of the tool for this run waives it, but not under the latch; a honeypot never does", () => {
    const approvedTools = ["fs.write_text"];
    for (const rules of [policy(), freely, excepted]) {
      const asked = write({ policy: rules, asksAlways: true });
      expect(verdict({ ...asked, approvedTools })).toBe("allow policy.approved-tool");
      expect(verdict({ ...asked, approvedTools, labels: LATCHED })).toBe("approve policy.latch");
      expect(decideCall({ ...asked, labels: LATCHED }).decision).toBe("approve");
      expect(decideCall({ ...asked, honeypot: true }).decision).toBe("approve");
    }
  });
});

describe("waivers", () => {
  test("a tool the operator approved for this run does not ask again, whichever rule wanted it approved", () => {
    const approvedTools = ["http.get", "fs.write_text"];
    expect(verdict(write({ approvedTools }))).toBe("allow policy.approved-tool");
    expect(verdict(write({ approvedTools, policy: policy({ exceptions: [exception("approve")] }) }))).toBe(
      "allow policy.approved-tool",
    );
  });

  test("the operator's approval names a tool: it is no pattern, and no other tool has it", () => {
    expect(verdict(write({ approvedTools: ["*", "fs.*", "fs.write", "fs.read_text"] }))).toBe(
      "approve policy.risk.side_effect",
    );
  });

  test("a waiver lifts no denial by rule, and leaves the name of a rule that allows anyway", () => {
    const waivers = { approvedTools: ["fs.write_text"], honeypot: true };
    expect(verdict(write({ ...waivers, policy: policy({ exceptions: [exception("deny")] }) }))).toBe(
      "deny policy.exception.0",
    );
    expect(verdict(write({ ...waivers, policy: policy({ exceptions: [exception("allow")] }) }))).toBe(
      "allow policy.exception.0",
    );
  });

  verifies("P-3.3", "a honeypot send goes out without approval, and any other send asks", () => {
    expect(verdict(write({ honeypot: true, policy: policy(bait) }))).toBe("allow policy.honeypot");
    expect(verdict(write({ honeypot: false, policy: policy(bait) }))).toBe("approve policy.risk.side_effect");
  });
});

describe("latch", () => {
  const freely = policy({ risk: { read_only: "allow", draft_only: "allow", side_effect: "allow" } });

  verifies(
    "X-5",
    "a context that saw private and untrusted data has no egress and no effect without an approval",
    () => {
      expect(verdict(write({ policy: freely, labels: LATCHED }))).toBe("approve policy.latch");
      expect(verdict(question({ risk: "draft_only", labels: LATCHED }))).toBe("approve policy.latch");
      expect(verdict(fetching({ labels: LATCHED }))).toBe("approve policy.latch");
      expect(verdict(question({ labels: LATCHED }))).toBe("allow policy.risk.read_only");
    },
  );

  verifies("X-5", "the latch is set by untrusted integrity with anything but public data, and by nothing less", () => {
    for (const integrity of INTEGRITIES) {
      for (const confidentiality of CONFIDENTIALITIES) {
        const isSet = integrity === "untrusted" && confidentiality !== "public";
        expect(verdict(write({ policy: freely, labels: { integrity, confidentiality } }))).toBe(
          isSet ? "approve policy.latch" : "allow policy.risk.side_effect",
        );
      }
    }
  });

  verifies("X-5", "no exception and no waiver opens the latch", () => {
    const excepted = policy({ exceptions: [exception("allow")] });
    expect(verdict(write({ labels: LATCHED, policy: excepted }))).toBe("approve policy.latch");
    expect(verdict(write({ labels: LATCHED, approvedTools: ["fs.write_text"] }))).toBe("approve policy.latch");
    expect(verdict(write({ labels: LATCHED, honeypot: true, policy: policy(bait) }))).toBe("approve policy.latch");
  });

  test("a waiver is void under the latch even for a call that reads only", () => {
    const asking = policy({ risk: { read_only: "approve", draft_only: "allow", side_effect: "approve" } });
    const approvedTools = ["fs.read_text"];
    expect(verdict(question({ policy: asking, approvedTools }))).toBe("allow policy.approved-tool");
    expect(verdict(question({ policy: asking, approvedTools, labels: LATCHED }))).toBe("approve policy.latch");
    expect(verdict(question({ policy: asking, labels: LATCHED }))).toBe("approve policy.risk.read_only");
  });

  test("the latch softens no denial and leaves the name of a rule that asks anyway", () => {
    expect(verdict(fetching({ labels: LATCHED, capabilities: [] }))).toBe("deny policy.capability");
    expect(verdict(write({ labels: LATCHED, policy: policy({ exceptions: [exception("deny")] }) }))).toBe(
      "deny policy.exception.0",
    );
    expect(verdict(write({ labels: LATCHED }))).toBe("approve policy.risk.side_effect");
  });
});

describe("reasons", () => {
  const rules = (decision: "allow" | "approve" | "deny") =>
    policy({ risk: { read_only: decision, draft_only: decision, side_effect: decision } });
  const rows: [PolicyQuestion, string][] = [
    [question({ allowedTools: [] }), "allowed_tools"],
    [write({ policy: policy({ sideEffects: "disabled" }) }), "tools.policy.sideEffects"],
    [question({ policy: policy({ allow: [] }) }), "tools.policy.allow"],
    [question({ policy: policy({ channels: {} }) }), "tools.policy.channels"],
    [fetching({ capabilities: [] }), "grant net:<domain>"],
    [write({ policy: rules("allow") }), "allowed by tools.policy.risk"],
    [write({ policy: rules("approve") }), "approve or deny this plan"],
    [write({ policy: rules("deny") }), "denied: see tools.policy.risk"],
    [write({ policy: policy({ exceptions: [exception("allow")] }) }), "tools.policy.exceptions allows"],
    [write({ policy: policy({ exceptions: [exception("approve")] }) }), "tools.policy.exceptions asks"],
    [write({ policy: policy({ exceptions: [exception("deny")] }) }), "tools.policy.exceptions denies"],
    [question({ asksAlways: true }), "whatever the rules allow"],
    [write({ approvedTools: ["fs.write_text"] }), "operator approved this tool"],
    [write({ honeypot: true }), "honeypot"],
    [write({ labels: LATCHED, policy: rules("allow") }), "private and untrusted"],
  ];

  test.each(rows)("row %#: the reason is one sentence that names what to look at", (asked, fragment) => {
    const { reason } = decideCall(asked);
    expect(reason).toContain(fragment);
    expect(reason).toMatch(/^[A-Z][^\n!?]+\.$/);
  });

  test("each rule has a sentence of its own", () => {
    expect(new Set(rows.map(([asked]) => decideCall(asked).reason)).size).toBe(rows.length);
  });

  test("nothing of the call stands in a reason", () => {
    const canary = "canary.tool";
    const asked = question({ tool: canary, egress: ["canary.test"] });
    const open = policy({ allow: ["*"] });
    const reasons = [
      decideCall(asked),
      decideCall({ ...asked, allowedTools: [canary] }),
      decideCall({ ...asked, allowedTools: [canary], policy: open }),
      decideCall({ ...asked, allowedTools: [canary], policy: open, capabilities: ["net"] }),
      decideCall({ ...asked, allowedTools: [canary], policy: open, capabilities: ["net"], labels: LATCHED }),
    ].map(({ reason }) => reason);
    expect(new Set(reasons).size).toBe(5);
    expect(reasons.join()).not.toContain("canary");
  });
});
