import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { commandLine } from "../../../../src/adapters/tools/shell/show-command.ts";
import { splitCommand } from "../../../../src/adapters/tools/shell/split-command.ts";
import { ToolFailure } from "../../../../src/adapters/tools/tool-failure.ts";

function codeOf(text: string): string {
  try {
    return `words ${JSON.stringify(splitCommand(text))}`;
  } catch (error) {
    if (error instanceof ToolFailure) return error.code;
    throw error;
  }
}

describe("words", () => {
  test.each([
    ["ls -la", [["ls", "-la"]]],
    ["  ls\t-la  ", [["ls", "-la"]]],
    ["echo 'a b' \"c d\" e\\ f", [["echo", "a b", "c d", "e f"]]],
    [`echo a'b'"c"\\d`, [["echo", "abcd"]]],
    ["echo ''", [["echo", ""]]],
    [`echo "it's \\"so\\" \\\\ \\$5 \\n"`, [["echo", `it's "so" \\ $5 \\n`]]],
    ["echo '$HOME `id` * ; & | > <'", [["echo", "$HOME `id` * ; & | > <"]]],
    ["cat a|grep b | head", [["cat", "a"], ["grep", "b"], ["head"]]],
    ["echo '|'", [["echo", "|"]]],
    ["git show HEAD~1 a#b", [["git", "show", "HEAD~1", "a#b"]]],
    ["find . ! -name x", [["find", ".", "!", "-name", "x"]]],
    ["grep naïve résumé.txt", [["grep", "naïve", "résumé.txt"]]],
    ["grep '“quoted” — 5 €' a", [["grep", "“quoted” — 5 €", "a"]]],
  ])("%j", (text, stages) => {
    expect(splitCommand(text)).toEqual(stages);
  });

  test("what is shown to an approver splits into the same words again", () => {
    const word = fc.string({ unit: fc.constantFrom(..."ab '\"\\$`|;&*?[]{}()<>~#!=-é€") });
    const stages = fc.array(fc.tuple(fc.constantFrom("ls", "grep"), word, word), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(stages, (given) => {
        expect(splitCommand(commandLine(given))).toEqual(given);
      }),
    );
  });
});

describe("what a shell would interpret is refused", () => {
  test.each([
    ...'ls $(id)~ls `id`~ls $IFS~ls $HOME~echo "`id`"~echo "$(id)"~echo "a$b"~ls; id~ls;id~ls & id~ls&~ls && id'.split(
      "~",
    ),
    ..."ls || id,ls |& cat,echo x > y,echo x >> y,head < y,cat <(id),cat <<EOF,(ls),ls *,ls a?,ls [ab],ls {a;b}".split(
      ",",
    ),
    ..."ls {a,b}¦!ls¦ls !!¦ls !id¦ls # x¦#ls".split("¦"),
    ...["ls ~", "ls ~root", "ls ~/.ssh"],
    ...[
      "ls\nid",
      "ls\rid",
      "ls\r\nid",
      "ls\0id",
      "cat <<'EOF'\n$(id)\nEOF",
      "echo 'a\nb'",
      "ls\u2028id",
      "ls\u0085id",
      "ls\x1b[2J",
    ],
    ...[
      "ls\u00a0id",
      "ls\u3000id",
      "l\u200bs",
      "ls \u202egpj.exe",
      "ls '\u202egpj'",
      "ls \u2066a",
      "l\u00ads",
      "ls\u3164x",
      "\ufeffls",
    ],
    ...[
      "ls ；id",
      "ls ｜ id",
      "ls ＆ id",
      "ls –la",
      "ls “a b”",
      "ls ‘a’",
      "ls \u037e id",
      "ｌｓ",
      "ls ∕etc",
      "ls ⁄etc",
    ],
  ])("%j", (text) => {
    expect(codeOf(text)).toBe("policy.denied");
  });

  test.each(["", "   ", "ls |", "| ls", "ls | | wc", "ls 'a", 'ls "a', 'ls "a\\', "ls \\", "a|".repeat(9) + "a"])(
    "%j is no command",
    (text) => {
      expect(codeOf(text)).toBe("tool.input_invalid");
    },
  );

  test("a command too long to review is refused", () => {
    expect(codeOf(`ls ${"a".repeat(8189)}`)).toContain("words");
    expect(codeOf(`ls ${"a".repeat(8190)}`)).toBe("tool.input_invalid");
    expect(codeOf(`ls ${"é".repeat(4095)}`)).toBe("tool.input_invalid");
  });

  test("it names what it saw", () => {
    expect(() => splitCommand("ls ; id")).toThrow("; (a second command)");
    expect(() => splitCommand('echo "`id`"')).toThrow("` (a command substitution) in double quotes");
    expect(() => splitCommand("ls\nid")).toThrow("a line break");
    expect(() => splitCommand("ls\u200b")).toThrow("U+200B");
  });

  test("unquoted, no character with a meaning is ever passed on", () => {
    const text = fc.string({ unit: fc.constantFrom(..."ab \t$`(){}[];&<>*?\n\r\0\u202e；") });
    fc.assert(
      fc.property(text, (given) => {
        const code = codeOf(given);
        const isPlain = /^[ab \t]*$/.test(given);
        expect(code.startsWith("words")).toBe(isPlain && /[ab]/.test(given));
      }),
    );
  });

  test("whatever it is given, it answers with words or a refusal", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(codeOf(text)).toMatch(/^words|denied$|invalid$/);
      }),
    );
  });
});
