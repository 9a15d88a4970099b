/** Images the whole way: from a file or an HTTP request to the bytes a provider gets. */
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createGateway } from "../../src/adapters/gateway/create-gateway.ts";
import { createGatewayClient } from "../../src/adapters/gateway-client/create-gateway-client.ts";
import type { OperationClient } from "../../src/assistant/operations.ts";
import type { RunInput } from "../../src/assistant/runs/run-request.ts";
import { openHome } from "../../src/boot/home.ts";
import { main } from "../../src/boot/main.ts";
import { openSurety } from "../../src/boot/open-surety.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { systemRandomness } from "../../src/boot/system-randomness.ts";
import { toWire } from "../../src/kernel/vocabulary/wire-case.ts";
import { noApprover } from "../../src/runtime/ports/approver.ts";
import { at, IDENTITY } from "../adapters/gateway/test-identity.ts";
import { startAnthropicServer } from "../loopback/anthropic-server.ts";
import { answer, startOpenAiServer } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { DOT_PNG, jpeg, mediaOf, png, webp } from "../runtime/sample-images.ts";
import { capturedStreams } from "./captured-streams.ts";
import { readOk } from "./config/example-config.ts";
import { temporaryDirectory, temporaryHome } from "./temporary-home.ts";

const PHOTO = jpeg(640, 480, Buffer.from(Array.from({ length: 5_000 }, (_, index) => (index * 31) % 256)));
const SIGHTED = { contextWindow: 32_768, maxOutputTokens: 1024, supportsVision: true };
const BASE64 = { dot: DOT_PNG.toString("base64"), photo: PHOTO.toString("base64") };

interface Setting {
  readonly config?: object;
  readonly files?: Readonly<Record<string, Uint8Array>>;
}

async function stage({ config = {}, files = {} }: Setting) {
  const directory = await temporaryDirectory();
  const home = join(directory, "home");
  await mkdir(home);
  await writeFile(join(home, "surety.json5"), JSON.stringify(config));
  for (const [name, bytes] of Object.entries(files)) await writeFile(join(directory, name), bytes);
  const surety = async (...words: readonly string[]) => {
    const streams = capturedStreams();
    const code = await main(["--home", home, ...words], streams, () => undefined);
    return { code, ...streams.written() };
  };
  return { home, surety, at: (name: string) => join(directory, name) };
}

const served = (kind: string, baseUrl: string, model: object, budgets: object = {}) => ({
  models: { default: "loop:m", providers: { loop: { kind, baseUrl, local: true, models: { m: model } } } },
  budgets,
});

const FILES = { "dot.png": DOT_PNG, "photo.txt": PHOTO };

