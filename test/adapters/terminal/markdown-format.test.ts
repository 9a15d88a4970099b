import { describe, expect, test } from "vitest";
import { markdownFormat } from "../../../src/adapters/terminal/markdown-format.ts";
import type { Style } from "../../../src/adapters/terminal/style.ts";
import { styleFor } from "../../../src/adapters/terminal/style.ts";

const tagged = (name: string) => (text: string) => (text === "" ? "" : `<${name}>${text}</${name}>`);
const names = ["bold", "dim", "red", "green", "yellow", "cyan"] as const;
const COLOURED = Object.fromEntries(names.map((name) => [name, tagged(name)])) as Style;
const PLAIN = styleFor({}, false);

const rows = (text: string, columns = 80, style = COLOURED): readonly string[] => {
  const format = markdownFormat(style);
  return text.split("\n").flatMap((line) => format.rows(line, columns, true));
};

describe("Markdown on a terminal", () => {
  test("with colours, marks with their pair become colours", () => {
    expect(rows("# A *title*\nIt is **very** `good`, 2 ** 3\n- one\n  1. two")).toEqual([
      "<bold>A *title*</bold>",
      "It is <bold>very</bold> <cyan>good</cyan>, 2 ** 3",
      "• one",
      "  1. two",
    ]);
  });

  test("without colours the text stays as it was written", () => {
    const text = "# Title\nIt is **very** `good`\n- one";
    expect(rows(text, 80, PLAIN).join("\n")).toBe(text);
  });

  test("code is left alone until its fence ends, wherever a line of it is cut", () => {
    expect(rows("```js\n# **no** title\n```\n# title")).toEqual([
      "<dim>```js</dim>",
      "<cyan># **no** title</cyan>",
      "<dim>```</dim>",
      "<bold>title</bold>",
    ]);
    expect(rows("```\nab cdefgh\n```", 6)[1]).toBe("<cyan>ab cd</cyan>");
  });

  test("rows end at words, below their bullet, and none is wider than the terminal", () => {
    expect(rows("- one two three", 10)).toEqual(["• one two", "  three"]);
    expect(rows("abcdefghijkl", 6)).toEqual(["abcde", "fghij", "kl"]);
    expect(rows("wide 漢字漢字", 10)).toEqual(["wide", "漢字漢字"]);
  });

  test.each([1, 2, 7, 20, 80])("at %s columns nothing is lost and nothing is too wide", (columns) => {
    const text = "A line of words, some-of-them-rather-long-as-words-go, and **bold ones** in `code` as well. ".repeat(
      4,
    );
    const shown = rows(text, columns, PLAIN);
    expect(shown.join("").replaceAll(" ", "")).toBe(text.replaceAll(" ", ""));
    for (const row of shown) expect(row.length).toBeLessThanOrEqual(Math.max(2, columns - 1));
  });

  test("an unfinished line is shown as far as it goes, and changes nothing for those after it", () => {
    const format = markdownFormat(COLOURED);
    expect(format.rows("It is **ve", 80, false)).toEqual(["It is **ve"]);
    expect(format.rows("```", 80, false)).toEqual(["<dim>```</dim>"]);
    expect(format.rows("# t", 80, true)).toEqual(["<bold>t</bold>"]);
  });
});
