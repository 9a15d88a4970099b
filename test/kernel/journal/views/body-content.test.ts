import { describe, expect, test } from "vitest";
import { argsOf, contentOf, ERASED, type Lookup, textOf } from "../../../../src/kernel/journal/views/body-content.ts";
import { asBodyRef } from "../../../../src/kernel/vocabulary/identifiers.ts";
import { verifies } from "../../../requirements.ts";
import { hashOf } from "./canned-events.ts";

const ref = asBodyRef(hashOf("body"));
const holding =
  (text: string | null): Lookup =>
  (asked) =>
    asked === ref ? text : "another body";

verifies("X-25", "an erased body is shown as erased, and never taken for no body at all", () => {
  expect(textOf(ref, holding(null))).toBe("[erased]");
  expect(contentOf(ref, holding(null))).toBe(ERASED);
  expect(argsOf(ref, holding(null))).toEqual({ "[erased]": true });
  expect(textOf(null, holding(null))).toBeNull();
  expect(contentOf(null, holding("{}"))).toBeNull();
});

test("text is shown as it is, empty text too", () => {
  expect(textOf(ref, holding("hello"))).toBe("hello");
  expect(textOf(ref, holding(""))).toBe("");
});

describe("content", () => {
  test.each([
    ['{"a":[1]}', { a: [1] }],
    ["[1,2]", [1, 2]],
    ["42", "42"],
    ["null", "null"],
    ['"quoted"', '"quoted"'],
    ['{"cut": "off', '{"cut": "off'],
    ["", ""],
  ])("%s", (text, shown) => {
    expect(contentOf(ref, holding(text))).toEqual(shown);
  });
});

describe("arguments are always an object", () => {
  test.each([
    ['{"path":"a.txt"}', { path: "a.txt" }],
    ["[1]", { "[text]": [1] }],
    ["not json", { "[text]": "not json" }],
    ["", { "[text]": "" }],
  ])("%s", (text, shown) => {
    expect(argsOf(ref, holding(text))).toEqual(shown);
  });
});
