import { expect, test } from "vitest";
import { configureModel } from "../../../../src/adapters/models/configure-model.ts";
import { effortFields, isThinker } from "../../../../src/adapters/models/openai-chat/effort-fields.ts";
import type { ThinkingLevel } from "../../../../src/kernel/vocabulary/thinking-level.ts";
import { manualClock } from "../manual-clock.ts";

test.each<[string, boolean, string]>([
  ["o3", true, "low"],
  ["o4-mini-2025-04-16", true, "low"],
  ["gpt-5", true, "minimal"],
  ["gpt-5-nano-2025-08-07", true, "minimal"],
  ["gpt-5.1", true, "none"],
  ["gpt-5.4-mini", true, "none"],
  ["openai/gpt-oss-20b", true, "low"],
  ["gpt-oss:20b", true, "low"],
  ["o1-mini", false, "none"],
  ["gpt-5-chat-latest", false, "none"],
  ["gpt-5-pro", false, "none"],
  ["gpt-4o", false, "none"],
  ["llama3", false, "none"],
])("%s: known to think %j, and told not to by %j", (model, isKnown, least) => {
  expect(isThinker(model)).toBe(isKnown);
  expect(effortFields(model, "off", false)).toEqual({ reasoning_effort: least });
  expect(effortFields(model, "high", false)).toEqual({ reasoning_effort: "high" });
  expect(effortFields(model, "off", true)).toEqual({ reasoning_effort: "none" });
});

test.each<[ThinkingLevel, string]>([
  ["off", "disabled"],
  ["low", "enabled"],
  ["high", "enabled"],
])("Kimi thinks or does not: %s", (level, type) => {
  expect(effortFields("kimi-k2.6", level, false)).toEqual({ thinking: { type } });
  expect(effortFields("moonshotai/kimi-k2.6", level, true)).toHaveProperty("reasoning_effort");
});

test.each<[string, string, string, ThinkingLevel | undefined, object | undefined]>([
  ["openai_compatible", "https://api.openai.com/v1", "gpt-5", undefined, { level: null }],
  ["openai_compatible", "https://api.openai.com/v1", "gpt-5", "low", { level: "low" }],
  ["openai_compatible", "https://api.openai.com/v1", "gpt-4o", undefined, undefined],
  ["openai_compatible", "http://127.0.0.1:11434/v1", "qwen3:8b", "high", { level: "high" }],
  ["openai_compatible", "https://openrouter.ai/api/v1", "some/model", undefined, { level: null }],
  ["anthropic", "https://api.anthropic.com", "claude-opus-5", undefined, { level: null }],
  ["anthropic", "https://api.anthropic.com", "claude-3-5-haiku-latest", undefined, undefined],
  ["builtin", "", "demo", undefined, undefined],
])("a model of kind %s at %s named %s, configured with %j", (kind, baseUrl, model, thinkingLevel, thinking) => {
  const configured = configureModel({
    ...{ ref: `p:${model}`, kind: kind as "builtin", baseUrl, model, profile: "native-tools", thinkingLevel },
    ...{ contextWindow: 8_192, maxOutputTokens: 1_024, price: null, isFree: true, apiKey: null, clock: manualClock() },
  });
  expect(configured.thinking).toEqual(thinking);
});
