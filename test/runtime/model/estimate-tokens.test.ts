/** The estimate against the tokenizers that are published, on what a run is likely to read. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { countTokens as countCl100k } from "gpt-tokenizer/encoding/cl100k_base";
import { countTokens as countO200k } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, test } from "vitest";
import { estimateTokens, MESSAGE_TOKENS } from "../../../src/runtime/model/estimate-tokens.ts";
import { verifies } from "../../requirements.ts";

const BYTES = Buffer.concat(
  Array.from({ length: 100 }, (_, index) => createHash("sha512").update(String(index)).digest()),
);
const text = (path: string): string =>
  readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8").slice(0, 20_000);
const lock = text("package-lock.json");
const records = `${JSON.stringify({ id: 12345, name: "x y", tags: ["a", "b"] })}\n`.repeat(200);
const numbers = Array.from({ length: 400 }, (_, index) => {
  return `${index},${BYTES.readUInt32LE(index * 4) / 1e6},${BYTES.readUInt16LE(index * 2) / 100}`;
}).join("\n");

const SAMPLES: Readonly<Record<string, string>> = {
  "package-lock.json": lock,
  "minified JSON": lock.replaceAll(/\s+/g, ""),
  "JSON lines": records,
  "JSON in JSON": JSON.stringify(records),
  "quotes and line ends in JSON": JSON.stringify('"\n'.repeat(1_000)),
  "control characters in JSON": JSON.stringify("\u0001\u0002".repeat(1_000)),
  "a table of numbers": numbers,
  "the same in columns": numbers.replaceAll(",", "  "),
  "single digits": "1 2 3 4 5 6 7 8 9 0 ".repeat(50),
  hex: BYTES.toString("hex"),
  "capital hex": BYTES.toString("hex").toUpperCase(),
  base64: BYTES.toString("base64"),
  "base64 in lines": BYTES.toString("base64").replaceAll(/.{76}/g, "$&\n"),
  prose: text("docs/models.md"),
  code: text("src/runtime/run/command-executor.ts"),
  "letters one by one": "a b c d e f ".repeat(100),
  CAPITALS: "THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG. ".repeat(40),
  German: "Die Bundesregierung hat beschlossen, die Förderung für Wärmepumpen grundsätzlich zu überarbeiten. ".repeat(
    20,
  ),
  Polish: "Zażółć gęślą jaźń, proszę państwa, wszystko będzie dobrze. ".repeat(20),
  Russian: "Съешь ещё этих мягких французских булок, да выпей чаю. ".repeat(20),
  Greek: "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία και μιλάω ελληνικά. ".repeat(20),
  Hebrew: "שלום עולם, זהו טקסט בעברית לבדיקה. ".repeat(20),
  Hindi: "यह हिन्दी में लिखा हुआ एक परीक्षण वाक्य है। ".repeat(20),
  Thai: "สวัสดีครับ ยินดีต้อนรับ".repeat(50),
  Chinese: "人工智能正在改变我们的生活方式，许多企业开始使用大型语言模型。".repeat(20),
  Japanese: "お誕生日おめでとうございます。明日は東京で会議があります。".repeat(20),
  Korean: "안녕하세요, 오늘 회의는 오후 세 시에 시작합니다.".repeat(20),
  emoji: "👩‍👩‍👧‍👦🏳️‍🌈😀🎉👍🏽🇩🇪🧑‍💻".repeat(60),
};

describe("an estimate of tokens", () => {
  for (const [name, sample] of Object.entries(SAMPLES)) {
    verifies("P-1.5", `covers ${name}`, () => {
      const real = Math.max(countO200k(sample), countCl100k(sample));
      expect(estimateTokens(sample)).toBeGreaterThanOrEqual(real);
    });
  }

  test.each(["package-lock.json", "prose", "code", "base64", "hex"])("is less than twice as much for %s", (name) => {
    const sample = SAMPLES[name] ?? "";
    expect(estimateTokens(sample)).toBeLessThan(2 * countO200k(sample));
  });

  test("of nothing is a message's framing; no text makes it less, however short or odd", () => {
    expect(estimateTokens("")).toBe(MESSAGE_TOKENS);
    for (const odd of ["a", " ", "\n", "\ud800", "\u0000", "\u00e9", "\u200d", "\uffff", "x".repeat(5_000)]) {
      expect(estimateTokens(odd)).toBeGreaterThanOrEqual(MESSAGE_TOKENS);
      expect(estimateTokens(odd)).toBeLessThanOrEqual(MESSAGE_TOKENS + Buffer.byteLength(odd));
    }
  });
});