describe("surety run --image", () => {
  for (const profile of ["native-tools", "marker-json"]) {
    verifies("S-7.1", `over openai-chat the server gets the exact bytes (${profile})`, async () => {
      const server = await startOpenAiServer(() => answer({ text: "a dot and a photo" }));
      onTestFinished(() => server.close());
      const config = served("openai_compatible", server.baseUrl, { ...SIGHTED, profile });
      const { surety, at } = await stage({ config, files: FILES });
      // The name says nothing.
      const images = ["--image", at("dot.png"), "--image", at("photo.txt")];
      const { code, stdout } = await surety("run", "what is on them?", ...images);
      expect([code, stdout]).toEqual([0, "a dot and a photo\n"]);
      expect(server.requests).toHaveLength(1);
      expect(server.requests[0]?.body.messages.at(-1)).toEqual({
        role: "user",
        content: [
          { type: "text", text: "what is on them?" },
          { type: "image_url", image_url: { url: `data:image/png;base64,${BASE64.dot}` } },
          { type: "image_url", image_url: { url: `data:image/jpeg;base64,${BASE64.photo}` } },
        ],
      });
    });

    verifies("S-7.1", `over anthropic-messages the server gets the exact bytes (${profile})`, async () => {
      const server = await startAnthropicServer(() => answer({ text: "a dot and a photo" }));
      onTestFinished(() => server.close());
      const config = served("anthropic", server.baseUrl, { ...SIGHTED, profile });
      const { surety, at } = await stage({ config, files: FILES });
      const images = ["--image", at("dot.png"), "--image", at("photo.txt")];
      const { code, stdout } = await surety("run", "what is on them?", ...images);
      expect([code, stdout]).toEqual([0, "a dot and a photo\n"]);
      expect(server.requests).toHaveLength(1);
      expect(server.requests[0]?.body.messages).toEqual([
        {
          role: "user",
          content: [
            { type: "image", source: { type: "base64", media_type: "image/png", data: BASE64.dot } },
            { type: "image", source: { type: "base64", media_type: "image/jpeg", data: BASE64.photo } },
            { type: "text", text: "what is on them?" },
          ],
        },
      ]);
    });
  }

  verifies("P-0", "with a model that sees none: one line, nothing contacted, nothing written", async () => {
    const server = await startOpenAiServer(() => answer({ text: "I guess" }));
    onTestFinished(() => server.close());
    const config = served("openai_compatible", server.baseUrl, { contextWindow: 32_768, maxOutputTokens: 1024 });
    const { surety, at } = await stage({ config, files: FILES });
    const { code, stdout, stderr } = await surety("run", "what is on it?", "--image", at("dot.png"));
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toBe(
      "error invalid.request: loop:m sees no images: take a model with supportsVision: true, or leave the images out\n",
    );
    expect([server.requests, server.checks, server.connections]).toEqual([[], [], 0]);
    expect(JSON.parse((await surety("runs", "ls", "--json")).stdout)).toMatchObject({ total: 0 });
  });

  test("with a file that is no image, none at all, or too large: a usage error, and no home is made", async () => {
    const files = { "page.png": Buffer.from("<html></html>"), "huge.png": png(9, 9, Buffer.alloc(3_750_000)) };
    const { surety, at, home } = await stage({ files });
    const before = await readdir(home);
    const expected = [
      ["page.png", "is not a PNG, JPEG, GIF or WebP image"],
      ["huge.png", "cannot be read (it is larger than 3750000 bytes)"],
      ["missing.png", "does not exist"],
      ["home", "cannot be read (it is not a regular file)"],
    ] as const;
    for (const [name, problem] of expected) {
      const { code, stderr } = await surety("run", "what is on it?", "--image", at(name));
      expect([code, stderr.split("\n")[0]]).toEqual([2, `error usage: --image ${at(name)} ${problem}`]);
    }
    expect(await readdir(home)).toEqual(before);
  });

  verifies("X-6", "reserves what the images cost: over the day's limit nothing is sent", async () => {
    const server = await startOpenAiServer(() => answer({ text: "seen" }));
    onTestFinished(() => server.close());
    // A token in costs a millionth of a dollar; the words alone are far below the limit.
    const priced = { ...SIGHTED, maxOutputTokens: 16, costPer1kInput: 0.001, costPer1kOutput: 0 };
    const config = served("openai_compatible", server.baseUrl, priced, { perDayUsd: 0.012 });
    const large = png(4_000, 3_000);
    const { surety, at } = await stage({ config, files: { "large.png": large } });
    const shown = ["run", "what is on it?", "--forbid-tools", "--json"];
    const refused = JSON.parse((await surety(...shown, "--image", at("large.png"))).stdout);
    expect([refused.outcome, refused.reason]).toEqual(["FAILED_BUDGET_EXHAUSTED", "budget.spend"]);
    expect(server.requests).toEqual([]);
    expect(JSON.parse((await surety(...shown)).stdout)).toMatchObject({ status: "completed" });
  });

  test("with builtin:demo says what the files are, and that it sees nothing", async () => {
    const { surety, at } = await stage({ files: { ...FILES, "w.webp": webp(31, 41) } });
    const { code, stdout } = await surety("run", "what is on it?", "--image", at("photo.txt"), "--image", at("w.webp"));
    expect(code).toBe(0);
    expect(stdout).toContain(`- image/jpeg, ${PHOTO.length} bytes, 640 x 480 pixels\n- image/webp, 30 bytes, 31 x 41`);
    expect(stdout).toContain("see nothing on them");
    const asked = await surety("run", "list files", "--image", at("photo.txt"), "--json");
    expect(JSON.parse(asked.stdout)).toMatchObject({ outcome: "COMPLETED_WITH_TOOLS" });
  });

  verifies("T-3a", "with auto goes to a model of the tier that sees, or is refused by name", async () => {
    const server = await startOpenAiServer(() => answer({ text: "seen" }));
    onTestFinished(() => server.close());
    const { supportsVision: _, ...blind } = { ...SIGHTED, tier: "mid", costPer1kInput: 0.001, costPer1kOutput: 0.001 };
    const seeing = { ...SIGHTED, tier: "mid", costPer1kInput: 1, costPer1kOutput: 1 };
    const models = (all: object) => ({
      models: { default: "loop:blind", providers: { loop: { baseUrl: server.baseUrl, local: true, models: all } } },
    });
    const both = await stage({ config: models({ blind, seeing }), files: FILES });
    const words = ["run", "what is on it?", "--model", "auto", "--json", "--image"];
    expect(JSON.parse((await both.surety(...words, both.at("dot.png"))).stdout)).toMatchObject({ model: "seeing" });
    const one = await stage({ config: models({ blind }), files: FILES });
    const { code, stderr } = await one.surety(...words, one.at("dot.png"));
    expect([code, stderr]).toEqual([1, expect.stringContaining("loop:blind sees no images")]);
    expect(server.requests).toHaveLength(1);
  });
});

