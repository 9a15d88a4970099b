import { describe, expect, test } from "vitest";
import { configureModel, ModelConfigError, type ModelSettings } from "../../../src/adapters/models/configure-model.ts";
import { adapterFor } from "../../../src/kernel/protocol/adapter-for.ts";
import { manualClock } from "./manual-clock.ts";

const settings: ModelSettings = {
  ref: "local:qwen:7b",
  kind: "openai_compatible",
  baseUrl: "http://127.0.0.1:1/v1/",
  model: "qwen:7b",
  profile: "native-tools",
  contextWindow: 8_192,
  maxOutputTokens: 1_024,
  price: { inputPer1k: 1, outputPer1k: 2 },
  isFree: false,
  apiKey: null,
  clock: manualClock(),
};

describe("a configured model", () => {
  test("is what the operator named, split at the first colon", () => {
    const { backend: _, tokens: __, ...model } = configureModel(settings);
    expect(model).toEqual({
      ref: "local:qwen:7b",
      provider: "local",
      model: "qwen:7b",
      profile: {
        id: "native-tools",
        adapterVersion: "native-tools@2",
        supportsTools: true,
        holdsRequired: true,
        grammarProfiles: [],
      },
      contextWindow: 8_192,
      maxOutputTokens: 1_024,
      price: { inputPer1k: 1, outputPer1k: 2 },
      isFree: false,
    });
  });

  test.each(["native-tools", "marker-json"] as const)(
    "with the profile %s is read by an adapter there is",
    (profile) => {
      const model = configureModel({ ...settings, profile });
      expect(adapterFor(model.profile.adapterVersion)?.version).toBe(`${profile}@2`);
      expect(model.profile.holdsRequired).toBe(profile === "native-tools");
    },
  );

  test.each([
    ["claude-opus-5", true],
    ["claude-opus-5-5", false],
    ["claude-fable-5-1", false],
  ])("%s can be made to call a tool: %j", (name, holdsRequired) => {
    const model = configureModel({ ...settings, kind: "anthropic", model: name });
    expect(model.profile.holdsRequired).toBe(holdsRequired);
  });

  test("the built-in one needs neither address nor profile", async () => {
    const builtin = { ...settings, ref: "builtin:demo", kind: "builtin", baseUrl: null, model: "demo" } as const;
    const model = configureModel({ ...builtin, profile: "marker-json" });
    expect(model).toMatchObject({ provider: "builtin", profile: { id: "native-tools" } });
    expect(await model.backend.check(new AbortController().signal)).toMatchObject({ responsive: true });
  });
});

describe("refused", () => {
  test.each<[Partial<ModelSettings>, string]>([
    [{ kind: "builtin", model: "gpt" }, "model.unknown-builtin"],
    [{ baseUrl: null }, "model.invalid-base-url"],
    [{ baseUrl: "127.0.0.1:8080" }, "model.invalid-base-url"],
    [{ baseUrl: "file:///etc/passwd" }, "model.invalid-base-url"],
    [{ baseUrl: "https://user:sk-secret@api.example" }, "model.invalid-base-url"],
    [{ baseUrl: "https://api.example/v1?key=sk-secret" }, "model.invalid-base-url"],
  ])("%j", (more, code) => {
    const error = catchError(() => configureModel({ ...settings, ...more }));
    expect(error).toBeInstanceOf(ModelConfigError);
    expect(error).toMatchObject({ code });
    expect(String(error)).not.toContain("sk-secret");
  });
});

function catchError(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}
