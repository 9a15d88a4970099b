import { describe, expect, test } from "vitest";
import { holdsToolChoice } from "../../../src/boot/config/known-providers.ts";
import { readConfig } from "../../../src/boot/config/read-config.ts";
import { verifies } from "../../requirements.ts";
import { readOk } from "./example-config.ts";

const MODELS = { m: { contextWindow: 32_768, maxOutputTokens: 1024 } };
const providerOf = (id: string, also: object = {}) =>
  readOk(JSON.stringify({ models: { providers: { [id]: { models: MODELS, ...also } } } })).models.providers[id];

describe("a provider that is known by its id", () => {
  test.each([
    ["moonshot", "openai_compatible", "https://api.moonshot.cn/v1", false],
    ["openai", "openai_compatible", "https://api.openai.com/v1", false],
    ["openrouter", "openai_compatible", "https://openrouter.ai/api/v1", false],
    ["ollama", "openai_compatible", "http://127.0.0.1:11434/v1", true],
    ["anthropic", "anthropic", "https://api.anthropic.com", false],
  ])("%s needs nothing but its models", (id, kind, baseUrl, local) => {
    expect(providerOf(id)).toMatchObject({ kind, baseUrl, local, enabled: true, startupValidation: "warn" });
  });

  test("what the config says holds instead", () => {
    const also = { kind: "openai_compatible", baseUrl: "http://10.0.0.5/v1", local: true };
    expect(providerOf("anthropic", also)).toMatchObject(also);
    expect(providerOf("ollama", { local: false })).toMatchObject({ local: false });
  });

  test("whoever speaks Anthropic's protocol and says no address means Anthropic", () => {
    expect(providerOf("claude", { kind: "anthropic" })).toMatchObject({ baseUrl: "https://api.anthropic.com" });
  });

  test.each(["lab", "valueof"])("%s is not known, and must say where it is", (id) => {
    const text = JSON.stringify({ models: { providers: { [id]: { models: MODELS } } } });
    expect(readConfig(text, "f")).toMatchObject({
      ok: false,
      problems: [{ path: `models.providers.${id}.baseUrl`, message: expect.stringContaining("is missing") }],
    });
    expect(providerOf(id, { baseUrl: "http://127.0.0.1:1/v1" })).toMatchObject({
      kind: "openai_compatible",
      local: false,
    });
  });

  verifies(
    ["P-1.5/clamp", "P-1.3"],
    "moonshot cannot be called local: it would need no key then, and be clamped",
    () => {
      const text = JSON.stringify({ models: { providers: { moonshot: { local: true, models: MODELS } } } });
      expect(readConfig(text, "f")).toMatchObject({
        ok: false,
        problems: [{ path: "models.providers.moonshot.local" }],
      });
    },
  );
});

describe("can a service be made to call a tool", () => {
  const holds = (providerId: string, baseUrl?: string, ofProvider?: boolean, ofModel?: boolean) =>
    holdsToolChoice({
      providerId,
      provider: { baseUrl, supportsToolChoice: ofProvider },
      model: { supportsToolChoice: ofModel },
    });

  test.each([
    ["lab", "https://api.moonshot.cn/v1", false],
    ["lab", "https://api.moonshot.ai/v1", false],
    ["lab", "http://localhost:11434/v1", false],
    ["lab", "http://10.0.0.5:11434/v1", false],
    ["moonshot", "https://proxy.example/v1", false],
    ["ollama", "http://10.0.0.5:8080/v1", false],
    ["openai", "https://api.openai.com/v1", true],
    ["lab", "http://127.0.0.1:8080/v1", true],
    ["anthropic", undefined, true],
  ])("%s at %s: %s", (id, baseUrl, expected) => {
    expect(holds(id, baseUrl)).toBe(expected);
  });

  test("what the config says holds instead: of the model before its provider", () => {
    expect(holds("ollama", undefined, true)).toBe(true);
    expect(holds("lab", undefined, false)).toBe(false);
    expect(holds("lab", undefined, false, true)).toBe(true);
    expect(holds("moonshot", undefined, undefined, true)).toBe(true);
  });
});
