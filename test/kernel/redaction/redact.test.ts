import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileRedactor } from "../../../src/kernel/redaction/redact.ts";
import {
  hasRedactionHole,
  MAX_REDACTION_DEPTH,
  restoreSecrets,
} from "../../../src/kernel/redaction/redaction-marker.ts";
import { MAX_SECRET_BYTES, MIN_SECRET_BYTES } from "../../../src/kernel/redaction/secret-encodings.ts";
import type { JsonValue } from "../../../src/kernel/vocabulary/parse-json.ts";
import fixture from "../../fixtures/adversarial.json" with { type: "json" };
import { verifies } from "../../requirements.ts";
import {
  anyValue,
  asLatin1,
  CANARY,
  DIGIT_DISGUISES,
  redactorFor,
  runsOf,
  textsWith,
  utf8Bytes,
  utf16Bytes,
  WHOLE_DISGUISES,
} from "./disguises.ts";

const redactor = redactorFor([{ name: "MOONSHOT_API_KEY", value: CANARY }]);
const clean = (text: string): string => redactor.redactText(text).text;
const HANDLE = "⟦secret:MOONSHOT_API_KEY⟧";
const HOLE = "[REDACTED:MOONSHOT_API_KEY]";

describe("the adversarial cases", () => {
  const EXPECTED: Readonly<Record<string, JsonValue>> = {
    already_marker: { text: "[REDACTED:openai]" },
    // The last digit also holds bits that are not the secret's.
    base64: { text: `${HOLE}g==` },
    env_dump: { text: `printenv output with MOONSHOT_API_KEY=${HANDLE}` },
    false_positive_git_sha: { text: "commit 3b6c956d0c0ffee0c0ffee0c0ffee0c0ffee0c0f" },
    hex: { text: HOLE },
    in_error_stack: { text: `Error: 401 from https://api.test/?key=${HANDLE}\n at x.js:1` },
    in_file_name: { text: `/tmp/${HANDLE}.txt` },
    in_object_key: { [HANDLE]: "x" },
    in_url_userinfo: { text: `https://user:${HANDLE}@host/` },
    json_escape: { text: HOLE },
    split_across_fields: { a: HOLE, b: HOLE },
    telegram_bot_token: { text: "https://api.telegram.org/bot[REDACTED:telegram]/getMe" },
    urlenc: { text: HANDLE },
  };
  const cases = (fixture as readonly { class: string; name: string; input: unknown }[]).filter(
    (entry) => entry.class === "redaction_evasion",
  );

  test("are all here", () => {
    expect(cases.map(({ name }) => name).sort()).toEqual(Object.keys(EXPECTED).sort());
  });

  for (const { name, input } of cases) {
    verifies(["P-4.5", "O-3.2"], `redaction evasion by ${name}`, () => {
      const once = redactor.redactJson(input as JsonValue);
      expect(once.value).toEqual(EXPECTED[name]);
      expect(once.paths.length > 0).toBe(JSON.stringify(once.value) !== JSON.stringify(input));
      expect(redactor.redactJson(once.value)).toEqual({ value: once.value, paths: [] });
    });
  }
});

