import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MAX_PATTERN_HELD_CHARS } from "../../../src/kernel/redaction/pattern-scanner.ts";
import type { Redactor } from "../../../src/kernel/redaction/redact.ts";
import { verifies } from "../../requirements.ts";
import {
  anyCuts,
  CANARY,
  cutAt,
  DIGIT_DISGUISES,
  redactorFor,
  runsOf,
  textsWith,
  WHOLE_DISGUISES,
} from "./disguises.ts";

const VALUES = [CANARY, "hunter-22", "%41-&amp;-\\u0041-xyz", "aaaaaaaaaaaaaaaa", "two words\nand a line"];
const redactor = redactorFor(
  VALUES.map((value, index) => ({ name: "ABCDE".charAt(index), value })),
  { emails: true, phones: true },
);

function streamed(
  { stream }: Redactor,
  chunks: readonly string[],
): { readonly text: string; readonly maxHeld: number; readonly maxHeldByPatterns: number } {
  let state = stream.start();
  let text = "";
  let maxHeld = 0;
  let maxHeldByPatterns = 0;
  for (const chunk of chunks) {
    const [next, released] = stream.push(state, chunk);
    state = next;
    text += released;
    maxHeld = Math.max(maxHeld, state.known.held.length + state.patterns.held.length);
    maxHeldByPatterns = Math.max(maxHeldByPatterns, state.patterns.held.length);
  }
  return { text: text + stream.finish(state), maxHeld, maxHeldByPatterns };
}

verifies(
  ["P-4.5", "P-5.4"],
  "however a text is cut, the stream releases what the whole would become",
  () => {
    fc.assert(
      fc.property(textsWith(VALUES), anyCuts, (text, cuts) => {
        const whole = redactor.redactText(text).text;
        expect(streamed(redactor, cutAt(text, cuts)).text).toBe(whole);
        expect(streamed(redactor, [...text]).text).toBe(whole);
      }),
      { numRuns: 400 },
    );
  },
  60_000,
);

describe("at every cut in two, and one character at a time", () => {
  const samples: readonly (readonly [string, string])[] = [
    ...Object.entries({ ...WHOLE_DISGUISES, ...DIGIT_DISGUISES }).map(([name, disguise]): [string, string] => [
      name,
      disguise(CANARY.slice(0, 18)),
    ]),
    ["plain", CANARY],
    ["twice", CANARY + CANARY],
    ["short", "hunter-22hunter-22"],
    ["periodic", "a".repeat(70)],
    ["lines", "two words\nand a line"],
    ["marker", "[REDACTED:openai]⟦secret:A⟧[REDACTED:nobody]"],
    ["jwt", "eyJhbGciOiJ9.eyJzdWIiOiJ9.c2ln"],
    ["pem", "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----"],
    ["url", "postgres://u:p@ss@host/x"],
    ["assignment", 'api_key = "abcdefghijklmn123456"'],
    ["mail and phone", "a.b@mail.example.com +49 30 1234567, 555-123-4567"],
  ];

  for (const [name, sample] of samples) {
    verifies("P-4.5", name, () => {
      const text = `see <${sample}> ok`;
      const whole = redactor.redactText(text).text;
      expect(whole).not.toBe(name === "marker" ? "" : text);
      for (let at = 0; at <= text.length; at += 1) {
        expect(streamed(redactor, [text.slice(0, at), text.slice(at)]).text).toBe(whole);
      }
      expect(streamed(redactor, text.split("")).text).toBe(whole);
    });
  }
});

verifies(
  ["P-4.5", "P-5.4"],
  "nothing that was released ever holds a secret or a fragment of one",
  () => {
    const fragments = VALUES.flatMap((value) => runsOf(value, Math.min(12, value.length)));
    fc.assert(
      fc.property(textsWith(VALUES), anyCuts, (text, cuts) => {
        let state = redactor.stream.start();
        let released = "";
        for (const chunk of [...cutAt(text, cuts), null]) {
          if (chunk === null) released += redactor.stream.finish(state);
          else {
            const [next, output] = redactor.stream.push(state, chunk);
            state = next;
            released += output;
          }
          expect(fragments.filter((fragment) => released.includes(fragment))).toEqual([]);
        }
      }),
      { numRuns: 150 },
    );
  },
  60_000,
);

