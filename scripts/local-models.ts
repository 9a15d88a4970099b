/**
 * What random weights do under the contract's grammar, at length: `npm run local-models -- [RUNS] [SAMPLES]`.
 *
 * Strict required runs of a model that this script writes, and as many without the grammar; samples for each tool we ship; and
 * the memory of a larger model, before, while and after it is loaded. It ends with 1 if anything is not as it must be.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Compile } from "typebox/compile";
import { llamaCpp } from "../src/adapters/models/llama-cpp/llama-cpp.ts";
import { LocalModels } from "../src/adapters/models/llama-cpp/local-models.ts";
import { PROFILES } from "../src/adapters/models/profile.ts";
import { describeBuiltInTools } from "../src/boot/built-in-tools.ts";
import { DEFAULT_CONFIG } from "../src/boot/config/default-config.ts";
import { readConfig } from "../src/boot/config/read-config.ts";
import { findHome, openHome } from "../src/boot/home.ts";
import { openSurety } from "../src/boot/open-surety.ts";
import { systemClock } from "../src/boot/system-clock.ts";
import { systemRandomness } from "../src/boot/system-randomness.ts";
import { deriveGrammar } from "../src/kernel/protocol/grammar/derive-grammar.ts";
import { grammarJson } from "../src/kernel/protocol/grammar-json.ts";
import { noApprover } from "../src/runtime/ports/approver.ts";
import { linkPackages } from "../test/boot/local-models/llama-packages.ts";
import { PROBE } from "../test/boot/local-models/probe-tool.ts";
import { TINY_CONTEXT, tinyGguf } from "../test/boot/local-models/tiny-gguf.ts";

const [runs = 1_000, samples = 200] = process.argv.slice(2).map(Number);
const UNHELD_RUNS = Math.ceil(runs / 20);
const directory = await mkdtemp(join(tmpdir(), "surety-local-models-"));
const failures: string[] = [];
const LARGER_MIB = 192;

function must(isSo: boolean, what: string): void {
  console.log(`${isSo ? "ok  " : "FAIL"} ${what}`);
  if (!isSo) failures.push(what);
}

try {
  await strictRuns();
  await everyTool();
  await memory();
} finally {
  await rm(directory, { recursive: true, force: true });
}
process.exitCode = failures.length === 0 ? 0 : 1;

async function strictRuns(): Promise<void> {
  const home = findHome(join(directory, "home"), () => undefined);
  await openHome(home);
  await linkPackages(home.directory);
  await writeFile(join(home.directory, "tiny.gguf"), tinyGguf());
  const tiny = { contextWindow: TINY_CONTEXT, maxOutputTokens: 4_096, modelPath: "tiny.gguf" };
  const providers = { local: { kind: "llama_cpp", threads: 1, models: { tiny } } };
  const tools = { policy: { allow: ["*"], channels: { cli_local: ["*"] } } };
  const read = readConfig(JSON.stringify({ models: { default: "local:tiny", providers }, tools }), "surety.json5");
  if (!read.ok) throw new Error("the config is not read");
  const { assistant, close } = await openSurety({
    ...{ home, clock: systemClock, random: systemRandomness, token: null, approver: noApprover, moreTools: [PROBE] },
    ...{ config: read.config, readVariable: () => undefined },
    onDefect: (_, error) => {
      throw error;
    },
  });
  const count = async (wanted: number, contract: object): Promise<number> => {
    let performed = 0;
    for (let index = 0; index < wanted; index += 1) {
      const submitted = await assistant.submit({
        ...{ agentId: "main", message: `look, ${index}`, sessionId: null, model: null, thinkingMode: null, contract },
        ...{ approvedTools: [], source: "cli", principal: "operator", idempotencyKey: null },
      });
      if (!submitted.ok) throw new Error(submitted.message);
      for await (const _ of (await assistant.watch(submitted.runId, 0, new AbortController().signal)) ?? []);
      if (((await assistant.run(submitted.runId))?.tool_calls ?? 0) > 0) performed += 1;
    }
    return performed;
  };
  const required = { toolPolicy: "required", maxInferences: 1, allowedTools: [PROBE.name] };
  const held = await count(runs, { ...required, strictMode: true });
  must(held === runs, `strict required runs that performed a valid call: ${held} of ${runs}`);
  const free = await count(UNHELD_RUNS, {
    ...required,
    grammarProfile: "off",
    maxFormatRetries: 0,
    maxOutputTokens: 256,
  });
  must(free === 0, `without the grammar: ${free} of ${UNHELD_RUNS}`);
  await close(1_000);
}

function settingsOf(modelPath: string) {
  const packageDirectory = join(directory, "home", "packages");
  const shared = { contextWindow: 8_192, threads: 1, gpu: false, idleMs: 60_000, clock: systemClock } as const;
  return { modelPath, packageDirectory, ...shared };
}

async function everyTool(): Promise<void> {
  const home = findHome(join(directory, "home"), () => undefined);
  const backend = llamaCpp(settingsOf(join(home.directory, "tiny.gguf")), PROFILES["grammar-json"]);
  const short = Array.from({ length: 256 }, (_, byte) => (byte === 0x22 ? 3 : 0));
  for (const tool of describeBuiltInTools({ home, config: DEFAULT_CONFIG, clock: systemClock })) {
    const { name, description } = tool;
    const offered = { name, description, parameters: JSON.parse(JSON.stringify(tool.parameters)) as object };
    const grammar = deriveGrammar([offered]);
    const check = Compile(tool.parameters);
    let valid = 0;
    let calls = 0;
    for (let index = 0; index < samples; index += 1) {
      const reply = await backend.complete(
        {
          ...{ model: "tiny", messages: [{ role: "user", content: `${name} ${index}` }], tools: [offered] },
          ...{
            toolChoice: "required",
            constraint: { entry: "calls", grammar },
            logitsMask: short,
            maxOutputTokens: 8_000,
          },
        },
        { signal: new AbortController().signal, onText: null },
      );
      if (!reply.ok) throw new Error(reply.code);
      const { canonicalMessage } = grammarJson.adapt(reply.raw, "strict");
      const made = canonicalMessage?.toolCalls ?? [];
      calls += made.length;
      if (made.length > 0 && made.every((call) => call.name === name && check.Check(call.arguments))) valid += 1;
    }
    must(valid === samples, `${name}: ${valid} of ${samples} answers fit its schema, ${calls} calls`);
  }
}

async function memory(): Promise<void> {
  const modelPath = join(directory, "larger.gguf");
  await writeFile(modelPath, tinyGguf({ feedForward: LARGER_MIB * 1_365 }));
  const mib = (): number => Math.round(process.memoryUsage.rss() / 1_048_576);
  const models = new LocalModels();
  let loaded = 0;
  await models.use(settingsOf(modelPath), new AbortController().signal, async (held) => {
    await held.sequenceFor(8_192);
    loaded = mib();
  });
  await models.unload();
  const after = mib();
  must(
    loaded - after > LARGER_MIB / 2,
    `memory with ${LARGER_MIB} MiB of weights: ${loaded} MiB, unloaded ${after} MiB`,
  );
}