describe("a loaded secret", () => {
  verifies(["P-4.5/secrets", "P-5.4"], "in plain form becomes its handle, wherever it stands", () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        const { redactText } = redactorFor([{ name: "N", value }]);
        expect(redactText(`<${value}>`)).toEqual({ text: "<⟦secret:N⟧>", found: ["N"] });
        expect(redactText(`<${value}><${value}>`).text).toBe("<⟦secret:N⟧><⟦secret:N⟧>");
      }),
    );
  });

  for (const [disguise, disguised] of Object.entries(WHOLE_DISGUISES)) {
    verifies("P-4.5", `leaves nothing when disguised as: ${disguise}`, () => {
      fc.assert(
        fc.property(anyValue, (value) => {
          const { redactText } = redactorFor([{ name: "N", value }]);
          expect(redactText(`<${disguised(value)}>`)).toEqual({ text: "<[REDACTED:N]>", found: ["N"] });
        }),
        { numRuns: 25 },
      );
    });
  }

  for (const [disguise, disguised] of Object.entries(DIGIT_DISGUISES)) {
    verifies("P-4.5", `leaves no more than an edge when disguised as: ${disguise}`, () => {
      fc.assert(
        fc.property(anyValue, (value) => {
          const { redactText } = redactorFor([{ name: "N", value }]);
          const { text } = redactText(`<${disguised(value)}>`);
          // Digits that hold a neighbour's bits, padding, and what separated them.
          expect(text).toMatch(/^<[\w+/\0.-]{0,4}\[REDACTED:N\][\w+/=.%\0\r\n-]{0,9}>$/);
        }),
        { numRuns: 25 },
      );
    });
  }

  test("in other scripts is found too, whatever the encoding", () => {
    for (const value of ["пароль-для-теста", "密码是一二三四五六", "pass😀wörd😀ünïcode", "€uro-schlüssel"]) {
      const { redactText } = redactorFor([{ name: "N", value }]);
      expect(redactText(`<${value}>`).text).toBe("<⟦secret:N⟧>");
      expect(redactText(`<${encodeURIComponent(value)}>`).text).toBe("<[REDACTED:N]>");
      expect(redactText(`<${asLatin1(utf16Bytes(value, false))}>`).text).toMatch(/^<[\0-\u00ff]?\[REDACTED:N\]\0?>$/);
      expect(redactText(`<${asLatin1(utf16Bytes(value, true))}>`).text).toMatch(/^<[\0 ]?\[REDACTED:N\]>$/);
      for (const disguise of Object.values({ ...WHOLE_DISGUISES, ...DIGIT_DISGUISES })) {
        const { text } = redactText(`<${disguise(value)}>`);
        expect(text).toContain("[REDACTED:N]");
        expect(text.replace("[REDACTED:N]", "").length).toBeLessThan(16);
      }
    }
  });

  verifies("P-4.5", "is not released in part: every fragment of 12 characters becomes a hole, one of 11 stays", () => {
    for (const fragment of runsOf(CANARY, 12)) expect(clean(`<${fragment}>`)).toBe(`<${HOLE}>`);
    for (const fragment of runsOf(CANARY, 11)) expect(clean(`<${fragment}>`)).toBe(`<${fragment}>`);
    for (const fragment of runsOf(CANARY, 12)) {
      for (const disguise of Object.values({ ...WHOLE_DISGUISES, ...DIGIT_DISGUISES })) {
        expect(clean(`<${disguise(fragment)}>`)).toContain(HOLE);
      }
    }
  });

  test("shorter than a fragment counts as a whole only", () => {
    const { redactText } = redactorFor([{ name: "N", value: "hunter-22" }]);
    expect(redactText("xhunter-22x hunter-2 unter-22").text).toBe("x⟦secret:N⟧x hunter-2 unter-22");
  });

  test("that holds escapes itself is found, as it is and disguised", () => {
    const value = "%41-&amp;-\\u0041-xyz+12";
    const { redactText } = redactorFor([{ name: "N", value }]);
    expect(redactText(`<${value}>`).text).toBe("<⟦secret:N⟧>");
    for (const disguise of Object.values(WHOLE_DISGUISES)) {
      expect(redactText(`<${disguise(value)}>`).text).toMatch(/^<(?:\\u0025)?\[REDACTED:N\]>$/);
    }
  });

  test("that holds an escape is found though another is written around it", () => {
    const { redactText } = redactorFor([{ name: "N", value: "ab%41cdefgh" }]);
    expect(redactText("<ab%41cdefg\\u0068>").text).toBe("<[REDACTED:N]>");
    expect(redactText("<ab%41cdefg\\u0069>").text).toBe("<ab%41cdefg\\u0069>");
  });

  test("that begins or ends within an escape takes the whole escape with it", () => {
    const { redactText } = redactorFor([{ name: "N", value: "41-value-%4" }]);
    expect(redactText("100%41-value-%4").text).toBe("100[REDACTED:N]");
    expect(redactText("41-value-%41!").text).toBe("[REDACTED:N]!");
  });

  test("is found with so much between two characters, and not with more", () => {
    const spread = (gap: string): string => [...CANARY].join(gap);
    expect(clean(spread(" ".repeat(16)))).toBe(HOLE);
    expect(clean(spread("\u200b".repeat(16)))).toBe(HOLE);
    expect(clean(spread(" ".repeat(17)))).toBe(spread(" ".repeat(17)));
  });

  test("in another case becomes a hole, since it is not the value", () => {
    expect(clean(`<${CANARY.toLowerCase()}>`)).toBe(`<${HOLE}>`);
  });

  test("next to, within and across other secrets keeps each apart where they do not overlap", () => {
    const inner = "inner-secret-value-1";
    const outer = `postgres://app:${inner}@db.internal/prod`;
    const { redactText } = redactorFor([
      { name: "INNER", value: inner },
      { name: "OUTER", value: outer },
      { name: "SAME", value: inner },
    ]);
    expect(redactText(outer)).toEqual({ text: "⟦secret:OUTER⟧", found: ["OUTER"] });
    expect(redactText(`x ${inner} y`)).toEqual({ text: "x ⟦secret:INNER⟧ y", found: ["INNER"] });
    expect(redactText(`${inner}${outer}`)).toEqual({ text: "⟦secret:INNER⟧⟦secret:OUTER⟧", found: ["INNER", "OUTER"] });
    expect(redactText(`${outer.slice(0, -1)}!`).text).toBe("[REDACTED:OUTER]!");
  });

  test("with lines in it is found with its lines, without them, and escaped in JSON", () => {
    const value = "-----BEGIN TEST-----\nAbCdEfGhIjKlMnOp0123\nqRsTuVwXyZ4567890123\n-----END TEST-----\n";
    const { redactText } = redactorFor([{ name: "PEM", value }]);
    expect(redactText(`a ${value} b`).text).toBe("a ⟦secret:PEM⟧\n b");
    expect(redactText(`a ${value.replaceAll("\n", "")} b`).text).toBe("a [REDACTED:PEM] b");
    expect(redactText(JSON.stringify({ value })).text).toBe('{"value":"[REDACTED:PEM]\\n"}');
  });

  test("cannot hide in something that looks like a marker", () => {
    expect(clean(`[REDACTED:${CANARY}]`)).toBe(`[REDACTED:${HANDLE}]`);
    expect(clean(`⟦secret:${CANARY}⟧`)).toBe(`⟦secret:${HANDLE}⟧`);
    expect(clean("⟦secret:MOONSHOT_API_KEY⟧ [REDACTED:MOONSHOT_API_KEY] [REDACTED:jwt]")).toBe(
      "⟦secret:MOONSHOT_API_KEY⟧ [REDACTED:MOONSHOT_API_KEY] [REDACTED:jwt]",
    );
  });

  test("comes back where its handle stands", () => {
    const { value } = redactor.redactJson({ url: `https://api.test/?key=${CANARY}`, n: 1 });
    const lookup = (name: string) => (name === "MOONSHOT_API_KEY" ? CANARY : undefined);
    expect(hasRedactionHole(value)).toBe(false);
    expect(restoreSecrets(value, lookup)).toEqual({
      ok: true,
      value: { url: `https://api.test/?key=${CANARY}`, n: 1 },
    });
    expect(hasRedactionHole(redactor.redactJson([CANARY.slice(0, 20)]).value)).toBe(true);
  });

  test.each([
    [
      "value-too-short",
      1,
      [
        { name: "A", value: CANARY },
        { name: "B", value: "1234567" },
      ],
    ],
    ["value-too-long", 0, [{ name: "A", value: "a".repeat(MAX_SECRET_BYTES + 1) }]],
    ["value-too-long", 0, [{ name: "A", value: `${"a".repeat(MAX_SECRET_BYTES - 1)}é` }]],
    ["value-too-short", 0, [{ name: "A", value: "1 2 3\n4\\5\t6\u200b7" }]],
    ["name-invalid", 0, [{ name: "a b", value: CANARY }]],
    ["name-invalid", 0, [{ name: "", value: CANARY }]],
    [
      "name-repeated",
      2,
      [
        { name: "A", value: CANARY },
        { name: "B", value: CANARY },
        { name: "A", value: "another-value" },
      ],
    ],
    [
      "name-holds-secret",
      1,
      [
        { name: "A", value: CANARY },
        { name: CANARY.slice(4, 20), value: "another-value" },
      ],
    ],
  ] as const)("is refused when compiling: %s", (reason, index, secrets) => {
    expect(compileRedactor({ secrets, emails: false, phones: false })).toEqual({ ok: false, reason, index });
  });

  test("of the greatest length is taken", () => {
    const value = `${"abcdefgh".repeat(MAX_SECRET_BYTES / 8 - 1)}abcdefé`;
    expect(utf8Bytes(value).length).toBe(MAX_SECRET_BYTES);
    expect(redactorFor([{ name: "A", value }]).redactText(`(${value})`).text).toBe("(⟦secret:A⟧)");
  });

  test("of the least length is taken", () => {
    const value = "1234567x";
    expect(value.length).toBe(MIN_SECRET_BYTES);
    expect(redactorFor([{ name: "A", value }]).redactText(`(${value})`).text).toBe("(⟦secret:A⟧)");
  });
});

