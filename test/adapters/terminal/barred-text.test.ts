import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { barredRows, barredText, wrappedLine } from "../../../src/adapters/terminal/barred-text.ts";
import { LiveOutput } from "../../../src/adapters/terminal/live-output.ts";
import { drawnRows, TERMINALS } from "./drawn-rows.ts";

const plain = (bar: string): string => bar;
const MOVING = /(?!\n)[\p{Cc}\u202a-\u202e\u2066-\u2069]/u;
const unit = fc.oneof(
  fc.constantFrom(
    " ",
    "\t",
    "\n",
    "─",
    "│",
    "漢",
    "ж",
    "é",
    "🙂",
    "❤",
    "\u0301",
    "\u20e3",
    "\ufe0f",
    "\u200d",
    "\u001b",
    "\r",
  ),
  fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
);
const texts = fc.string({ unit, maxLength: 300 });
const columns = fc.integer({ min: 6, max: 100 });

describe("text behind a bar", () => {
  test("every row begins with the bar, whatever the terminal draws wide", () => {
    fc.assert(
      fc.property(texts, columns, fc.constantFrom(...Object.values(TERMINALS)), (text, width, cells) => {
        const rows = barredRows(text, width, "decide", plain).join("\n");
        for (const row of drawnRows(rows, width, cells)) expect(row).toMatch(/^(?: {2})?│/);
        expect(rows).not.toMatch(MOVING);
      }),
    );
  });

  test("text to read is behind the bar on every terminal with the usual widths", () => {
    fc.assert(
      fc.property(texts, columns, (text, width) => {
        const rows = barredRows(text, width, "read", plain).join("\n");
        for (const row of drawnRows(rows, width, TERMINALS.usual)) expect(row).toMatch(/^(?: {2})?│/);
        expect(rows).not.toMatch(MOVING);
      }),
    );
  });

  test("pieces of ASCII text are laid out like the whole", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: fc.constantFrom("a", " ", "\n", "\t") })), columns, (pieces, width) => {
        const [whole, parts] = [barredText(width, "read", plain), barredText(width, "read", plain)];
        expect(pieces.map((piece) => parts.write(piece)).join("")).toBe(whole.write(pieces.join("")));
      }),
    );
  });

  test("the words stay whole where they fit, and an empty line has its bar", () => {
    expect(barredRows("one\n\ntwo three", 80, "decide", plain)).toEqual(["  │ one", "  │", "  │ two three"]);
    expect(barredRows("x".repeat(12), 16, "read", plain)).toEqual(["│xxxxxxxxxxxx"]);
    expect(barredRows("x".repeat(15), 16, "read", plain)).toEqual(["│xxxxxxxxxxxxxx", "│x"]);
  });

  test("further rows of a line of ours are indented", () => {
    expect(wrappedLine("Allow a.b?", 80)).toBe("Allow a.b?");
    expect(wrappedLine("Allow aaaaaaaaaaaa.b?", 12)).toBe("Allow aaaaa\n    aaaaaaa\n    .b?");
  });
});

describe("live output", () => {
  test("shows the first lines and counts the others", () => {
    const output = new LiveOutput("c", 80, plain);
    const lines = Array.from({ length: 20_000 }, (_, index) => `line ${index}\n`);
    const shown = lines.map((line) => output.write(line)).join("");
    expect(shown.split("\n").length).toBeLessThan(60);
    expect(shown).toContain("line 0\n");
    expect(output.linesLeftOut).toBe(20_000 - (shown.split("\n").length - 1));
  });

  test("one endless line does not fill the screen", () => {
    const output = new LiveOutput("c", 80, plain);
    const shown = output.write("x".repeat(1_000_000)) + output.write("y".repeat(1_000_000)) + output.endLine();
    expect(shown.split("\n").length).toBeLessThan(120);
    expect(output.linesLeftOut).toBe(1);
  });
});

test("a line padded to the width draws no row that looks like a line of its own", () => {
  for (const columns of [40, 80, 120]) {
    const forged = ["ls", "Can be undone: yes; it only reads", "| hello"]
      .map((text) => text.padEnd(columns - 6))
      .join("");
    for (let shift = 0; shift < 8; shift += 1) {
      const rows = barredRows(`Call: ${" ".repeat(shift)}${forged}`, columns, "decide", (bar) => bar);
      expect(rows.length).toBeGreaterThan(2);
      for (const row of rows.slice(1)) expect(row).toMatch(/^ {2}│ ↪ /);
    }
  }
});
