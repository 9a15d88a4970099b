/**
 * `npm run record-fixtures -- --provider P [--model M] [--base-url URL] [--out DIR]`: asks a provider the scripted prompts
 * and keeps its answers as fixtures (docs/models.md). The key comes from the environment; it costs a few hundred tokens.
 *
 * Exits with 2 when something is missing to do so, with 1 when the provider did not answer; one line each.
 */
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { readConfig } from "../src/boot/config/read-config.ts";
import { resolveApiKey } from "../src/boot/config/resolve-api-key.ts";
import { resolveConfiguredModelRef } from "../src/boot/config/resolve-configured-model-ref.ts";
import { NotRecorded, type RecordedProvider, recordFixtures } from "./record-wire.ts";

/** Small ones, that any account may use. */
const USUAL_MODELS: ReadonlyMap<string, string> = new Map([
  ["moonshot", "kimi-k2-turbo-preview"],
  ["openai", "gpt-4o-mini"],
  ["openrouter", "openai/gpt-4o-mini"],
  ["anthropic", "claude-haiku-4-5"],
]);
const FIXTURES = fileURLToPath(new URL("../test/fixtures/model-wire", import.meta.url));

const { values: options } = parseArgs({
  options: {
    provider: { type: "string" },
    model: { type: "string" },
    "base-url": { type: "string" },
    out: { type: "string", default: FIXTURES },
  },
});

const found = findProvider();
if (typeof found === "string") {
  console.error(found);
  process.exitCode = 2;
} else {
  try {
    for (const file of await recordFixtures(found, options.out)) console.log(file);
    console.log("Look them over, then npm run format and npm test.");
  } catch (error) {
    if (!(error instanceof NotRecorded)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}

/** As a config would have it; what is missing, in a line. */
function findProvider(): RecordedProvider | string {
  const { provider: id, "base-url": baseUrl } = options;
  if (id === undefined)
    return `--provider is missing: ${[...USUAL_MODELS.keys()].join(", ")}, or another with --base-url`;
  const model = options.model ?? USUAL_MODELS.get(id);
  if (model === undefined) return `--model is missing: none is usual for ${id}`;
  const models = { [model]: { contextWindow: 32_768, maxOutputTokens: 1_024 } };
  const provided = { models, ...(baseUrl === undefined ? {} : { baseUrl }) };
  const config = readConfig(JSON.stringify({ models: { providers: { [id]: provided } } }), "options");
  if (!config.ok) return config.problems.map(({ message }) => message).join("; ");
  const verdict = resolveConfiguredModelRef(config.config, { provider: id, model });
  if (!verdict.ok) return verdict.message;
  const { provider } = verdict.resolved;
  const { kind } = provider;
  if ((kind !== "openai_compatible" && kind !== "anthropic") || provider.baseUrl === undefined) {
    return `--base-url is missing: nobody knows where ${id} is`;
  }
  const key = resolveApiKey(
    id,
    provider,
    Object.assign((name: string) => process.env[name], { envFile: "the environment" }),
  );
  return key.ok ? { id, kind, baseUrl: provider.baseUrl, model, apiKey: key.key } : key.message;
}
