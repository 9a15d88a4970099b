/** Files, packages and memory of local models: what cannot be used is one clear line. */
import { readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readGgufHeader } from "../../../src/adapters/models/llama-cpp/gguf-header.ts";
import { LocalModelError } from "../../../src/adapters/models/llama-cpp/local-model-error.ts";
import { main } from "../../../src/boot/main.ts";
import { verifies } from "../../requirements.ts";
import { capturedStreams } from "../captured-streams.ts";
import { readOk } from "../config/example-config.ts";
import { temporaryDirectory } from "../temporary-home.ts";
import { linkPackages } from "./llama-packages.ts";
import { openLocal, runLocal } from "./local-home.ts";
import { tinyGguf } from "./tiny-gguf.ts";

async function surety(directory: string, ...words: readonly string[]) {
  const streams = capturedStreams();
  const code = await main(["--home", directory, ...words], streams, () => undefined);
  return { code, ...streams.written() };
}

async function fileOf(bytes: Buffer): Promise<string> {
  const path = join(await temporaryDirectory(), "small model.gguf");
  await writeFile(path, bytes);
  return path;
}

describe("surety models add", () => {
  verifies(
    "X-9/files",
    "writes what the file says into the config, and names the one line that installs the rest",
    async () => {
      const directory = join(await temporaryDirectory(), "home");
      const path = await fileOf(tinyGguf({ contextLength: 16_384 }));
      const added = await surety(directory, "models", "add", path, "--name", "small");
      expect(added).toMatchObject({ code: 0, stderr: "" });
      expect(added.stdout).toMatch(
        /^local:small is configured: llama, 16384 tokens of context\.\nLocal models need one package more\. Run: npm install --prefix \S+ --ignore-scripts --omit=optional node-llama-cpp@3\.22\.1 @node-llama-cpp\/\S+@3\.22\.1\n$/,
      );
      const config = await readFile(join(directory, "surety.json5"), "utf8");
      expect(readOk(config).models.providers["local"]).toMatchObject({
        ...{ kind: "llama_cpp", local: true },
        models: { small: { contextWindow: 16_384, maxOutputTokens: 4_096, free: true, modelPath: path } },
      });
      const unusable = await surety(directory, "models", "check");
      expect(unusable.code).toBe(1);
      expect(unusable.stderr).toMatch(
        /^error model\.unusable: Local models need node-llama-cpp, which is not installed\. Run: npm install [^\n]+\n$/,
      );
      await linkPackages(directory);
      const checked = await surety(directory, "models", "check");
      expect(checked.stdout).toBe("ok local:small: llama, 16384 tokens, node-llama-cpp 3.22.1\n");
      const second = await surety(directory, "models", "add", path, "--json");
      expect(JSON.parse(second.stdout)).toMatchObject({ model: "local:small-model", install: null });
    },
  );

  verifies("X-9/files", "takes no damaged file, and says so in one line", async () => {
    const directory = join(await temporaryDirectory(), "home");
    const damaged = await surety(directory, "models", "add", await fileOf(tinyGguf().subarray(0, 100_000)));
    expect(damaged.code).toBe(1);
    expect(damaged.stderr).toMatch(
      /^error model\.file-invalid: The model file \S.* is damaged or no GGUF file: it has 100000 bytes, and its tensors need \d+\. Fetch it again\.\n$/,
    );
    const missing = await surety(directory, "models", "add", "/nowhere/a.gguf");
    expect(missing.stderr).toBe(
      "error model.file-missing: The model file /nowhere/a.gguf is not there: check modelPath.\n",
    );
  });
});

const whole = tinyGguf();
const HEAD_BYTES = 5_000;

verifies(
  "X-9/files",
  "a head that is damaged anywhere is read as a model or refused in one line, never a crash",
  async () => {
    const path = await fileOf(whole);
    for (let at = 0; at < HEAD_BYTES; at += 97) {
      for (const byte of [0xff, 0x7f]) {
        const bytes = Buffer.from(whole);
        bytes[at] = byte;
        await writeFile(path, bytes);
        const read = await readGgufHeader(path).catch((error: unknown) => error);
        if (!(read instanceof LocalModelError)) expect(read).toMatchObject({ architecture: expect.any(String) });
        else expect(read.message).toMatch(/^The model file [^\n]+ Fetch it again\.$/);
      }
    }
  },
);

test.each([
  ["of another kind", Buffer.from("PK\u0003\u0004 something else"), "it does not begin with GGUF"],
  ["empty", Buffer.alloc(0), "it ends within its head"],
  ["cut within its head", whole.subarray(0, 700), "it ends within its head"],
  ["cut within its values", whole.subarray(0, whole.length - 32), "its tensors need"],
  ["of a later version", Buffer.concat([Buffer.from("GGUF"), Buffer.from([9, 0, 0, 0])]), "version 9"],
  [
    "with a huge number",
    Buffer.concat([Buffer.from("GGUF"), Buffer.from([3, 0, 0, 0]), Buffer.alloc(8, 0xff)]),
    "absurdly large",
  ],
])("a file %s is refused", async (_, bytes, problem) => {
  await expect(readGgufHeader(await fileOf(bytes))).rejects.toMatchObject({
    code: "model.file-invalid",
    message: expect.stringContaining(problem),
  });
});

describe("a run", () => {
  const outcomeOf = async (
    settings: Parameters<typeof openLocal>[0],
    prepare?: (directory: string) => Promise<void>,
  ) => {
    const { surety: opened, directory } = await openLocal(settings);
    await prepare?.(directory);
    const run = await runLocal(opened, "look", {});
    return { outcome: run.outcome, reason: run.reason };
  };

  verifies("X-9/files", "without the package fails before anything is sent", async () => {
    expect(await outcomeOf({ isInstalled: false })).toMatchObject({
      outcome: "FAILED_PREFLIGHT",
      reason: "backend.unresponsive",
    });
  });

  verifies("X-9/files", "with a file that is gone, cut, or larger than memory fails in one line", async () => {
    expect(await outcomeOf({ model: { modelPath: "other.gguf" } })).toMatchObject({ reason: "backend.unresponsive" });
    expect(await outcomeOf({ file: whole.subarray(0, 250_000) })).toMatchObject({ reason: "backend.unresponsive" });
    expect(await outcomeOf({ file: tinyGguf({ contextLength: 8_192 }) })).toMatchObject({
      reason: "backend.unresponsive",
    });
    const huge = await outcomeOf({}, (directory) => truncate(join(directory, "tiny.gguf"), 2 ** 42));
    expect(huge).toMatchObject({ reason: "provider.unavailable" });
  });
});
