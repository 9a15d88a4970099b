import { describe, expect, test } from "vitest";
import {
  MINIMUM_CONTEXT_TOKENS,
  resolveConfiguredModelRef,
} from "../../../src/boot/config/resolve-configured-model-ref.ts";
import { verifies } from "../../requirements.ts";
import { MOONSHOT_CONFIG, readOk } from "./example-config.ts";

const MODEL = "{contextWindow: 1000, maxOutputTokens: 10}";
const provider = (...models: readonly string[]): string =>
  `{baseUrl: "http://127.0.0.1:1/v1", models: {${models.map((name) => `"${name}": ${MODEL}`).join(", ")}}}`;

describe("a model reference", () => {
  verifies(
    ["P-1.4/resolve", "P-1.4/forms"],
    "resolves into provider, model and what the model can do, from either form",
    () => {
      const config = readOk(MOONSHOT_CONFIG);
      const fromText = resolveConfiguredModelRef(config, "moonshot:kimi-k1-32k");
      expect(fromText).toMatchObject({
        ok: true,
        resolved: {
          ref: "moonshot:kimi-k1-32k",
          providerId: "moonshot",
          modelId: "kimi-k1-32k",
          model: { contextWindow: 32768, maxOutputTokens: 4096, supportsTools: true },
        },
      });
      expect(resolveConfiguredModelRef(config, { provider: "moonshot", model: "kimi-k1-32k" })).toEqual(fromText);
    },
  );

  verifies("P-1.4/forms", "stands in the config in either form", () => {
    const inParts = { provider: "lab", model: "llama3:8b" };
    for (const named of ["lab:llama3:8b", inParts]) {
      const models = {
        "llama3:8b": { contextWindow: 1000, maxOutputTokens: 10 },
        other: { contextWindow: 9000, maxOutputTokens: 10 },
      };
      const text = JSON.stringify({
        models: { default: named, providers: { lab: { baseUrl: "http://127.0.0.1:1/v1", models } } },
        agents: { main: { model: named } },
      });
      const config = readOk(text);
      expect(config.agents["main"]?.model).toEqual(named);
      expect(resolveConfiguredModelRef(config, null)).toMatchObject({ resolved: { ref: "lab:llama3:8b" } });
    }
  });

  verifies(["P-1.1"], "moonshot is openai_compatible at its own address, without being told so", () => {
    const config = readOk(`{models: {providers: {moonshot: {models: {k: ${MODEL}}}}}}`);
    expect(resolveConfiguredModelRef(config, "moonshot:k")).toMatchObject({
      resolved: { provider: { kind: "openai_compatible", baseUrl: "https://api.moonshot.cn/v1" } },
    });
  });

  verifies(
    ["P-1.5/window", "P-1.5/clamp"],
    "each model has its own window; only a local one is raised to the least that is of use",
    () => {
      const windows = (also: string): readonly (number | null)[] =>
        [1000, MINIMUM_CONTEXT_TOKENS, 50_000].map((contextWindow) => {
          const models = `{m: {contextWindow: ${contextWindow}, maxOutputTokens: 9}}`;
          const verdict = resolveConfiguredModelRef(
            readOk(`{models: {providers: {${also}, models: ${models}}}}}`),
            null,
          );
          return verdict.ok ? verdict.resolved.model.contextWindow : null;
        });
      const asDeclared = [1000, MINIMUM_CONTEXT_TOKENS, 50_000];
      const raised = [MINIMUM_CONTEXT_TOKENS, MINIMUM_CONTEXT_TOKENS, 50_000];
      expect(windows("moonshot: {enabled: true")).toEqual(asDeclared);
      expect(windows("lab: {baseUrl: 'http://127.0.0.1:1'")).toEqual(asDeclared);
      expect(windows("lab: {baseUrl: 'http://127.0.0.1:1', local: true")).toEqual(raised);
      expect(windows("ollama: {enabled: true")).toEqual(raised);
      expect(windows("g: {kind: 'llama_cpp', modelPath: '/a'")).toEqual(raised);
    },
  );

  test("splits at the first colon", () => {
    const config = readOk(`{models: {providers: {local: ${provider("llama3:8b")}}}}`);
    expect(resolveConfiguredModelRef(config, "local:llama3:8b")).toMatchObject({ resolved: { modelId: "llama3:8b" } });
  });

  test("a provider's model file is its models', unless they have one", () => {
    const config = readOk(
      "{models: {providers: {g: {kind: 'llama_cpp', modelPath: '/a', models: {" +
        "m: {contextWindow: 1000, maxOutputTokens: 9}, n: {contextWindow: 1000, maxOutputTokens: 9, modelPath: '/b'}}}}}}",
    );
    expect(resolveConfiguredModelRef(config, "g:m")).toMatchObject({ resolved: { model: { modelPath: "/a" } } });
    expect(resolveConfiguredModelRef(config, "g:n")).toMatchObject({ resolved: { model: { modelPath: "/b" } } });
  });

  test.each([
    ["{}", "builtin:demo"],
    [`{models: {default: "builtin:demo", providers: {p: ${provider("m")}}}}`, "builtin:demo"],
    [`{models: {default: "p:b", providers: {p: ${provider("a", "b")}}}}`, "p:b"],
    [`{models: {providers: {p: ${provider("m")}}}}`, "p:m"],
    [MOONSHOT_CONFIG, "moonshot:kimi-k1-128k"],
    [`{models: {providers: {p: ${provider("m")}, q: {baseUrl: "https://x", enabled: false}}}}`, "p:m"],
  ])("none at all: %s means %s", (text, ref) => {
    expect(resolveConfiguredModelRef(readOk(text), null)).toMatchObject({ resolved: { ref } });
  });

  verifies("P-0/downgrade", "nothing is ever taken in the place of what is missing", () => {
    const refusals = [
      [`{models: {providers: {p: ${provider("a", "b")}}}}`, null, "model.unset"],
      [`{models: {providers: {p: ${provider("m")}, q: ${provider("m")}}}}`, null, "model.unset"],
      ["{models: {providers: {p: {baseUrl: 'https://x', enabled: false}}}}", null, "model.unset"],
      [`{models: {providers: {p: ${provider("m")}}}}`, "p:n", "model.unknown"],
      [`{models: {providers: {p: ${provider("m")}}}}`, "q:m", "model.unknown"],
      [`{models: {providers: {p: ${provider("m")}}}}`, "m", "model.unknown"],
      [`{models: {providers: {p: ${provider("m")}}}}`, "p:__proto__", "model.unknown"],
      [`{models: {providers: {p: ${provider("m")}}}}`, "constructor:m", "model.unknown"],
      ["{models: {providers: {p: {baseUrl: 'https://x', enabled: false}}}}", "p:m", "model.disabled"],
      ["{models: {providers: {builtin: {kind: 'builtin', enabled: false}}}}", null, "model.disabled"],
    ] as const;
    for (const [text, ref, code] of refusals) {
      expect(resolveConfiguredModelRef(readOk(text), ref), `${ref} in ${text}`).toMatchObject({ ok: false, code });
    }
  });
});
