/** The rules must be able to fail: each is shown offending input beside input that only looks like it. */
import { describe, expect, test } from "vitest";
import { COMPUTED_IMPORT, readSourceFacts } from "../../scripts/source-facts.ts";
import {
  checkDisableComments,
  checkImports,
  checkLayer,
  checkLength,
  checkName,
  checkPurity,
  checkWords,
  findCycle,
  resolveImport,
} from "../../scripts/source-rules.ts";

const KERNEL_FILE = "src/kernel/machine/step.ts";

describe("facts of a source file", () => {
  test.each([
    ['import { a } from "./a.ts";', ["./a.ts"]],
    ['import type { A } from "./a.ts";', ["./a.ts"]],
    ['import { type A, b } from "./a.ts";', ["./a.ts"]],
    ['import "./a.ts";', ["./a.ts"]],
    ['export { a } from "./a.ts";', ["./a.ts"]],
    ['export type { A } from "./a.ts";', ["./a.ts"]],
    ['export * from "./a.ts";', ["./a.ts"]],
    ['type A = import("./a.ts").A;', ["./a.ts"]],
    ['function f(a: Map<string, import("./a.ts").A[]>) { return a; }', ["./a.ts"]],
    ['const a = () => import("./a.ts");', ["./a.ts"]],
    ['import a = require("./a.ts");', ["./a.ts"]],
    ['const a = require("./a.ts");', ["./a.ts"]],
    ["const a = (name: string) => import(name);", [COMPUTED_IMPORT]],
    ["const a = `./a.ts`; // import './b.ts'", []],
  ])("the imports of %s", (text, imports) => {
    expect(readSourceFacts(text).imports).toEqual(imports);
  });

  test.each([
    ["async function f() {}", "async"],
    ["const f = async () => 1;", "async"],
    ["class C { async m() {} }", "async"],
    ["const o = { async m() {} };", "async"],
    ["await f();", "await"],
    ["for await (const x of y) f(x);", "await"],
    ["const now = Date.now();", "Date"],
    ["const now = f([new Date(1)]);", "Date"],
    ["let at: Date;", "Date"],
    ["const x = Math.random();", "Math.random"],
    ['const x = Math["random"]();', "Math.random"],
    ["const x = process.env;", "process"],
    ["const o = { process };", "process"],
    ["class C { m() { return performance.now(); } }", "performance"],
    ["setTimeout(f, 1);", "setTimeout"],
    ["setInterval(f, 1);", "setInterval"],
    ["const id = crypto.randomUUID();", "crypto"],
    ["const g = globalThis;", "globalThis"],
    ["const p = new Promise(f);", "Promise"],
    ['console.log("x");', "console"],
    ["const b = Buffer.from(x);", "Buffer"],
    ["const here = import.meta.url;", "import.meta"],
    ["names.sort((a, b) => a.localeCompare(b));", "localeCompare"],
    ["const s = n.toLocaleString();", "toLocaleString"],
    ["let count = 0;", "module state (let)"],
    ["export let count = 0;", "module state (let)"],
  ])("%s is impure", (text, impurity) => {
    expect(readSourceFacts(text).impurities).toContain(impurity);
  });

  test.each([
    "// async Date process\n/* await Math.random() */",
    'const s = "Date process crypto.";',
    "const s = `performance setTimeout(`;",
    "const pattern = /Date|process/u;",
    "const o = { process: 1, Date: 2, async: 3 };",
    "const p = o.process; const d = o?.performance;",
    "interface I { process: string; crypto(): void; readonly Date: number }",
    "function f() { let count = 0; for (let i = 0; i < 3; i += 1) count += i; return count; }",
    "const x = Math.max(1, 2); const y = dice.random;",
  ])("%s is pure", (text) => {
    expect(readSourceFacts(text).impurities).toEqual([]);
  });
});

