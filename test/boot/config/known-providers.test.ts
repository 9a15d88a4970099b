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

  verifies(["P-1.3", "P-1.5"], "moonshot cannot be called local: it would need no key then, and be clamped", () => {
    const text = JSON.stringify({ models: { providers: { moonshot: { local: true, models: MODELS } } } });
    expect(readConfig(text, "f")).toMatchObject({ ok: false, problems: [{ path: "models.providers.moonshot.local" }] });
  });
});

test.each([
  ["https://api.moonshot.cn/v1", false],
  ["https://api.moonshot.ai/v1", false],
  ["http://localhost:11434/v1", false],
  ["https://api.openai.com/v1", true],
  ["http://127.0.0.1:8080/v1", true],
  [undefined, true],
])("can the service at %s be made to call a tool: %s", (baseUrl, holds) => {
  expect(holdsToolChoice(baseUrl)).toBe(holds);
});
