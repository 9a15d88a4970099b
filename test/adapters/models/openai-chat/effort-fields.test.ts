import { expect, test } from "vitest";
import { configureModel } from "../../../../src/adapters/models/configure-model.ts";
import { effortFields, isThinker } from "../../../../src/adapters/models/openai-chat/effort-fields.ts";
import type { ThinkingLevel } from "../../../../src/kernel/vocabulary/thinking-level.ts";
import { manualClock } from "../manual-clock.ts";

const ALONE = { isTranslated: false, hasTools: false };
const TRANSLATED = { ...ALONE, isTranslated: true };

test.each<[string, boolean, string]>([
  ["o3", true, "low"],
  ["o4-mini-2025-04-16", true, "low"],
  ["gpt-5", true, "minimal"],
  ["gpt-5-nano-2025-08-07", true, "minimal"],
  ["gpt-5.1", true, "none"],
  ["gpt-5.4-mini", true, "none"],
  ["gpt-5.6-terra", true, "none"],
  ["openai/gpt-oss-20b", true, "low"],
  ["gpt-oss:20b", true, "low"],
  ["o1-mini", false, "none"],
  ["gpt-5-chat-latest", false, "none"],
  ["gpt-5-pro", false, "none"],
  ["gpt-4o", false, "none"],
  ["llama3", false, "none"],
])("%s: known to think %j, and told not to by %j", (model, isKnown, least) => {
  expect(isThinker(model)).toBe(isKnown);
  expect(effortFields(model, "off", ALONE)).toEqual({ reasoning_effort: least });
  expect(effortFields(model, "high", ALONE)).toEqual({ reasoning_effort: "high" });
  expect(effortFields(model, undefined, ALONE)).toEqual({});
  expect(effortFields(model, "off", TRANSLATED)).toEqual({ reasoning_effort: "none" });
});

test.each<[string, object]>([
  ["gpt-5.2", {}],
  ["gpt-5.4-mini-2026-03-05", {}],
  ["openai/gpt-5.5", {}],
  ["gpt-5.6", { reasoning_effort: "none" }],
  ["gpt-5.6-luna", { reasoning_effort: "none" }],
  ["gpt-5.10", { reasoning_effort: "none" }],
])("%s beside tools is told %j, whatever was asked for", (model, told) => {
  for (const level of [undefined, "off", "high"] as const) {
    expect(effortFields(model, level, { ...ALONE, hasTools: true })).toEqual(told);
    const asked = level === undefined ? {} : { reasoning_effort: level === "off" ? "none" : level };
    expect(effortFields(model, level, ALONE)).toEqual(asked);
    expect(effortFields(model, level, { isTranslated: true, hasTools: true })).toEqual(asked);
  }
});

test.each(["gpt-5", "gpt-5.1", "o3", "gpt-5.2-chat-latest"])("%s beside tools is told what was asked for", (model) => {
  expect(effortFields(model, "high", { ...ALONE, hasTools: true })).toEqual({ reasoning_effort: "high" });
  expect(effortFields(model, undefined, { ...ALONE, hasTools: true })).toEqual({});
});

test.each<[ThinkingLevel, string]>([
  ["off", "disabled"],
  ["low", "enabled"],
  ["high", "enabled"],
])("Kimi thinks or does not: %s", (level, type) => {
  expect(effortFields("kimi-k2.6", level, ALONE)).toEqual({ thinking: { type } });
  expect(effortFields("moonshotai/kimi-k2.6", level, TRANSLATED)).toHaveProperty("reasoning_effort");
});

test.each<[string, string, string, ThinkingLevel | undefined, object | undefined]>([
  ["openai_compatible", "https://api.openai.com/v1", "gpt-5", undefined, { level: null, isByItself: true }],
  ["openai_compatible", "https://api.openai.com/v1", "gpt-5", "low", { level: "low", isByItself: true }],
  ["openai_compatible", "https://api.openai.com/v1", "gpt-4o", undefined, undefined],
  ["openai_compatible", "http://127.0.0.1:11434/v1", "qwen3:8b", "high", { level: "high", isByItself: false }],
  ["openai_compatible", "https://openrouter.ai/api/v1", "some/model", undefined, { level: null, isByItself: false }],
  ["openai_compatible", "https://openrouter.ai/api/v1", "openai/o3", undefined, { level: null, isByItself: true }],
  ["anthropic", "https://api.anthropic.com", "claude-opus-5", undefined, { level: null, isByItself: true }],
  ["anthropic", "https://api.anthropic.com", "claude-sonnet-4-5", undefined, { level: null, isByItself: false }],
  ["anthropic", "https://api.anthropic.com", "claude-3-5-haiku-latest", undefined, undefined],
  ["builtin", "", "demo", undefined, undefined],
])("a model of kind %s at %s named %s, configured with %j", (kind, baseUrl, model, thinkingLevel, thinking) => {
  const configured = configureModel({
    ...{ ref: `p:${model}`, kind: kind as "builtin", baseUrl, model, profile: "native-tools", thinkingLevel },
    ...{ contextWindow: 8_192, maxOutputTokens: 1_024, price: null, isFree: true, apiKey: null, clock: manualClock() },
  });
  expect(configured.thinking).toEqual(thinking);
});
