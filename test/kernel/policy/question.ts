/** A policy question that is allowed as it stands, for a test to change one thing in; and any question at all. */
import fc from "fast-check";
import type { PolicyQuestion } from "../../../src/kernel/policy/decide-call.ts";
import type { ToolPolicy } from "../../../src/kernel/policy/tool-policy.ts";
import { CONFIDENTIALITIES, INTEGRITIES, type Labels } from "../../../src/kernel/vocabulary/labels.ts";
import { CHANNEL_CLASSES, RISK_CLASSES } from "../../../src/kernel/vocabulary/risk.ts";

export const LATCHED: Labels = { integrity: "untrusted", confidentiality: "private" };

export function policy(changes: Partial<ToolPolicy> = {}): ToolPolicy {
  return {
    sideEffects: "enabled",
    allow: ["fs.*", "http.get"],
    channels: { cli_local: ["*"], external_email: ["fs.read_text"] },
    risk: { read_only: "allow", draft_only: "allow", side_effect: "approve" },
    exceptions: [],
    honeypot: { templates: [], recipientTypes: [], perHour: 0 },
    allowDomains: null,
    ...changes,
  };
}

export function question(changes: Partial<PolicyQuestion> = {}): PolicyQuestion {
  return {
    tool: "fs.read_text",
    risk: "read_only",
    egress: [],
    honeypot: false,
    asksAlways: false,
    channelClass: "cli_local",
    policy: policy(),
    capabilities: [],
    labels: { integrity: "user", confidentiality: "private" },
    approvedTools: [],
    allowedTools: ["fs.read_text", "fs.write_text", "http.get", "mail.send"],
    ...changes,
  };
}

/** A write, which the policy above wants approved. */
export function write(changes: Partial<PolicyQuestion> = {}): PolicyQuestion {
  return question({ tool: "fs.write_text", risk: "side_effect", ...changes });
}

/** A fetch from a.test, which needs a capability. */
export function fetching(changes: Partial<PolicyQuestion> = {}): PolicyQuestion {
  return question({ tool: "http.get", egress: ["a.test"], capabilities: ["net:a.test"], ...changes });
}

// Few values, and mostly open lists: otherwise nearly every question falls at the first gate and nothing is tried behind it.
const anyPatterns = fc.oneof(
  { weight: 3, arbitrary: fc.constant<string[]>(["*"]) },
  fc.subarray<string>(["*", "fs.*", "fs.write_text", "http.get"]),
);
const anyHosts = fc.subarray<string>(["a.test", "b.test", "x.a.test"]);
const anyDecision = fc.constantFrom("allow" as const, "approve" as const, "deny" as const);

export const anyPolicy: fc.Arbitrary<ToolPolicy> = fc.record({
  sideEffects: fc.constantFrom("enabled", "enabled", "disabled"),
  allow: anyPatterns,
  channels: fc.record(
    { cli_local: anyPatterns, external_message: anyPatterns, external_email: anyPatterns },
    { requiredKeys: ["cli_local"] },
  ),
  risk: fc.record({ read_only: anyDecision, draft_only: anyDecision, side_effect: anyDecision }),
  exceptions: fc.array(
    fc.record(
      {
        tool: fc.constantFrom("*", "fs.*", "fs.write_text", "http.get"),
        channel: fc.constantFrom(...CHANNEL_CLASSES),
        decision: anyDecision,
      },
      { requiredKeys: ["tool", "decision"] },
    ),
    { maxLength: 3 },
  ),
  honeypot: fc.record({
    templates: fc.subarray(["welcome", "bait"]),
    recipientTypes: fc.subarray(["trap"]),
    perHour: fc.constantFrom(0, 5),
  }),
  allowDomains: fc.oneof(fc.constant(null), anyHosts),
});

export const anyCapabilities = fc.subarray(["net", "net:a.test", "net:b.test", "net:*", "NET", "shell"]);

export const anyQuestion: fc.Arbitrary<PolicyQuestion> = fc.record({
  tool: fc.constantFrom("fs.read_text", "fs.write_text", "http.get"),
  risk: fc.constantFrom(...RISK_CLASSES),
  egress: fc.oneof(fc.constant<string[]>([]), anyHosts),
  honeypot: fc.boolean(),
  asksAlways: fc.boolean(),
  channelClass: fc.constantFrom(...CHANNEL_CLASSES),
  policy: anyPolicy,
  capabilities: anyCapabilities,
  labels: fc.record({
    integrity: fc.constantFrom(...INTEGRITIES),
    confidentiality: fc.constantFrom(...CONFIDENTIALITIES),
  }),
  approvedTools: fc.subarray(["fs.write_text", "http.get"]),
  allowedTools: fc.oneof(
    { weight: 3, arbitrary: fc.constant(["fs.read_text", "fs.write_text", "http.get"]) },
    fc.subarray(["fs.read_text", "fs.write_text", "http.get"]),
  ),
});
