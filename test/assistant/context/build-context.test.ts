/** Whatever a session holds, its prompt keeps the limits and never tears a call from its result. */
import fc from "fast-check";
import { expect } from "vitest";
import { buildContext } from "../../../src/assistant/context/build-context.ts";
import { type ContextLimits, DEFAULT_LIMITS } from "../../../src/assistant/context/context-limits.ts";
import { resultText, type SessionTurn } from "../../../src/assistant/context/session-turn.ts";
import { contextLimits } from "../../../src/boot/config/context-limits.ts";
import { DEFAULT_CONFIG } from "../../../src/boot/config/default-config.ts";
import { countChars, cutText } from "../../../src/kernel/vocabulary/cut-text.ts";
import { asBodyRef, asRunId, type BodyRef } from "../../../src/kernel/vocabulary/identifiers.ts";
import { USER_LABELS } from "../../../src/kernel/vocabulary/labels.ts";
import { estimateTokens } from "../../../src/runtime/model/estimate-tokens.ts";
import { openingMessages } from "../../../src/runtime/run/acceptance.ts";
import { verifies } from "../../requirements.ts";

const text = fc.oneof(
  fc.string({ maxLength: 40, unit: "grapheme" }),
  fc.nat(4000).map((length) => "word ".repeat(length / 5)),
  fc.nat(3000).map((length) => "語".repeat(length)),
);
const call = fc.record({
  callId: fc.uuid(),
  tool: fc.constantFrom("fs.read_text", "shell.exec"),
  args: fc.constant('{"path":"a"}'),
  ok: fc.boolean(),
  result: text.map((output) => cutText(`tool x result (1)\n${output}`, DEFAULT_LIMITS.messageChars)),
});
const turns = fc.array(fc.record({ asked: text, answered: text, calls: fc.array(call, { maxLength: 6 }) }), {
  maxLength: 15,
});

function build(
  said: readonly { asked: string; answered: string; calls: SessionTurn["calls"] }[],
  limits: Partial<ContextLimits> = {},
) {
  const bodies = new Map<BodyRef, string>();
  const keep = (body: string): BodyRef => {
    const ref = asBodyRef(`ref_${bodies.size}`);
    bodies.set(ref, body);
    return ref;
  };
  const history = said.map(({ asked, answered, calls }, at): SessionTurn => {
    return {
      id: `run_${at}`,
      runId: asRunId(`run_${at}`),
      position: at,
      labels: USER_LABELS,
      outcome: "COMPLETED_CHAT_ONLY",
      askedAt: "",
      answeredAt: "",
      asked: { ref: keep(asked), text: asked, note: null },
      calls,
      answered: { ref: keep(answered), text: answered },
      asksToCondense: false,
    };
  });
  const built = buildContext({
    system: [{ layer: "base", id: "BASE", text: "Be kind." }],
    context: null,
    turns: history,
    summarizedThrough: -1,
    message: { ref: keep("now"), text: "now", images: { refs: [], tokens: 0 } },
    offered: [],
    limits: { ...DEFAULT_LIMITS, ...limits },
    countTokens: estimateTokens,
    keep,
  });
  const event = {} as Parameters<typeof openingMessages>[0]["event"];
  const messages = openingMessages(
    { event, opening: built.opening },
    () => "Be kind.",
    (ref) => bodies.get(ref) ?? null,
  );
  return { built, messages };
}

verifies(
  ["O-6.1/message", "O-6.1/total"],
  "1400 code points a message, 12000 together, the oldest dropped first",
  () => {
    fc.assert(
      fc.property(turns, (said) => {
        const { messages, built } = build(said);
        const history = messages.slice(1, -1);
        const sizes = history.map((message) => countChars(message.content));
        // Escaping a marker may lengthen a text; none is generated.
        expect(Math.max(0, ...sizes)).toBeLessThanOrEqual(DEFAULT_LIMITS.messageChars);
        expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(DEFAULT_LIMITS.historyChars);
        const kept = said.slice(said.length - (said.length - built.manifest.leftOut.turns));
        const askedOf = history.filter(({ role }) => role === "user").map(({ content }) => content);
        expect(askedOf).toEqual(kept.map(({ asked }) => cutText(asked, DEFAULT_LIMITS.messageChars)));
        if (said.length > 0) expect(kept.length).toBeGreaterThan(0);
      }),
    );
  },
);

/** Two UTF-16 code units, one code point. */
const ASTRAL = "🦊";
const SEED_CAPS = { messageChars: 1400, summaryChars: 220, errorChars: 320, outputChars: 1000, historyChars: 12_000 };
/** Only what the seed counts is counted. */
const NO_TOKENS = { recentTokens: 1e9, toolResultTokens: 1e9, maxTurns: 1000 };
const resultOf = (callId: string, texts: { summary?: string; error?: string; output?: string }): string =>
  resultText({ tool: "fs.read_text", callId, summary: "", error: "", output: "", ...texts }, DEFAULT_LIMITS);