describe("POST /v1/runs with media", () => {
  const INPUT: RunInput = { agent_id: "main", message: "what is on it?" };

  async function remote(): Promise<OperationClient> {
    const home = await temporaryHome();
    await openHome(home);
    const token = "correct-horse-battery-staple";
    const surety = await openSurety({
      ...{ home, clock: systemClock, random: systemRandomness, token, approver: noApprover },
      config: readOk("{}"),
      readVariable: () => undefined,
      onDefect: (_, error) => {
        throw error;
      },
    });
    onTestFinished(() => surety.close(1_000));
    const gateway = createGateway({
      ...{
        operations: surety.operations,
        conversations: surety.conversations,
        random: systemRandomness,
        credentials: surety.access,
        identity: IDENTITY,

        clock: systemClock,
      },
      onError: (error) => {
        throw error;
      },
    });
    const listening = await gateway.listen({ port: 0 });
    onTestFinished(() => listening.close(0));
    return createGatewayClient({ ...at(listening.url), token });
  }

  test("brings them to the model, as large as a body may be", async () => {
    const client = await remote();
    const large = png(800, 600, Buffer.alloc(780_000, "picture"));
    const created = await client.call("runs.create", { ...INPUT, media: toWire([mediaOf(DOT_PNG), mediaOf(large)]) });
    if (!created.ok) throw new Error(created.message);
    const { id } = created.value;
    const subscription = await client.subscribe("runs.events", { id }, null, new AbortController().signal);
    for await (const _ of subscription.ok ? subscription.updates : []);
    const record = await client.call("runs.get", { id });
    expect(record.ok && record.value.output).toContain(`- image/png, ${large.length} bytes, 800 x 600 pixels`);
    const bundle = await client.call("runs.bundle", { id });
    expect(bundle.ok && bundle.value.includes(large.toString("base64"))).toBe(true);
  });

  test("is refused with the reason: a body that is too large, an image that is none", async () => {
    const client = await remote();
    const media = [mediaOf(png(800, 600, Buffer.alloc(800_000)))];
    expect(await client.call("runs.create", { ...INPUT, media: toWire(media) })).toEqual({
      ...{ ok: false, code: "payload.too_large" },
      message: "a body holds at most 1048576 bytes",
    });
    const broken = [{ ...mediaOf(DOT_PNG), data: Buffer.from("<html></html>").toString("base64") }];
    expect(await client.call("runs.create", { ...INPUT, media: toWire(broken) })).toEqual({
      ...{ ok: false, code: "invalid.request" },
      message: "media[0].data is not a PNG, JPEG, GIF or WebP image",
    });
    expect(await client.call("runs.list", { limit: 1 })).toMatchObject({ value: { total: 0 } });
  });
});
