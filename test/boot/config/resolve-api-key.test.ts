import { describe, expect, test } from "vitest";
import type { ProviderSettings } from "../../../src/boot/config/config.ts";
import { resolveApiKey } from "../../../src/boot/config/resolve-api-key.ts";
import { verifies } from "../../requirements.ts";

const PROVIDER: ProviderSettings = {
  enabled: true,
  kind: "openai_compatible",
  local: false,
  startupValidation: "warn",
  models: {},
  defaults: {},
};
const KEY = "sk-Kq7ZpX2mVb9RtYw4NcHs6LdJf8Ga3Eu1";
const from = (variables: Readonly<Record<string, string>>) => (name: string) => variables[name];

describe("the key of a provider", () => {
  verifies("P-1.3/environment", "comes from its own variable, or is missing by that name", () => {
    const asked: string[] = [];
    const missing = resolveApiKey("moonshot", PROVIDER, (name) => {
      asked.push(name);
      return undefined;
    });
    expect(missing).toEqual({ ok: false, message: "Missing MOONSHOT_API_KEY" });
    expect(asked).toEqual(["MOONSHOT_API_KEY"]);
    expect(resolveApiKey("moonshot", PROVIDER, from({ MOONSHOT_API_KEY: KEY }))).toEqual({ ok: true, key: KEY });
  });

  test.each([
    ["my-lab", PROVIDER, "No key for provider my-lab: put MY_LAB_API_KEY=… in .env in the home"],
    ["lab", { ...PROVIDER, apiKeyEnv: "OTHER" }, "No key for provider lab: put OTHER=… in .env in the home"],
    [
      "anthropic",
      { ...PROVIDER, kind: "anthropic" as const },
      "No key for provider anthropic: put ANTHROPIC_API_KEY=… in .env in the home",
    ],
  ])("%s", (id, provider, message) => {
    expect(resolveApiKey(id, provider, from({ MOONSHOT_API_KEY: KEY }))).toEqual({ ok: false, message });
  });

  test("where none is needed none is missed, and one that is there is used", () => {
    for (const provider of [
      { ...PROVIDER, local: true },
      { ...PROVIDER, kind: "llama_cpp" as const },
    ]) {
      expect(resolveApiKey("lab", provider, from({}))).toEqual({ ok: true, key: null });
    }
    const provider = { ...PROVIDER, local: true };
    expect(resolveApiKey("lab", provider, from({ LAB_API_KEY: KEY }))).toEqual({ ok: true, key: KEY });
  });

  test("a key that cannot be redacted is refused", () => {
    const short = resolveApiKey("lab", PROVIDER, from({ LAB_API_KEY: "hello" }));
    expect(short).toEqual({ ok: false, message: expect.stringMatching(/^LAB_API_KEY is too short /) });
    const long = resolveApiKey("lab", PROVIDER, from({ LAB_API_KEY: "k".repeat(9_000) }));
    expect(long).toEqual({ ok: false, message: expect.stringMatching(/^LAB_API_KEY is too long /) });
  });

  test.each(["k\n", "k k", "k\u0000", "kö"])("%j fits no header, and is not shown", (key) => {
    expect(resolveApiKey("lab", PROVIDER, from({ LAB_API_KEY: key }))).toEqual({
      ok: false,
      message: "LAB_API_KEY holds blanks or unprintable characters",
    });
  });
});