verifies(["O-6.1/summary", "O-6.1/error", "O-6.1/output"], "a result is cut part by part, in code points", () => {
  expect(DEFAULT_LIMITS).toMatchObject(SEED_CAPS);
  expect(contextLimits(DEFAULT_CONFIG)("main")).toMatchObject(SEED_CAPS);
  for (const [part, cap] of [
    ["summary", 220],
    ["error", 320],
    ["output", 1000],
  ] as const) {
    const whole = `${ASTRAL.repeat(cap - 1)}x`;
    expect(resultOf("c1", { [part]: whole })).toBe(`tool fs.read_text result (c1)\n${part}: ${whole}`);
    expect(resultOf("c1", { [part]: `${whole}y` })).toBe(
      `tool fs.read_text result (c1)\n${part}: ${ASTRAL.repeat(cap - 1)}…`,
    );
  }
  const all = resultOf("c1", { summary: ASTRAL.repeat(300), error: ASTRAL.repeat(400), output: ASTRAL.repeat(2000) });
  // 30 of the first line, 10 + 220 and 8 + 320 of the next two with their line ends: what is left is the output's.
  expect(countChars(all)).toBe(1400);
  expect(all.split("\n").map(countChars)).toEqual([29, 229, 327, 812]);
});

verifies(
  "O-6.1/message",
  "a message of 1400 code points is sent whole, a longer one is cut, in astral characters",
  () => {
    const whole = ASTRAL.repeat(1400);
    const { messages } = build(
      [
        { asked: whole, answered: `${whole}x`, calls: [] },
        { asked: `x${whole}`, answered: "short", calls: [] },
      ],
      NO_TOKENS,
    );
    expect(messages.slice(1, -1).map(({ content }) => content)).toEqual([
      whole,
      `${ASTRAL.repeat(1399)}…`,
      `x${ASTRAL.repeat(1398)}…`,
      "short",
    ]);
  },
);

verifies("O-6.1/total", "12000 code points are sent of a session, and not one more", () => {
  const turn = (words: number) => ({ asked: ASTRAL.repeat(words / 2), answered: ASTRAL.repeat(words / 2), calls: [] });
  const sent = (...words: readonly number[]): number => build(words.map(turn), NO_TOKENS).messages.length - 2;
  // The oldest first; of seven, six fit to the point.
  expect(sent(2000, 2000, 2000, 2000, 2000, 2000)).toBe(12);
  expect(sent(2, 2000, 2000, 2000, 2000, 2000, 2000)).toBe(12);
  expect(sent(2, 2000, 2000, 2000, 2000, 2000, 1998)).toBe(14);
  expect(sent(2, 2000, 2000, 2000, 2000, 2002, 1998)).toBe(12);
});

verifies(
  "O-6.1/oldest",
  "the oldest is dropped first, a call together with its result; the latest results stay",
  () => {
    const call = (callId: string) => {
      const result = resultOf(callId, { output: ASTRAL.repeat(1000) });
      return { callId, tool: "fs.read_text", args: '{"path":"a"}', ok: true, result };
    };
    const turns = [0, 1, 2, 3].map((at) => ({
      asked: `asked ${at}`,
      answered: `answered ${at}`,
      calls: [0, 1, 2, 3, 4].map((of) => call(`c${at}${of}`)),
    }));
    const { messages } = build(turns, NO_TOKENS);
    const called = messages.flatMap((each) => (each.role === "assistant" ? each.toolCalls.map(({ id }) => id) : []));
    const answered = messages.flatMap((each) => (each.role === "tool" ? [each.callId] : []));
    expect(called).toEqual(["c14", "c20", "c21", "c22", "c23", "c24", "c30", "c31", "c32", "c33", "c34"]);
    expect(answered).toEqual(called);
    const sum = messages.slice(1, -1).reduce((chars, each) => {
      const args = each.role === "assistant" ? each.toolCalls.map(() => '{"path":"a"}').join("") : "";
      return chars + countChars(each.content) + countChars(args);
    }, 0);
    expect(sum).toBeLessThanOrEqual(12_000);
    expect(sum).toBeGreaterThan(12_000 - 1100);
  },
);

verifies("O-6.1/pairs", "a result follows its call, and every call has its result", () => {
  fc.assert(
    fc.property(turns, (said) => {
      const { messages } = build(said);
      for (const [at, message] of messages.entries()) {
        if (message.role === "assistant") {
          const results = messages.slice(at + 1, at + 1 + message.toolCalls.length);
          expect(results.map((each) => (each.role === "tool" ? each.callId : null))).toEqual(
            message.toolCalls.map(({ id }) => id),
          );
        }
      }
      const results = messages.filter(({ role }) => role === "tool").length;
      const called = messages.reduce((sum, each) => sum + (each.role === "assistant" ? each.toolCalls.length : 0), 0);
      expect(results).toBe(called);
    }),
  );
});

verifies("T-3c", "results of earlier turns have at most 500 tokens, and at most ten turns are sent", () => {
  fc.assert(
    fc.property(turns, (said) => {
      const { messages, built } = build(said);
      const results = messages.filter(({ role }) => role === "tool");
      expect(results.reduce((sum, { content }) => sum + estimateTokens(content), 0)).toBeLessThanOrEqual(500);
      expect(said.length - built.manifest.leftOut.turns).toBeLessThanOrEqual(10);
    }),
  );
});
