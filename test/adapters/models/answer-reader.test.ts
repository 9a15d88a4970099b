/** What is heard of a long answer, on either wire. */
import { describe, expect, test } from "vitest";
import { type AnswerDraft, type AnswerProtocol, EMPTY_DRAFT } from "../../../src/adapters/models/answer-draft.ts";
import { AnswerReader } from "../../../src/adapters/models/answer-reader.ts";
import { MESSAGE_ANSWER } from "../../../src/adapters/models/anthropic-messages/message-answer.ts";
import { CHAT_ANSWER } from "../../../src/adapters/models/openai-chat/chat-answer.ts";
import type { ModelReply } from "../../../src/runtime/ports/model-backend.ts";
import {
  type ChatScript,
  encodeDocument as chatDocument,
  encodeEvents as chatEvents,
} from "../../loopback/chat-wire.ts";
import { encodeDocument as messageDocument, encodeEvents as messageEvents } from "../../loopback/messages-wire.ts";
import { manualClock } from "./manual-clock.ts";

const TOKENS = 100;
/** 64 characters a token, and 64 KiB. */
const MOST = TOKENS * 64 + 65_536;
const STREAM = "text/event-stream";
const TOO_LONG = { ok: false, code: "provider.too-long", retryable: false, retryAfterMs: 0, usage: null };

type Hear = (body: string, type: string) => { readonly reply: ModelReply; readonly text: string };

const hearing =
  <Draft extends AnswerDraft>(protocol: AnswerProtocol<Draft>): Hear =>
  (body, type) => {
    let text = "";
    const onText = (piece: string): void => {
      text += piece;
    };
    const reader = new AnswerReader(protocol, manualClock(), onText, TOKENS);
    reader.onHead({ status: 200, header: (name) => (name === "content-type" ? type : null) });
    reader.onBytes(Buffer.from(body));
    return { reply: reader.replyAt("complete"), text };
  };

const hearChat = hearing(CHAT_ANSWER);
const hearMessage = hearing(MESSAGE_ANSWER);
const long = (chars: number): string => "x".repeat(chars);
const asking = (path: string): ChatScript => ({ calls: [{ name: "fs.read_text", arguments: { path } }] });
const shared = { dialect: { pieceChars: 4_096 } };

describe.each([
  ["openai-chat", hearChat, chatEvents, chatDocument],
  ["anthropic-messages", hearMessage, messageEvents, messageDocument],
] as const)("%s:", (_, hear, encodeEvents, encodeDocument) => {
  test.each<[string, (chars: number) => ChatScript]>([
    ["a text", (chars) => ({ text: long(chars) })],
    ["a call", (chars) => asking(long(chars))],
    ["a call's id", (chars) => ({ calls: [{ id: long(chars), name: "x", arguments: {} }] })],
    ["a thought", (chars) => ({ reasoning: long(chars), text: "Yes." })],
    ["a model's name", (chars) => ({ text: "Yes.", model: long(chars) })],
  ])("%s is heard to a length, and beyond it is a fault", (__, script) => {
    // Signatures and the rest of the answer count along.
    for (const [chars, expected] of [
      [MOST - 20_000, { ok: true, raw: { complete: true } }],
      [MOST + 1, TOO_LONG],
    ] as const) {
      const made = { ...script(chars), ...shared };
      expect(hear(encodeEvents(made).join(""), STREAM).reply).toMatchObject(expected);
      expect(hear(encodeDocument(made), "application/json").reply).toMatchObject(expected);
    }
  });

  test("no more of it is passed on than may be heard", () => {
    const made = { text: long(MOST * 3), ...shared };
    expect(hear(encodeEvents(made).join(""), STREAM).text.length).toBeLessThanOrEqual(MOST);
    expect(hear(encodeDocument(made), "application/json").text).toBe("");
  });

  test("a document that is long for other reasons is not even read", () => {
    expect(hear(`${encodeDocument({ text: "Hi" })}${" ".repeat(8 * MOST)}`, "application/json").reply).toEqual(
      TOO_LONG,
    );
  });
});

test("what is signed or encrypted counts", () => {
  const sealed = long(MOST + 1);
  const chat = (fields: object) => JSON.stringify({ choices: [{ message: { content: "Hi", ...fields } }] });
  const call = { id: "a", function: { name: "x", arguments: "{}" }, extra_content: { google: { signature: sealed } } };
  for (const fields of [{ reasoning_details: [{ data: sealed }] }, { tool_calls: [call] }]) {
    expect(hearChat(chat(fields), "application/json").reply).toEqual(TOO_LONG);
  }
  const block = { type: "redacted_thinking", data: sealed };
  expect(hearMessage(JSON.stringify({ content: [block] }), "application/json").reply).toEqual(TOO_LONG);
});

test("entries without number are not all looked at", () => {
  const many = `[${"{},".repeat(150_000)}{}]`;
  const unreadable = { ok: false, code: "provider.unreadable" };
  for (const [part, type] of [
    ["message", "application/json"],
    ["delta", STREAM],
  ] as const) {
    const called = `{"choices":[{"${part}":{"tool_calls":${many}}}]}`;
    const thought = `{"choices":[{"${part}":{"content":"Hi","reasoning_details":[]},"finish_reason":"stop"}]}`;
    const framed = (payload: string): string => (type === STREAM ? `data: ${payload}\n\n` : payload);
    expect(hearChat(framed(called), type).reply).toMatchObject(unreadable);
    expect(hearChat(framed(thought.replace("[]", `[${"{},".repeat(20_000)}{}]`)), type).reply).toMatchObject({
      ok: true,
      raw: { content: "Hi", complete: true },
    });
  }
  expect(hearMessage(`{"content":${many}}`, "application/json").reply).toMatchObject(unreadable);
});

test("to hear a piece, what came before it is not looked at", () => {
  /** A text that is only measured: to look into it would cost its length. */
  const measured = (length: number): string =>
    new Proxy({} as unknown as string & object, {
      get(_, property) {
        if (property === "length") return length;
        throw new Error(`the text was asked for its ${String(property)}`);
      },
    });
  const protocol: AnswerProtocol<AnswerDraft> = {
    empty: EMPTY_DRAFT,
    step: (draft, payload) => ({
      ...draft,
      content: measured(draft.content.length + payload.length),
      added: payload,
      pieces: draft.pieces + 1,
    }),
    readWhole: () => EMPTY_DRAFT,
    rawOutputOf: () => ({ content: "", toolCalls: [], stopReason: "stop", model: "", complete: true }),
    thoughtsOf: () => null,
  };
  expect(hearing(protocol)("data: one\n\ndata: two\n\n", STREAM)).toMatchObject({
    reply: { ok: true },
    text: "onetwo",
  });
});
