/**
 * Answers as providers publish them, each with where it is published, and what becomes of them when their bytes come in
 * other pieces or not to the end.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { AnswerReader } from "../../../src/adapters/models/answer-reader.ts";
import { MESSAGE_ANSWER } from "../../../src/adapters/models/anthropic-messages/message-answer.ts";
import type { ExchangeEnd, ResponseListener } from "../../../src/adapters/models/http-exchange.ts";
import { CHAT_ANSWER } from "../../../src/adapters/models/openai-chat/chat-answer.ts";
import { nativeTools } from "../../../src/kernel/protocol/native-tools.ts";
import type { ModelReply } from "../../../src/runtime/ports/model-backend.ts";
import { manualClock } from "./manual-clock.ts";

interface Fixture {
  readonly source: string;
  readonly protocol: "openai-chat" | "anthropic-messages";
  readonly contentType: string;
  /** By line. */
  readonly body: readonly string[];
  /** What the reply must hold. */
  readonly reply: object;
}

interface Reader extends ResponseListener {
  replyAt(end: ExchangeEnd): ModelReply;
}

const HOME = join(import.meta.dirname, "../../fixtures/model-wire");
const FIXTURES = readdirSync(HOME, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".json"))
  .sort()
  .map((name): [string, Fixture] => [name, JSON.parse(readFileSync(join(HOME, name), "utf8")) as Fixture]);

test("every fixture says where it was published, or recorded", () => {
  expect(FIXTURES.length).toBeGreaterThan(20);
  for (const [, { source }] of FIXTURES) expect(source).toMatch(/^https?:\/\/\S+$/);
});

describe.each(FIXTURES)("%s", (_, fixture) => {
  const bytes = Buffer.from(fixture.body.join("\n"));
  const whole = hear(fixture, [bytes]);

  test("is read as it was meant", () => {
    expect(whole.reply).toMatchObject(fixture.reply);
    expect(whole.text).toBe(whole.reply.ok ? whole.reply.raw.content : "");
  });

  test("reads the same split at any byte, at every byte and with CRLF", () => {
    const places = Array.from({ length: bytes.length - 1 }, (_, at) => at + 1);
    const different = places.filter((at) => {
      return !isDeepStrictEqual(hear(fixture, [bytes.subarray(0, at), bytes.subarray(at)]), whole);
    });
    expect(different).toEqual([]);
    expect(
      hear(
        fixture,
        [...bytes].map((byte) => Uint8Array.of(byte)),
      ),
    ).toEqual(whole);
    if (isStream(fixture)) {
      expect(hear(fixture, [Buffer.from(fixture.body.join("\r\n"))])).toEqual(whole);
    }
  });

  test.each(["cut-off", "complete"] as const)(
    "cut at any byte and ended %s, it is the same reply or a fault, and holds no call but those of the whole",
    (end) => {
      const reader = listen(fixture, () => {});
      for (let length = 1; length < bytes.length; length += 1) {
        // What was not streamed is read at the end only, and once.
        const cut = isStream(fixture) ? reader : listen(fixture, () => {});
        cut.onBytes(isStream(fixture) ? bytes.subarray(length - 1, length) : bytes.subarray(0, length));
        const reply = cut.replyAt(end);
        if (!reply.ok) {
          expect(reply.code).toMatch(/^provider\.[a-z-]+$/);
          continue;
        }
        if (reply.raw.complete) expect(reply.raw).toEqual(whole.reply.ok ? whole.reply.raw : null);
        const calls = callsIn(reply);
        if (calls.length > 0) expect(calls).toEqual(callsIn(whole.reply));
      }
    },
  );
});

function hear(fixture: Fixture, parts: readonly Uint8Array[]): { readonly reply: ModelReply; readonly text: string } {
  let text = "";
  const reader = listen(fixture, (piece) => {
    text += piece;
  });
  for (const part of parts) if (!reader.onBytes(part)) break;
  return { reply: reader.replyAt("complete"), text };
}

function listen({ protocol, contentType }: Fixture, onText: (text: string) => void): Reader {
  const clock = manualClock();
  const reader =
    protocol === "openai-chat"
      ? new AnswerReader(CHAT_ANSWER, clock, onText, 1_024)
      : new AnswerReader(MESSAGE_ANSWER, clock, onText, 1_024);
  reader.onHead({ status: 200, header: (name) => (name === "content-type" ? contentType : null) });
  return reader;
}

/** As the kernel would act on it. */
function callsIn(reply: ModelReply): readonly unknown[] {
  return reply.ok ? (nativeTools.adapt(reply.raw, "lenient").canonicalMessage?.toolCalls ?? []) : [];
}

function isStream({ contentType }: Fixture): boolean {
  return contentType.startsWith("text/event-stream");
}
