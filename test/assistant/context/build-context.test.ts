/** Whatever a session holds, its prompt keeps the limits and never tears a call from its result. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { buildContext } from "../../../src/assistant/context/build-context.ts";
import { DEFAULT_LIMITS } from "../../../src/assistant/context/context-limits.ts";
import type { SessionTurn } from "../../../src/assistant/context/session-turn.ts";
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

function build(said: readonly { asked: string; answered: string; calls: SessionTurn["calls"] }[]) {
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
    limits: DEFAULT_LIMITS,
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

verifies("O-6.1", "1400 code points a message, 12000 together, the oldest dropped first", () => {
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
});

test("a result follows its call, and every call has its result", () => {
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
