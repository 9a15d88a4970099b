import { Compile } from "typebox/compile";
import { describe, expect, test } from "vitest";
import { ToolPolicySchema } from "../../../src/kernel/policy/tool-policy.ts";
import { policy } from "./question.ts";

const schema = Compile(ToolPolicySchema);

describe("ToolPolicySchema", () => {
  test("takes the policy of the documentation", () => {
    expect(schema.Check(policy())).toBe(true);
    expect(schema.Check(policy({ channels: {}, allow: [], allowDomains: [] }))).toBe(true);
    expect(schema.Check(policy({ sideEffects: "disabled" }))).toBe(true);
    expect(
      schema.Check(policy({ exceptions: [{ tool: "fs.write_text", channel: "cli_local", decision: "allow" }] })),
    ).toBe(true);
  });

  test.each([
    ["an unknown key", { ...policy(), approval: "off" }],
    ["an unknown channel class", { ...policy(), channels: { telegram: ["*"] } }],
    ["an unknown risk class", { ...policy(), risk: { ...policy().risk, harmless: "allow" } }],
    ["a missing risk class", { ...policy(), risk: { read_only: "allow", draft_only: "allow" } }],
    ["an unknown decision", { ...policy(), risk: { ...policy().risk, side_effect: "allow-always" } }],
    ["a switch that is neither on nor off", { ...policy(), sideEffects: "off" }],
    ["an unknown key of an exception", { ...policy(), exceptions: [{ tool: "*", decision: "allow", until: 1 }] }],
    [
      "an exception for an unknown channel",
      { ...policy(), exceptions: [{ tool: "*", decision: "deny", channel: "web" }] },
    ],
    ["an exception for no tool", { ...policy(), exceptions: [{ decision: "allow" }] }],
    ["an unknown key of the honeypot", { ...policy(), honeypot: { ...policy().honeypot, links: true } }],
    ["a negative rate", { ...policy(), honeypot: { ...policy().honeypot, perHour: -1 } }],
    ["a broken rate", { ...policy(), honeypot: { ...policy().honeypot, perHour: 0.5 } }],
    ["a missing domain list", { ...policy(), allowDomains: undefined }],
  ])("refuses %s", (_what, candidate) => {
    expect(schema.Check(candidate)).toBe(false);
  });

  test.each(["*", "fs.*", "fs.read_text", "mcp.server.*", "mcp.some-server/tool", "x", "x".repeat(128)])(
    "takes the pattern %j in every place",
    (pattern) => {
      expect(schema.Check(policy({ allow: [pattern] }))).toBe(true);
      expect(schema.Check(policy({ channels: { external_message: [pattern] } }))).toBe(true);
      expect(schema.Check(policy({ exceptions: [{ tool: pattern, decision: "deny" }] }))).toBe(true);
    },
  );

  test.each([
    "",
    "fs*",
    ".*",
    "*.read",
    "fs.*_text",
    "fs.*.*",
    "**",
    "* ",
    "fs. *",
    " fs.read",
    "fs.read\n",
    "x".repeat(129),
  ])("refuses the pattern %j, which could match no tool", (pattern) => {
    expect(schema.Check(policy({ allow: [pattern] }))).toBe(false);
    expect(schema.Check(policy({ channels: { external_message: [pattern] } }))).toBe(false);
    expect(schema.Check(policy({ exceptions: [{ tool: pattern, decision: "deny" }] }))).toBe(false);
  });
});
