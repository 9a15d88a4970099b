import { type TObject, Type } from "typebox";
import { describe, expect, test } from "vitest";
import { defineTool, type Tool } from "../../../src/adapters/tools/define-tool.ts";
import { lintTool } from "../../../src/adapters/tools/lint-tool.ts";
import { Defect } from "../../../src/kernel/vocabulary/defect.ts";
import { USER_LABELS } from "../../../src/kernel/vocabulary/labels.ts";
import { verifies } from "../../requirements.ts";

const closed = { additionalProperties: false } as const;

function toolWith(changes: Partial<Tool>): Tool {
  return defineTool({
    name: "demo.echo",
    description: "Says it again.",
    parameters: Type.Object({ text: Type.String() }, closed),
    risk: "read_only",
    idempotency: "read_only",
    plan: () => ({ shown: "echo", labels: USER_LABELS }),
    run: async () => await Promise.resolve(null),
    summarize: () => "echoed",
    ...changes,
  });
}

function problemOf(changes: Partial<Tool>): string {
  try {
    lintTool(toolWith(changes));
  } catch (error) {
    expect(error).toBeInstanceOf(Defect);
    return (error as Defect).message;
  }
  return "";
}

const object = (properties: TObject["properties"]) => Type.Object(properties, closed);

describe("a tool is refused at registration", () => {
  const refused: readonly (readonly [string, Partial<Tool>, RegExp])[] = [
    [
      "a union of literals",
      { parameters: object({ mode: Type.Union([Type.Literal("a"), Type.Literal("b")]) }) },
      /parameters\/mode is a union of fixed values/,
    ],
    [
      "a union of enums, deep inside",
      { parameters: object({ list: Type.Array(object({ m: Type.Union([Type.Enum(["a"]), Type.Literal(2)]) })) }) },
      /parameters\/list\/items\/m is a union/,
    ],
    ["a property called format", { parameters: object({ format: Type.String() }) }, /called format/],
    ["one inside", { parameters: object({ inner: object({ format: Type.String() }) }) }, /parameters\/inner .* format/],
    ["an open object", { parameters: Type.Object({ text: Type.String() }) }, /open object/],
    [
      "an open object inside a union",
      { parameters: object({ inner: Type.Union([Type.Null(), Type.Object({})]) }) },
      /parameters\/inner\/1 is an open object/,
    ],
    [
      "an open object among other types",
      { parameters: object({ inner: Type.Unsafe({ type: ["object", "null"] }) }) },
      /open object/,
    ],
    ["a record", { parameters: object({ map: Type.Record(Type.String(), Type.String()) }) }, /open object/],
    ["an unknown value", { parameters: object({ any: Type.Unknown() }) }, /says nothing/],
    ["camelCase", { parameters: object({ maxBytes: Type.String() }) }, /snake_case/],
    ["an optional parameter without a default", { parameters: object({ a: Type.Optional(Type.String()) }) }, /default/],
    ["a required parameter with one", { parameters: object({ a: Type.String({ default: "x" }) }) }, /default/],
    ["a name with a capital", { name: "demo.Echo" }, /name/],
    ["a name that could be two on the wire", { name: "demo__echo" }, /name/],
    ["a long description", { description: "x".repeat(301) }, /description/],
    ["no description", { description: "" }, /description/],
    [
      "a keyword that no grammar can enforce",
      { parameters: Type.Object({ text: Type.String({ pattern: "^a" }) }, closed) },
      /no grammar can enforce parameters\/properties\/text\/pattern/,
    ],
    ["no time", { timeoutMs: 0 }, /timeout/],
    ["an alias that is no name", { aliases: [{ name: "Echo!" }] }, /alias/],
    ["an alias to nowhere", { aliases: [{ name: "echo", rename: { words: "texts" } }] }, /not a parameter/],
    ["an alias that hides a parameter", { aliases: [{ name: "echo", ignore: { text: "" } }] }, /hides/],
  ];
  for (const [what, changes, message] of refused) {
    const clause = /union of/.test(what) ? "P-3.1/unions" : /format/.test(what) ? "P-3.1/format" : "P-3.1";
    verifies(clause, `for ${what}`, () => {
      expect(problemOf(changes)).toMatch(message);
      expect(problemOf(changes)).toContain(`tool ${changes.name ?? "demo.echo"} cannot be registered`);
    });
  }
});

test.each<[string, Partial<Tool>]>([
  ["a plain tool", {}],
  ["an enum", { parameters: object({ mode: Type.Enum(["a", "b"]) }) }],
  ["a union no enum can be", { parameters: object({ text: Type.Union([Type.String(), Type.Null()]) }) }],
  ["lists and closed objects", { parameters: object({ list: Type.Array(object({ a: Type.Integer() })) }) }],
  ["an alias", { aliases: [{ name: "echo", rename: { words: "text" }, ignore: { loud: false } }] }],
])("%s is registered", (_what, changes) => {
  expect(problemOf(changes)).toBe("");
});
