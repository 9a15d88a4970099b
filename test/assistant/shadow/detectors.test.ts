import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { checkSyntax, languageOf, repairOf } from "../../../src/assistant/shadow/detectors/check-syntax.ts";
import { findSecret } from "../../../src/assistant/shadow/detectors/find-secrets.ts";
import { RepeatedCommands } from "../../../src/assistant/shadow/detectors/repeated-commands.ts";
import { sourcesOfTest } from "../../../src/assistant/shadow/detectors/test-source.ts";
import { compileRedactor } from "../../../src/kernel/redaction/redact.ts";
import { verifies } from "../../requirements.ts";

async function lineOf(path: string, text: string): Promise<number | null> {
  const language = languageOf(path);
  if (language === null) throw new Error(`${path} has no language`);
  return (await checkSyntax(path, language, text))?.line ?? null;
}

describe("syntax errors", () => {
  const BROKEN: readonly (readonly [path: string, text: string, line: number])[] = [
    ["a.json", '{\n  "a": [1, 2,],\n}', 2],
    ["a.json", '{"a": 1,\n"b": [1', 2],
    ["a.json", "{'a': 1}", 1],
    ["tsconfig.json", '{\n  // why\n  "a": 1 "b": 2\n}', 3],
    ["a.yaml", "a: [1, 2\nb: 3\n", 2],
    ["a.yml", "a: 1\n---\nb: 'open\n", 4],
    ["a.ts", "const a = {\n  b: 1;\n};", 2],
    ["App.tsx", "const App = () => {\n  return <b>;\n};", 2],
    ["a.js", "function f( {\n", 2],
    ["a.py", "def f()\n    pass\n", 1],
    ["a.py", "x = (1,\n     2\ny = 3\n", 1],
    ["a.py", "if x:\nprint(1)\n", 2],
    ["a.py", "if x:\n    a\n  b\n", 3],
    ["a.py", 'x = """never\nclosed\n', 1],
    ["a.py", "  x = 1\n", 1],
    ["a.py", "x = [1)\n", 1],
  ];
  for (const [path, text, line] of BROKEN) {
    verifies("T-5.1/detectors", `${path}: ${JSON.stringify(text)}`, async () => {
      expect(await lineOf(path, text)).toBe(line);
    });
  }

  const WHOLE: readonly (readonly [path: string, text: string])[] = [
    ["a.json", '{"a": 9007199254740993, "a": 1e400}'],
    ["a.json", ""],
    ["a.json", "\uFEFF[]"],
    ["tsconfig.json", '{ "a": 1, // why\n}'],
    [".vscode/settings.json", '{ /* why */ "a": [1,], }'],
    ["chart.yaml", "a: {{ .Values.a }}\n{{- if x }}\nb: 1\n{{ end }}"],
    ["a.yaml", "a: !Ref x\nb: &x [1]\nc: *x\n---\nd: |\n  : {\n"],
    ["a.ts", "enum A { B = 1 }\nnamespace N { export const a = 1; }\nclass C { constructor(private a: string) {} }"],
    ["a.ts", "class C { constructor(@Inject() a: string) {} }\nlet x = 1;\nlet x = 2;"],
    ["a.tsx", "const a = <T,>(b: T) => <div {...b}>{b}</div>;"],
    ["a.js", "#!/usr/bin/env node\nreturn await import('x');"],
    ["a.js", "/* @flow */\nconst a = (b: any);"],
    ["a.py", "x = {'a': [1, (2)]}  # ] )\nif foo(lambda a: a): pass\nelse:\n\tpass\n"],
    ["a.py", "match x:\n    case [1, 2]:\n        pass\n\nmatch = {1: 2}\nasync def f(*, a: int = 1) -> int: ...\n"],
    [
      "a.py",
      "x = f\"{a['b']!r:>{w}}\" rb'\\'' \\\n    '''\n'''\nwith (open(a) as b,\n      open(c)):\n    y: int = 1\n",
    ],
    [
      "a.py",
      "def f():\n    '''doc\n  odd\n'''\n# comment\n    # other\n    return 1 if a else 2\nclass A: x = 1; y = 2\n",
    ],
  ];
  for (const [path, text] of WHOLE) {
    verifies("T-5.1/detectors", `none in ${path}: ${JSON.stringify(text)}`, async () => {
      expect(await lineOf(path, text)).toBeNull();
    });
  }

  test("this repository has none", async () => {
    const tracked = execFileSync("git", ["ls-files", "src/kernel", "ui/src/parts", "*.json"], { encoding: "utf8" });
    const files = tracked.split("\n").filter((path) => languageOf(path) !== null && !path.includes("hostile"));
    expect(files.length).toBeGreaterThan(150);
    const found = await Promise.all(files.map(async (path) => [path, await lineOf(path, readFileSync(path, "utf8"))]));
    expect(found.filter(([, line]) => line !== null)).toEqual([]);
  });

  test("of commas and closing brackets are repaired, and nothing else", () => {
    expect(repairOf("JSON", '{\n  "a": ["x,]", 2,],\n}\n')).toBe('{\n  "a": ["x,]", 2]\n}\n');
    expect(repairOf("JSON", '{"a": 12345678901234567890, "b": [1')).toBe('{"a": 12345678901234567890, "b": [1\n]\n}');
    for (const text of ["{'a': 1}", '{"a": 1]', '{"a" 1}', '{"a": "open}', "{a: 1}"]) {
      expect(repairOf("JSON", text), text).toBeNull();
    }
    expect(repairOf("YAML", "a: [1\n")).toBeNull();
  });
});