test("a state can be pushed to twice, with the same answer", () => {
  const { stream } = redactor;
  const [state] = stream.push(stream.start(), `x ${CANARY.slice(0, 20)}`);
  const answers = [1, 2].map(() => {
    const [next, output] = stream.push(state, `${CANARY.slice(20)} y `);
    return output + stream.finish(next);
  });
  expect(answers).toEqual(["⟦secret:A⟧ y ", "⟦secret:A⟧ y "]);
  expect(stream.finish(state)).toBe("[REDACTED:A]");
});

describe("what is held back", () => {
  test("is little in ordinary prose", () => {
    const prose =
      "Here is what I found: the meeting is at 10:30 on Monday, 100% sure. See https://example.com/a?b=c&d=e for more. ";
    const plain = redactorFor([{ name: "A", value: CANARY }]);
    expect(streamed(plain, prose.repeat(20).split("")).maxHeld).toBeLessThanOrEqual(64);
  });

  const HOSTILE: readonly (readonly [string, string])[] = [
    ["a periodic secret without end", "a".repeat(4000)],
    ["secrets spaced out", [...CANARY.repeat(5)].join(" ".repeat(16))],
    ["secrets spaced out too far", [...CANARY.repeat(5)].join(" ".repeat(17))],
    ["escaped spaces", [...CANARY.repeat(2)].join("%2525252520".repeat(16))],
    ["white space", " ".repeat(4000)],
    ["backslashes", "\\".repeat(4000)],
    ["openings", "[REDACTED:".repeat(400)],
    ["prefixes", "sk-".repeat(1300)],
    ["a key without digits", `sk-${"a-".repeat(2000)}`],
    ["a token without end", `sk-${"a1".repeat(2000)}`],
    ["half a JWT", `eyJ${"a".repeat(4000)}`],
    ["JWTs", "eyJ.".repeat(1000)],
    ["a password without end", `https://a:${"b:@".repeat(1300)}`],
    ["an address without end", `${"a.".repeat(2000)}@${"b.".repeat(2000)}`],
    ["digits", "0123456789".repeat(400)],
    ["dashes", "-".repeat(4000)],
    ["a PEM block without end", `-----BEGIN PRIVATE KEY-----${"MIIE\n".repeat(800)}`],
    ["assignments", "password=".repeat(500)],
    ["separators", "token : ".repeat(500)],
  ];
  test.each(HOSTILE)("is bounded for %s, and the answer is the same", (_, text) => {
    const result = streamed(redactor, text.match(/.{1,7}/gs) ?? []);
    expect(result.maxHeld).toBeLessThanOrEqual(redactor.stream.maxHeldChars);
    expect(result.maxHeldByPatterns).toBeLessThanOrEqual(MAX_PATTERN_HELD_CHARS);
    expect(result.text).toBe(redactor.redactText(text).text);
  });

  test("by an undecided pattern is asked about again once it has grown by an eighth", () => {
    const { stream } = redactorFor([]);
    const undecided = `sk-${"a".repeat(61)}`;
    const [held, nothing] = stream.push(stream.start(), undecided);
    expect([nothing, held.patterns.held]).toEqual(["", undecided]);
    const [still, nothingYet] = stream.push(held, " ".repeat(7));
    expect([nothingYet, still.patterns.held]).toEqual(["", undecided + " ".repeat(7)]);
    const [decided, released] = stream.push(still, " ");
    expect([released, decided.patterns.held]).toEqual([undecided + " ".repeat(8), ""]);
    expect(stream.finish(still)).toBe(undecided + " ".repeat(7));
  });

  test("does not grow with a stretch that can no longer be a value", () => {
    expect(streamed(redactor, "a".repeat(4000).split("")).maxHeld).toBeLessThan(200);
  });
});
