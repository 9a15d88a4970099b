import fc from "fast-check";
import JSON5 from "json5";
import { Compile } from "typebox/compile";
import { describe, expect, test } from "vitest";
import { readConfig } from "../../../src/boot/config/read-config.ts";
import { toToolPolicy } from "../../../src/boot/config/to-tool-policy.ts";
import { DEFAULT_POLICY } from "../../../src/kernel/contract/default-terms.ts";
import { ToolPolicySchema } from "../../../src/kernel/policy/tool-policy.ts";
import { readOk } from "./example-config.ts";

const validator = Compile(ToolPolicySchema);

describe("tools.policy as contracts seal it", () => {
  test("an empty config has the kernel's own defaults, names each tool, and lets others look at files", () => {
    const { channels, allow, exceptions, ...others } = toToolPolicy(readOk("{}"));
    const { channels: kernelChannels, allow: _, exceptions: __, ...kernelOthers } = DEFAULT_POLICY;
    expect(others).toEqual(kernelOthers);
    expect(exceptions).toEqual([{ tool: "memory.remember", channel: "cli_local", decision: "allow" }]);
    expect(allow).not.toContainEqual(expect.stringContaining("*"));
    expect(channels).toEqual({
      ...kernelChannels,
      external_message: ["fs.list_dir", "fs.read_text", "fs.search", "fs.stat"],
      external_email: ["fs.read_text"],
    });
  });

  test("domains come from tools.http: absent is no allowlist, empty is none at all", () => {
    expect(toToolPolicy(readOk("{tools: {http: {}}}")).allowDomains).toBeNull();
    expect(toToolPolicy(readOk("{tools: {http: {allowDomains: []}}}")).allowDomains).toEqual([]);
    expect(toToolPolicy(readOk("{tools: {http: {allowDomains: ['a.example']}}}")).allowDomains).toEqual(["a.example"]);
  });

  test("a channel class that is not named has no tools", () => {
    const { channels } = toToolPolicy(readOk("{tools: {policy: {channels: {external_email: ['fs.read_text']}}}}"));
    expect(channels).toEqual({ external_email: ["fs.read_text"] });
  });

  test("whatever the config takes, the kernel's schema takes", () => {
    const pattern = fc.oneof(
      fc.constantFrom("*", "fs.*", "fs.read_text", "*.*", ".*", "a.**"),
      fc.string({ maxLength: 6 }),
    );
    const patterns = fc.array(pattern, { maxLength: 3 });
    const verdict = fc.constantFrom("allow", "approve", "deny", "maybe");
    const policy = fc.record(
      {
        sideEffects: fc.constantFrom("enabled", "disabled"),
        allow: patterns,
        channels: fc.dictionary(fc.constantFrom("cli_local", "external_message"), patterns),
        risk: fc.dictionary(fc.constantFrom("read_only", "draft_only", "side_effect"), verdict),
        exceptions: fc.array(
          fc.record(
            { tool: pattern, channel: fc.constant("cli_local"), decision: verdict },
            { requiredKeys: ["tool", "decision"] },
          ),
          { maxLength: 2 },
        ),
        honeypot: fc.record({ perHour: fc.integer({ min: -1, max: 5 }) }, { requiredKeys: [] }),
      },
      { requiredKeys: [] },
    );
    let taken = 0;
    fc.assert(
      fc.property(policy, (value) => {
        const reading = readConfig(JSON5.stringify({ tools: { policy: value } }), "f");
        if (!reading.ok) return;
        taken += 1;
        expect(validator.Check(toToolPolicy(reading.config))).toBe(true);
      }),
    );
    expect(taken).toBeGreaterThan(10);
  });
});
