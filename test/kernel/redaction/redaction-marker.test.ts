import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  handleOf,
  hasRedactionHole,
  holeOf,
  isSecretName,
  MAX_REDACTION_DEPTH,
  readMarker,
  restoreSecrets,
  startsMarker,
} from "../../../src/kernel/redaction/redaction-marker.ts";
import type { JsonValue } from "../../../src/kernel/vocabulary/parse-json.ts";

const nested = (depth: number, inner: JsonValue): JsonValue => {
  let value = inner;
  for (let level = 0; level < depth; level += 1) value = level % 2 ? { a: value } : [value];
  return value;
};

describe("reading markers", () => {
  const names = ["A", "MOONSHOT_API_KEY", "a.b-c_9", "x".repeat(64)];
  test.each(names.flatMap((name) => [handleOf(name), holeOf(name)]))("%s is read whole, at every cut", (marker) => {
    expect(startsMarker(marker.charCodeAt(0))).toBe(true);
    expect(readMarker(`ab${marker}cd`, 2, false)).toBe(marker);
    for (let length = 1; length < marker.length; length += 1) {
      expect(readMarker(marker.slice(0, length), 0, false)).toBeUndefined();
      expect(readMarker(marker.slice(0, length), 0, true)).toBe("");
    }
  });

  test.each(["[", "[REDACTED:", "[REDACTED:A", "⟦", "⟦secret:A"])("%s may still become one", (text) => {
    expect(readMarker(text, 0, false)).toBeUndefined();
  });

  test.each([
    "[x",
    "[REDACTED]",
    "[REDACTED:]",
    "[REDACTED:a b",
    "⟦secret:⟧",
    "⟦secret:A]",
    `[REDACTED:${"x".repeat(65)}`,
    "[REDACTED:é",
  ])("%s never becomes one", (text) => {
    expect(readMarker(text, 0, false)).toBe("");
  });

  test("names are short and plain", () => {
    expect(names.every(isSecretName)).toBe(true);
    expect(["", "a b", "é", "a]", "a⟧", "a\n", "x".repeat(65)].some(isSecretName)).toBe(false);
  });
});

describe("holes", () => {
  test.each<[string, JsonValue]>([
    ["a string", "x [REDACTED:jwt] y"],
    ["a key", { "[REDACTED:A]": 1 }],
    ["deep inside", { a: [1, { b: "[REDACTED:A]" }] }],
    ["any label", "[REDACTED:something else]"],
    ["a label of 128", `[REDACTED:${"x".repeat(128)}]`],
    ["too deep to look", nested(MAX_REDACTION_DEPTH + 1, 1)],
  ])("%s", (_, value) => {
    expect(hasRedactionHole(value)).toBe(true);
  });

  test.each<[string, JsonValue]>([
    ["nothing", null],
    ["numbers and truth", [1, true, false, null, {}]],
    ["a handle", { url: "⟦secret:A⟧" }],
    ["an unfinished hole", "[REDACTED:"],
    ["an empty label", "[REDACTED:]"],
    ["as deep as may be", nested(MAX_REDACTION_DEPTH, 1)],
  ])("none in %s", (_, value) => {
    expect(hasRedactionHole(value)).toBe(false);
  });
});

describe("restoring", () => {
  const lookup = (name: string): string | undefined => ({ A: "alpha", B: "⟦secret:A⟧", C: "$& $1" })[name];

  test("puts values back in strings and keys, any number of times", () => {
    const value = { "x-⟦secret:A⟧": ["Bearer ⟦secret:A⟧ ⟦secret:A⟧", 1, null, true, { b: "⟦secret:C⟧" }] };
    expect(restoreSecrets(value, lookup)).toEqual({
      ok: true,
      value: { "x-alpha": ["Bearer alpha alpha", 1, null, true, { b: "$& $1" }] },
    });
  });

  test("does not look for handles in what it put back", () => {
    expect(restoreSecrets("⟦secret:B⟧", lookup)).toEqual({ ok: true, value: "⟦secret:A⟧" });
  });

  test.each<[JsonValue, string]>([
    ["⟦secret:Z⟧", "Z"],
    [["⟦secret:A⟧ ⟦secret:Y⟧ ⟦secret:Z⟧"], "Y"],
    [{ "⟦secret:Z⟧": 1 }, "Z"],
    [{ a: { b: "⟦secret:⟧" } }, ""],
    ["⟦secret:not a name⟧", "not a name"],
  ])("refuses an unknown name: %j", (value, name) => {
    expect(restoreSecrets(value, lookup)).toEqual({ ok: false, reason: "unknown-secret", name });
  });

  test("refuses when two keys would become one", () => {
    expect(restoreSecrets({ alpha: 1, "⟦secret:A⟧": 2 }, lookup)).toEqual({
      ok: false,
      reason: "key-collision",
      name: "⟦secret:A⟧",
    });
  });

  test("refuses what is too deep", () => {
    expect(restoreSecrets(nested(MAX_REDACTION_DEPTH, "⟦secret:A⟧"), lookup).ok).toBe(true);
    expect(restoreSecrets(nested(MAX_REDACTION_DEPTH + 1, "x"), lookup)).toEqual({
      ok: false,
      reason: "too-deep",
      name: "",
    });
  });

  test("changes nothing where there is no handle, whatever the keys are called", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(restoreSecrets(value as JsonValue, lookup)).toEqual({ ok: true, value });
      }),
    );
    const odd = JSON.parse('{"__proto__": 1, "constructor": 2}') as JsonValue;
    const restored = restoreSecrets(odd, lookup);
    expect(restored.ok && JSON.stringify(restored.value)).toBe('{"__proto__":1,"constructor":2}');
  });
});
