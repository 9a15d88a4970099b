/**
 * Records what a provider answers to the scripted prompts, as fixtures for test/adapters/models/wire-fixtures.test.ts.
 *
 * R1. The request is made by the product's own backend, and the bytes are taken where they arrive: what is kept is what
 *     came, in the order in which it came, but for R2.
 * R2. Ids, times, owners and what is signed or encrypted are replaced, each by the same word wherever it stands. What is then
 *     left of the key in whatever spelling, also in pieces that a reader puts together, keeps the fixture from being written.
 * R3. Only answers are kept: a provider that refuses or breaks off ends the recording.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { anthropicMessages } from "../src/adapters/models/anthropic-messages/anthropic-messages.ts";
import { type HttpOrigin, openOrigin } from "../src/adapters/models/http-exchange.ts";
import { openaiChat } from "../src/adapters/models/openai-chat/openai-chat.ts";
import { PROFILES } from "../src/adapters/models/profile.ts";
import { systemClock } from "../src/boot/system-clock.ts";
import { timestampOf } from "../src/runtime/ports/clock.ts";
import { RECORDED_PROMPTS, type RecordedPrompt } from "./recorded-prompts.ts";
import { scrubberFor, secretFinder, textsIn } from "./scrub-answer.ts";

export interface RecordedProvider {
  readonly id: string;
  readonly kind: "openai_compatible" | "anthropic";
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKey: string | null;
}

/** The provider did not answer, or not with an answer. */
export class NotRecorded extends Error {
  override readonly name = "NotRecorded";
}

/** The files, in order. */
export async function recordFixtures(provider: RecordedProvider, directory: string): Promise<readonly string[]> {
  const { apiKey } = provider;
  const holdsKey = apiKey === null ? () => false : secretFinder(apiKey);
  if (holdsKey === null)
    throw new NotRecorded("the key cannot be told from other text, and nothing is recorded with it");
  const files: string[] = [];
  for (const prompt of RECORDED_PROMPTS) {
    const { fixture, joined } = await record(provider, prompt);
    const text = `${JSON.stringify(fixture, null, 2)}\n`;
    if (holdsKey([text, ...fixture.body, ...joined])) {
      throw new NotRecorded(`${prompt.name}: the answer holds the key, and is not kept`);
    }
    const folder = join(directory, fixture.protocol);
    await mkdir(folder, { recursive: true });
    const file = join(folder, `recorded-${provider.id}-${prompt.name}.json`);
    await writeFile(file, text);
    files.push(file);
  }
  return files;
}

interface Capture {
  contentType: string;
  path: string;
  readonly bytes: Uint8Array[];
}

async function record(provider: RecordedProvider, { name, request, isStreamed }: RecordedPrompt) {
  const { kind, model } = provider;
  const baseUrl = new URL(provider.baseUrl);
  const capture: Capture = { contentType: "", path: "", bytes: [] };
  const server = {
    ...{ provider: provider.id, model, baseUrl, profile: PROFILES["native-tools"], clock: systemClock },
    ...{ apiKey: () => provider.apiKey, keyName: null },
    origin: capturing(openOrigin(baseUrl.origin, systemClock), capture),
  };
  const backend = kind === "anthropic" ? anthropicMessages(server) : openaiChat(server);
  const { signal } = new AbortController();
  const reply = await backend.complete({ ...request, model }, { signal, onText: isStreamed ? () => {} : null });
  if (!reply.ok) throw new NotRecorded(`${name}: ${reply.code}`);
  const { raw, reasoning, usage, thoughts } = reply;
  const body = Buffer.concat(capture.bytes).toString();
  const scrub = scrubberFor(body);
  const fixture = {
    source: `${baseUrl.origin}${capture.path}`,
    built: `recorded ${timestampOf(systemClock.nowMs()).slice(0, 10)} from ${model}; ids, times, owners and signatures replaced`,
    protocol: kind === "anthropic" ? "anthropic-messages" : "openai-chat",
    contentType: capture.contentType,
    body: scrub(body).split("\n"),
    // As it was read, for a person to look over before it is committed.
    reply: JSON.parse(scrub(JSON.stringify({ ok: true, reasoning, raw, usage }))) as object,
  };
  return { fixture, joined: textsIn(JSON.parse(scrub(JSON.stringify({ raw, reasoning, thoughts })))) };
}

/** The exchange as it is, listened to. */
function capturing(origin: HttpOrigin, capture: Capture): HttpOrigin {
  return {
    exchange(request, listener, signal) {
      capture.path = request.path;
      const heard = {
        onHead(head: Parameters<typeof listener.onHead>[0]) {
          capture.contentType = head.header("content-type") ?? "";
          return listener.onHead(head);
        },
        onBytes(bytes: Uint8Array) {
          capture.bytes.push(Uint8Array.from(bytes));
          return listener.onBytes(bytes);
        },
      };
      return origin.exchange(request, heard, signal);
    },
  };
}
