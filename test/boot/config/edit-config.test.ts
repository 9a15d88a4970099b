import fc from "fast-check";
import JSON5 from "json5";
import { describe, expect, test } from "vitest";
import { parsePath, printPath } from "../../../src/boot/config/config-path.ts";
import { editConfig, removeFromConfig } from "../../../src/boot/config/edit-config.ts";
import { outlineOf } from "../../../src/boot/config/json5-outline.ts";

describe("one value set anew", () => {
  const WRITTEN = `// mine
{
  gateway: {
    port: 8080, // not the usual one
    /* nobody else */ host: '127.0.0.1' // here
  },
  agents: { main: {} },
}
`;

  test.each([
    ["gateway.port", 1, WRITTEN.replace("8080", "1")],
    ["gateway.host", "::1", WRITTEN.replace("'127.0.0.1'", '"::1"')],
    [
      "gateway.queue.max",
      5,
      WRITTEN.replace("'127.0.0.1' // here\n", "'127.0.0.1', // here\n    queue: {\n      max: 5,\n    },\n"),
    ],
    ["agents.main.prompt", "x", WRITTEN.replace("main: {}", 'main: { prompt: "x" }')],
    ["agents.other", {}, WRITTEN.replace("main: {} }", "main: {}, other: {} }")],
    ["budgets.perRunUsd", 1, WRITTEN.replace("main: {} },\n", "main: {} },\n  budgets: {\n    perRunUsd: 1,\n  },\n")],
  ])("%s: comments and order stay", (path, value, expected) => {
    expect(editConfig(WRITTEN, path.split("."), value)).toBe(expected);
  });

  test.each([
    ["{}", "{ a: 1 }"],
    ["{\n}\n", "{\n  a: 1,\n}\n"],
    ["{// c\r\n}", "{// c\r\n  a: 1,\n}"],
    ["{b: 2}", "{b: 2, a: 1 }"],
    ["{b: 2,}", "{b: 2, a: 1 }"],
    ["{b: 2 /* , */}", "{b: 2, /* , */ a: 1 }"],
    ["{b: 2 // ,\n}", "{b: 2, // ,\n  a: 1,\n}"],
  ])("%j becomes %j", (text, expected) => {
    expect(editConfig(text, ["a"], 1)).toBe(expected);
  });

  test("what is no object is not stepped into", () => {
    expect(editConfig("{a: 1}", ["a", "b"], 1)).toBeNull();
    expect(editConfig("{a: [1]}", ["a", "0"], 1)).toBeNull();
    expect(editConfig("{a: 1}", [], 1)).toBeNull();
  });

  test("any object, however it is printed, keeps everything else", () => {
    const key = fc.constantFrom("a", "b", "c d", "gpt-4.1", 'q"', "é");
    const value = fc.letrec((tie) => ({
      any: fc.oneof({ depthSize: "small" }, fc.jsonValue({ maxDepth: 0 }), fc.array(tie("any")), tie("object")),
      object: fc.dictionary(key, tie("any")),
    }));
    fc.assert(
      fc.property(
        value.object,
        fc.array(key, { minLength: 1, maxLength: 3 }),
        fc.jsonValue(),
        fc.constantFrom(0, 2),
        (object, path, inner, space) => {
          // editConfig compares for itself and throws a Defect where anything else changed.
          const edited = editConfig(JSON5.stringify(object, null, space), path, inner);
          expect(edited === null || typeof JSON5.parse(edited) === "object").toBe(true);
        },
      ),
    );
  });
});

describe("one value removed", () => {
  test.each([
    ["{a: 1}", "{}"],
    ["{a: 1, b: 2}", "{b: 2}"],
    ["{b: 2, a: 1}", "{b: 2, }"],
    ["{\n  // why\n  a: 1, // here\n  b: 2,\n}", "{\n  // why\n  // here\n  b: 2,\n}"],
    ["{\n  a: 1,\n  b: 2\n}", "{\n  b: 2\n}"],
    ["{\r\n  a: {\r\n    c: 1\r\n  },\r\n  b: 2\r\n}", "{\r\n  b: 2\r\n}"],
    ["{a: 1, b: 2, 'a': 3}", "{b: 2, }"],
    ["{a: 1 /* , */, b: 2}", "{ /* , */ b: 2}"],
  ])("%j becomes %j", (text, expected) => {
    expect(removeFromConfig(text, ["a"])).toBe(expected);
  });

  test("what is not written, or is no object, is left alone", () => {
    for (const path of [["b"], ["a", "0"], ["a", "b"], []]) expect(removeFromConfig("{a: [1]}", path)).toBeNull();
  });

  test("any object, however it is printed, keeps everything else", () => {
    const key = fc.constantFrom("a", "b", "c d", 'q"');
    const { object } = fc.letrec((tie) => ({
      object: fc.dictionary(key, fc.oneof(fc.jsonValue({ maxDepth: 1 }), tie("object"))),
    }));
    fc.assert(
      fc.property(
        object,
        fc.array(key, { minLength: 1, maxLength: 3 }),
        fc.constantFrom(0, 2),
        (value, path, space) => {
          // removeFromConfig compares for itself and throws a Defect where anything else changed.
          const edited = removeFromConfig(JSON5.stringify(value, null, space), path);
          expect(edited === null || typeof JSON5.parse(edited) === "object").toBe(true);
        },
      ),
    );
  });
});

describe("paths", () => {
  test.each([
    ["", []],
    ["gateway.port", ["gateway", "port"]],
    ['models["gpt-4.1"].tier', ["models", "gpt-4.1", "tier"]],
    ["a[0].b", ["a", "0", "b"]],
    ['["a b"]', ["a b"]],
  ])("%j", (text, path) => {
    expect(parsePath(text)).toEqual(path);
  });

  test.each([".", "a.", ".a", "a..b", "a[", 'a["x]', "a[x]", "a b", 'a["\\x"]'])("%j is none", (text) => {
    expect(parsePath(text)).toBeNull();
  });

  test("every path is read as it was printed", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary", minLength: 1 })), (path) => {
        expect(parsePath(printPath(path))).toEqual(path);
      }),
    );
  });
});

describe("the outline", () => {
  const keysOf = (value: unknown): unknown =>
    typeof value === "object" && value !== null
      ? Object.entries(value).map(([key, inner]) => [key, keysOf(inner)])
      : null;
  const outlined = ({ kind, members }: ReturnType<typeof outlineOf>): unknown =>
    kind === "scalar" ? null : members.map(({ key, value }) => [key, outlined(value)]);

  test("has the keys and the nesting that the library reads", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom(0, 2, "\t"), (value, space) => {
        const text = JSON5.stringify(value, null, space);
        expect(outlined(outlineOf(text))).toEqual(keysOf(JSON5.parse(text)));
      }),
    );
  });

  test.each([
    "{/* { */ a /* : */ : /* x */ [1, /* ] */ 2,], // }\n 'b\\'': \"}\\\"\", c: -Infinity, \\u0064: +.5e-3}",
    "\uFEFF\n[ [], {}, [{}], 'a\\\nb' ]//",
  ])("%s", (text) => {
    expect(outlined(outlineOf(text))).toEqual(keysOf(JSON5.parse(text)));
  });
});
