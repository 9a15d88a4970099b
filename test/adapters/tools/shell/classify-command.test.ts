/** What runs without asking, what asks, and what never runs: by the words alone. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { classifyCommand } from "../../../../src/adapters/tools/shell/classify-command.ts";
import { COMMAND_RULES } from "../../../../src/adapters/tools/shell/command-rules.ts";
import { GIT_ASKING, GIT_READING } from "../../../../src/adapters/tools/shell/git-rules.ts";
import { splitCommand } from "../../../../src/adapters/tools/shell/split-command.ts";
import { ToolFailure } from "../../../../src/adapters/tools/tool-failure.ts";
import { verifies } from "../../../requirements.ts";
import { ASKS, DENIED, READS, ROOT } from "./classified-commands.ts";

const ALLOW = [
  ...COMMAND_RULES.keys(),
  ..."echo printf find git awk env xargs sh bash python3 node perl timeout nice busybox rm cp mv touch make npm vim".split(
    " ",
  ),
];

function classify(words: readonly string[]): "reads" | "asks" | "denied" {
  try {
    return classifyCommand(words, { allow: ALLOW, root: ROOT }).asks.length === 0 ? "reads" : "asks";
  } catch (error) {
    if (error instanceof ToolFailure && error.code === "policy.denied") return "denied";
    throw error;
  }
}

function verdictOf(text: string): "reads" | "asks" | "denied" {
  const verdicts = splitCommand(text).map(classify);
  if (verdicts.includes("denied")) return "denied";
  return verdicts.includes("asks") ? "asks" : "reads";
}

describe("reads, and does not ask", () => {
  test.each(READS)("%s", (text) => {
    expect(verdictOf(text)).toBe("reads");
  });
});

describe("has to be asked for", () => {
  test.each(ASKS)("%s", (text) => {
    expect(verdictOf(text)).toBe("asks");
  });
});

describe("never runs, allowlisted or not", () => {
  test.each(DENIED)("%s", (text) => {
    expect(verdictOf(text)).toBe("denied");
  });

  verifies(
    "S-4.3",
    "a forbidden option is denied in every way it can be written, in any place, allowlisted or not",
    () => {
      const forbidden = [
        ...[...COMMAND_RULES].map(([name, rules]) => [[name], rules] as const),
        ...[...GIT_READING, ...GIT_ASKING].map(([name, rules]) => [["git", name], rules] as const),
      ].flatMap(([words, rules]) =>
        (rules.forbidden?.split(" ") ?? []).map((option) => [words, rules, option] as const),
      );
      const spot = fc.record({
        chosen: fc.constantFrom(...forbidden),
        cut: fc.nat(),
        value: fc.constantFrom("", "x", "./x", "-"),
        isApart: fc.boolean(),
        before: fc.array(fc.constantFrom("a", "sub/b", "-"), { maxLength: 3 }),
        after: fc.array(fc.constantFrom("a", "--", "-"), { maxLength: 2 }),
        flags: fc.nat(),
      });
      fc.assert(
        fc.property(spot, ({ chosen: [words, rules, option], cut, value, isApart, before, after, flags }) => {
          const safe = rules.flags ?? "";
          const known = (rules.long ?? "").split(" ").map((name) => `--${name.split("=", 1)[0]}`);
          const written = option.startsWith("--")
            ? option.slice(0, 3 + (cut % (option.length - 2)))
            : `-${safe.slice(0, flags % (safe.length + 1))}${option.slice(1)}`;
          fc.pre(!known.includes(written));
          const attached = option.startsWith("--") ? `${written}=${value}` : written + value;
          const given = isApart ? [written, value] : [attached];
          expect(classify([...words, ...before, ...given, ...after])).toBe("denied");
        }),
        { numRuns: 2000 },
      );
    },
  );

  test("an option behind -- is an operand", () => {
    expect(classify(["sort", "--", "-o"])).toBe("reads");
    expect(classify(["grep", "--", "--file=/etc/passwd", "a"])).toBe("reads");
  });

  test("what is not allowlisted never runs, whatever its words are", () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 4 }), (words) => {
        expect(() => classifyCommand(words, { allow: [], root: ROOT })).toThrow(ToolFailure);
      }),
    );
  });
});

test("git and sed are held to it by options of their own", () => {
  const argsOf = (text: string) => classifyCommand(splitCommand(text)[0] ?? [], { allow: ALLOW, root: ROOT }).args;
  expect(argsOf("git --no-pager diff a")).toEqual([
    ...["--no-pager", "diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "a"],
  ]);
  expect(argsOf("sed -n 5p a")).toEqual(["--sandbox", "-n", "5p", "a"]);
});