describe("commands", () => {
  const report = (code: number, command: string, directory = "/w"): string => `1\t${code}\t${directory}\t${command}`;
  const told = (commands: RepeatedCommands, ...lines: readonly string[]) =>
    lines.flatMap((line) => commands.reported(line) ?? []);

  verifies("T-5.1/shell", "one that fails three times in a row is noticed, and settles when it succeeds", () => {
    const commands = new RepeatedCommands();
    expect(told(commands, report(1, "npm test"), report(1, "npm test"))).toEqual([]);
    const trouble = { kind: "failing-command", command: "npm test", exitCode: 2, times: 3, directory: "/w" };
    const subject = "command /w npm test";
    expect(told(commands, report(2, "npm test"))).toEqual([{ type: "found", subject, trouble }]);
    expect(told(commands, report(2, "npm test"), report(0, "npm test"))).toEqual([{ type: "settled", subject }]);
  });

  verifies("T-5.1/shell", "what was stopped by hand, elsewhere or in between does not count", () => {
    const commands = new RepeatedCommands();
    const fails = (...args: Parameters<typeof report>) => told(commands, report(...args));
    const lines = [fails(1, "make"), fails(130, "make"), fails(1, "make", "/x"), fails(1, "ls"), fails(1, "make")];
    expect(lines.flat()).toEqual([]);
    for (const line of ["", "x", "1\tx\t/w\tls", "1\t1\tw\tls", "1\t1\t/w\t"])
      expect(commands.reported(line)).toBeNull();
  });

  verifies("T-5.1/shell", "plain history of bash, zsh and fish tells what is repeated, until the hook reports", () => {
    const commands = new RepeatedCommands();
    const lines = ["#1763590000", "npm test", ": 1763590001:0;npm test", "- cmd: npm test", "  when: 1763590002"];
    expect(lines.flatMap((line) => commands.remembered(line) ?? [])).toEqual([]);
    expect(commands.remembered("npm test")).toMatchObject({
      trouble: { kind: "repeated-command", command: "npm test", times: 4 },
    });
    commands.reported(report(0, "ls"));
    for (let count = 0; count < 8; count += 1) expect(commands.remembered("make")).toBeNull();
  });
});

verifies("T-5.1/detectors", "a test is known by its name, and so is the source it is about", () => {
  expect(sourcesOfTest("parse.test.ts")).toContain("parse.ts");
  expect(sourcesOfTest("Button.spec.tsx")).toContain("Button.tsx");
  expect(sourcesOfTest("test_parse.py")).toEqual(["parse.py", "parse.pyi"]);
  expect(sourcesOfTest("parse_test.py")).toContain("parse.py");
  expect(sourcesOfTest("parse_test.go")).toEqual(["parse.go"]);
  for (const name of ["test.ts", "parse.ts", "contest.py", "test_.txt"]) expect(sourcesOfTest(name), name).toBeNull();
});

verifies("T-5.1/git", "a secret is found by its shape and line, and is not repeated", () => {
  const compiled = compileRedactor({ secrets: [], emails: false, phones: false });
  if (!compiled.ok) throw new Error(compiled.reason);
  const text = `# settings\nname = x\nkey = ${"AKIA"}ABCDEFGHIJKLMNOP\n`;
  expect(findSecret(compiled.redactor, text)).toEqual({ line: 3, kinds: ["aws"] });
  expect(findSecret(compiled.redactor, "name = x\n")).toBeNull();
});