describe("imports", () => {
  test.each([
    ["src/kernel/vocabulary/hash.ts", "../policy/tool-policy.ts"],
    ["src/kernel/policy/tool-policy.ts", "../contract/contract.ts"],
    ["src/kernel/protocol/parse.ts", "../policy/tool-policy.ts"],
    ["src/kernel/redaction/redact.ts", "../protocol/parse.ts"],
    ["src/kernel/governance/perf.ts", "../journal/entry.ts"],
    ["src/kernel/contract/contract.ts", "../journal/entry.ts"],
    ["src/kernel/journal/entry.ts", "../machine/step.ts"],
    [KERNEL_FILE, "../../runtime/drive-run.ts"],
    ["src/runtime/run/run-driver.ts", "../../../assistant/context/build.ts"],
    ["src/runtime/run/run-driver.ts", "../../../adapters/models/openai.ts"],
    ["src/prompts/base.ts", "../assistant/context/build.ts"],
    ["src/assistant/context/build.ts", "../../adapters/models/openai.ts"],
    ["src/adapters/models/openai.ts", "../../boot/start.ts"],
    ["src/adapters/models/openai.ts", "../tools/read-text.ts"],
    ["src/adapters/channels/slack/post.ts", "../../gateway/serve.ts"],
    ["src/odds/ends.ts", "../runtime/drive-run.ts"],
    [KERNEL_FILE, "../odds.ts"],
    [KERNEL_FILE, "../../../test/requirements.ts"],
    [KERNEL_FILE, "node:crypto"],
    [KERNEL_FILE, "node:fs"],
    ["src/kernel/vocabulary/sha256-node.ts", "node:fs"],
    ["src/kernel/vocabulary/sha256-portable.ts", "node:crypto"],
    [KERNEL_FILE, "@noble/hashes/sha2.js"],
    [KERNEL_FILE, "typebox/compile"],
    [KERNEL_FILE, "zod"],
    [KERNEL_FILE, "typebox-extra"],
    [KERNEL_FILE, "#unknown"],
    ["src/kernel/machine/step.ts", COMPUTED_IMPORT],
    ["src/runtime/run/run-driver.ts", COMPUTED_IMPORT],
    ["test/kernel/machine/step.test.ts", "node:fs"],
    ["test/kernel/machine/step.test.ts", "fs"],
  ])("%s may not import %s", (file, specifier) => {
    expect(checkImports(file, [specifier])).toEqual([expect.stringContaining(`${file} imports ${specifier}: `)]);
  });

  test.each([
    ["src/kernel/vocabulary/hash.ts", "./identifiers.ts"],
    ["src/kernel/vocabulary/hash.ts", "#sha256"],
    ["src/kernel/contract/contract.ts", "../policy/tool-policy.ts"],
    ["src/kernel/journal/entry.ts", "../governance/perf.ts"],
    [KERNEL_FILE, "../journal/entry.ts"],
    [KERNEL_FILE, "typebox"],
    [KERNEL_FILE, "#schema-check"],
    ["src/kernel/vocabulary/schema-check-compiled.ts", "typebox/compile"],
    ["src/kernel/vocabulary/sha256-node.ts", "node:crypto"],
    ["src/kernel/vocabulary/sha256-portable.ts", "@noble/hashes/sha2.js"],
    ["src/runtime/run/run-driver.ts", "../../kernel/machine/step.ts"],
    ["src/runtime/run/run-driver.ts", "node:fs"],
    ["src/assistant/context/build.ts", "../../prompts/base.ts"],
    ["src/adapters/channels/slack/post.ts", "../retry.ts"],
    ["src/adapters/models/openai.ts", "../../runtime/ports/model.ts"],
    ["src/boot/start.ts", "../adapters/models/openai.ts"],
    ["test/repository/any.test.ts", "node:fs"],
    ["test/kernel/machine/step.test.ts", "../../../src/kernel/machine/step.ts"],
  ])("%s may import %s", (file, specifier) => {
    expect(checkImports(file, [specifier])).toEqual([]);
  });

  test("a subpath import leads to every twin behind it", () => {
    expect(resolveImport("src/kernel/vocabulary/hash.ts", "#sha256")).toEqual([
      "src/kernel/vocabulary/sha256-node.ts",
      "src/kernel/vocabulary/sha256-portable.ts",
    ]);
  });
});

describe("cycles", () => {
  test.each([
    [[["a", "a"]], ["a", "a"]],
    [
      [
        ["a", "b"],
        ["b", "a"],
      ],
      ["a", "b", "a"],
    ],
    [
      [
        ["a", "b"],
        ["b", "c"],
        ["c", "d"],
        ["d", "b"],
      ],
      ["b", "c", "d", "b"],
    ],
  ])("%j holds a cycle", (edges, cycle) => {
    expect(findCycle(graphOf(edges))).toEqual(cycle);
  });

  test("two ways to one file are no cycle", () => {
    const edges = [
      ["a", "b"],
      ["a", "c"],
      ["b", "d"],
      ["c", "d"],
    ];
    expect(findCycle(graphOf(edges))).toBeUndefined();
  });
});