verifies(
  ["P-4.5", "P-5.4"],
  "redacting twice is redacting once, and no secret is left",
  () => {
    const values = [CANARY, "hunter-22", "%41-&amp;-\\u0041-xyz", "aaaaaaaaaaaaaaaa", "]0123456789abcdef["];
    const fragments = values.flatMap((value) => runsOf(value, Math.min(12, value.length)));
    const strict = redactorFor(
      values.map((value, index) => ({ name: "ABCDE".charAt(index), value })),
      { emails: true, phones: true },
    );
    fc.assert(
      fc.property(textsWith(values), (text) => {
        const once = strict.redactText(text);
        expect(strict.redactText(once.text)).toEqual({ text: once.text, found: [] });
        expect(fragments.filter((fragment) => once.text.includes(fragment))).toEqual([]);
        if (once.found.length === 0) expect(once.text).toBe(text);
      }),
      { numRuns: 800 },
    );
  },
  60_000,
);

describe("JSON", () => {
  verifies("O-3.2", "paths name every place where something was redacted, and no other", () => {
    expect(
      redactor.redactJson({
        type: "tool.call",
        payload: { input: { token: CANARY, safe: "x", list: ["a", { b: `y ${CANARY}` }], n: 1, t: true, z: null } },
      }),
    ).toEqual({
      value: {
        type: "tool.call",
        payload: { input: { token: HANDLE, safe: "x", list: ["a", { b: `y ${HANDLE}` }], n: 1, t: true, z: null } },
      },
      paths: ["payload.input.token", "payload.input.list[1].b"],
    });
    expect(redactor.redactJson(CANARY)).toEqual({ value: HANDLE, paths: [""] });
    expect(redactor.redactJson([CANARY])).toEqual({ value: [HANDLE], paths: ["[0]"] });
  });

  verifies("O-3.2", "keys are redacted, stay apart, and paths do not give them away", () => {
    const upper = CANARY.toUpperCase();
    expect(
      redactor.redactJson({ [upper]: 1, x: { [CANARY.slice(0, 20)]: { a: CANARY } }, [CANARY.slice(9)]: 2 }),
    ).toEqual({
      value: { [HOLE]: 1, x: { [HOLE]: { a: HANDLE } }, [`${HOLE}#2`]: 2 },
      paths: [HOLE, `x.${HOLE}`, `x.${HOLE}.a`, `${HOLE}#2`],
    });
  });

  test("a path strung together from harmless keys is redacted itself", () => {
    const [first, second] = ["736b2d74657374", "2d43414e415259"];
    expect(redactor.redactJson({ [first]: { [second]: CANARY } })).toEqual({
      value: { [first]: { [second]: HANDLE } },
      paths: [HOLE],
    });
  });

  test("a secret made of digits is found in a number", () => {
    const { redactJson } = redactorFor([{ name: "PIN", value: "123456789012" }]);
    expect(redactJson({ a: 123456789012, b: 12345, c: 1.5 })).toEqual({
      value: { a: "⟦secret:PIN⟧", b: 12345, c: 1.5 },
      paths: ["a"],
    });
  });

  test("what is nested too deep is not looked through but replaced", () => {
    let value: JsonValue = CANARY;
    for (let level = 0; level < MAX_REDACTION_DEPTH; level += 1) value = [value];
    expect(JSON.stringify(redactor.redactJson(value).value)).toContain(HANDLE);
    const deeper = redactor.redactJson([value]);
    expect(JSON.stringify(deeper.value)).toContain('"[REDACTED:too_deep]"');
    expect(deeper.paths).toEqual(["[0]".repeat(MAX_REDACTION_DEPTH)]);
    expect(redactor.redactJson(deeper.value)).toEqual({ value: deeper.value, paths: [] });
  });

  test("other values pass unharmed, whatever their keys are called", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(redactor.redactJson(value as JsonValue)).toEqual({ value, paths: [] });
      }),
    );
    const odd = JSON.parse('{"__proto__": {"a": 1}, "constructor": 2}') as JsonValue;
    expect(JSON.stringify(redactor.redactJson(odd).value)).toBe('{"__proto__":{"a":1},"constructor":2}');
  });
});
