/** `tools.policy` as it is written in the config, and an edit of it. */
import type { PolicyVerdict, ToolPolicy } from "../../../../src/kernel/policy/tool-policy.ts";
import type { ChannelClass, RiskClass } from "../../../../src/kernel/vocabulary/risk.ts";

export type WrittenPolicy = Omit<ToolPolicy, "allowDomains">;
export type Exception = WrittenPolicy["exceptions"][number];
export type Verdict = PolicyVerdict;

export const VERDICTS: readonly (readonly [Verdict, string])[] = [
  ["allow", "runs without asking"],
  ["approve", "asks you first"],
  ["deny", "is denied"],
];
export const CHANNELS: readonly (readonly [ChannelClass, string])[] = [
  ["cli_local", "This machine"],
  ["external_message", "Messages from outside"],
  ["external_email", "Mail from outside"],
];
export const RISKS: readonly (readonly [RiskClass, string])[] = [
  ["read_only", "Reads"],
  ["draft_only", "Drafts"],
  ["side_effect", "Changes something"],
];

export function channelWords(channel: ChannelClass): string {
  return CHANNELS.find(([each]) => each === channel)?.[1] ?? channel;
}

export function riskWords(risk: RiskClass): string {
  return RISKS.find(([each]) => each === risk)?.[1] ?? risk;
}

/** The policy within a config document. */
export function policyIn(config: object | undefined): WrittenPolicy | undefined {
  return (config as { readonly tools?: { readonly policy?: WrittenPolicy } } | undefined)?.tools?.policy;
}

/** Only what differs, so that a change elsewhere in the policy stays. */
export function patchOf(before: WrittenPolicy, after: WrittenPolicy): Readonly<Record<string, unknown>> {
  const keys = Object.keys(after) as (keyof WrittenPolicy)[];
  const changed = keys.filter((key) => !isSame(before[key], after[key]));
  return { tools: { policy: Object.fromEntries(changed.map((key) => [key, after[key]])) } };
}

export function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** The exception that a link proposes; null if it is none. */
export function exceptionIn(search: string): Exception | null {
  try {
    const given: unknown = JSON.parse(new URLSearchParams(search).get("exception") ?? "null");
    if (typeof given !== "object" || given === null) return null;
    const { tool, channel, decision } = given as Readonly<Record<string, unknown>>;
    const isVerdict = VERDICTS.some(([verdict]) => verdict === decision);
    const isChannel = channel === undefined || CHANNELS.some(([each]) => each === channel);
    if (typeof tool !== "string" || !/^(\*|[^*\s]{1,120}(\.\*)?)$/.test(tool) || !isVerdict || !isChannel) return null;
    return {
      tool,
      decision: decision as Verdict,
      ...(channel === undefined ? {} : { channel: channel as ChannelClass }),
    };
  } catch {
    return null;
  }
}