describe("texts and names", () => {
  test.each([
    ["// biome", "ignore lint/style/noVar: because"],
    ["/* eslint", "disable no-console */"],
    ["// @ts", "ignore"],
    ["// @ts", "expect-error later"],
    ["// @ts", "nocheck"],
    ["// prettier", "ignore"],
    ["// depcruise", "ignore"],
  ])("%s-%s is refused", (left, right) => {
    expect(checkDisableComments("src/a.ts", `const a = 1;\n${left}-${right}\n`)).toEqual([
      `src/a.ts:2 switches a check off: ${left}-${right}`,
    ]);
  });

  test.each([
    ["/* v8", "ignore next */"],
    ["/* c8", "ignore start */"],
    ["/* istanbul", "ignore if */"],
    ["// Stryker", "disable all"],
    ["/** ", "@public */"],
    ["// ", "@internal"],
  ])("%s %s is refused", (left, right) => {
    expect(checkDisableComments("src/a.ts", `${left} ${right}`)).toHaveLength(1);
  });

  test("ordinary text is not", () => {
    expect(checkDisableComments("src/a.ts", "// We ignore nothing.\nconst mail = 'a@public.example';")).toEqual([]);
  });

  test.each([
    "src/kernel/utils.ts",
    "src/runtime/session-manager.ts",
    "src/assistant/helpers/trim.ts",
    "src/adapters/common/retry.ts",
    "src/kernel/contract/types.ts",
    "src/runtime/mail.service.ts",
    "test/shared.ts",
    "scripts/misc.ts",
  ])("%s is no name", (file) => {
    expect(checkName(file)).toHaveLength(1);
  });

  test.each(["src/kernel/policy/tool-policy.ts", "src/kernel/vocabulary/hash.ts", "src/runtime/share-budget.ts"])(
    "%s is a name",
    (file) => {
      expect(checkName(file)).toEqual([]);
    },
  );

  test.each([
    "// Whoever asks gets an answer.",
    'throw usageError("nobody answered");',
    "/** Somebody else holds the lock. */",
    "// for anybody to read",
    "// opened anew after a crash",
    "// The caller is told why.",
    "// a body, be it text or an image",
    "const purse = openPurse();",
    "class RunDesk {}",
    "type BodyShelf = Map<string, Body>;",
    'import { Passage } from "./passage.ts";',
    "const DAY_PURSES = 3;",
  ])("%s is refused in src/", (line) => {
    expect(checkWords("src/a.ts", `const a = 1;\n${line}\n`)).toEqual([expect.stringMatching(/^src\/a\.ts:2 says "/)]);
    expect(checkWords("test/a.ts", line)).toEqual([]);
  });

  test.each([
    "// Tell the caller which file is missing.",
    "// The renewed lease is held until then.",
    "// If that is meant to be it, write --flag=value.",
    "// Runs as the Unix user `nobody`.",
    "const desktop = isDesktop(pursed);",
    "const isToldApart = toldApart(a, b);",
  ])("%s is not", (line) => {
    expect(checkWords("src/a.ts", line)).toEqual([]);
  });

  test("a source file outside every layer is refused", () => {
    expect(checkLayer("src/odds/ends.ts")).toHaveLength(1);
    expect(checkLayer("src/index.ts")).toHaveLength(1);
    expect(checkLayer(KERNEL_FILE)).toEqual([]);
    expect(checkLayer("test/index.ts")).toEqual([]);
  });

  test("400 lines are allowed, 401 are not, and only src/ counts", () => {
    expect(checkLength("src/a.ts", "x\n".repeat(400))).toEqual([]);
    expect(checkLength("src/a.ts", "x\n".repeat(401))).toEqual(["src/a.ts has 401 lines"]);
    expect(checkLength("test/a.ts", "x\n".repeat(401))).toEqual([]);
  });

  test("purity is asked of the kernel only", () => {
    expect(checkPurity(KERNEL_FILE, ["Date"])).toEqual([`${KERNEL_FILE} is not pure: Date`]);
    expect(checkPurity("src/runtime/clock.ts", ["Date"])).toEqual([]);
  });
});

function graphOf(edges: readonly (readonly string[])[]): ReadonlyMap<string, readonly string[]> {
  const graph = new Map<string, string[]>();
  for (const [from = "", to = ""] of edges) graph.set(from, [...(graph.get(from) ?? []), to]);
  return graph;
}
