/** The repository keeps its own rules (scripts/source-rules.ts): read from the files, so no tool's setting can hide one. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { readSourceFacts } from "../../scripts/source-facts.ts";
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

const ROOT = new URL("../../", import.meta.url);
const FOLDERS = ["src", "test", "scripts", "bench", "ui"];
const CODE = /\.[cm]?[jt]sx?$/u;

const paths = [...readFolder("."), ...FOLDERS.flatMap((folder) => readFolder(folder, true))];
const texts = new Map(paths.map((path) => [path, readFileSync(new URL(path, ROOT), "utf8")]));
const facts = new Map([...texts].map(([path, text]) => [path, readSourceFacts(text, path.endsWith(".tsx"))]));

describe("layering", () => {
  test("there is something to check", () => {
    expect(paths).toContain("vitest.config.ts");
    expect(paths).toContain("scripts/layers.ts");
    expect(paths.filter((path) => path.startsWith("src/kernel/")).length).toBeGreaterThan(10);
  });

  test("imports point inward, type imports too", () => {
    expect([...facts].flatMap(([path, { imports }]) => checkImports(path, imports))).toEqual([]);
  });

  test("every source file belongs to a layer", () => {
    expect(paths.flatMap(checkLayer)).toEqual([]);
  });

  test("no import cycle, type imports counted", () => {
    const graph = new Map(
      [...facts].map(([path, { imports }]) => [path, imports.flatMap((specifier) => resolveImport(path, specifier))]),
    );
    expect(findCycle(graph)).toBeUndefined();
  });

  test("every import leads to a file", () => {
    const targets = [...facts].flatMap(([path, { imports }]) =>
      imports.flatMap((specifier) => resolveImport(path, specifier)),
    );
    expect([...new Set(targets)].filter((target) => !texts.has(target))).toEqual([]);
  });

  test("nothing impure in the kernel", () => {
    expect([...facts].flatMap(([path, { impurities }]) => checkPurity(path, impurities))).toEqual([]);
  });
});

describe("habits", () => {
  test("no check is switched off anywhere", () => {
    expect([...texts].flatMap(([path, text]) => checkDisableComments(path, text))).toEqual([]);
    // dependency-cruiser is silenced by a file of known violations, not by comments.
    expect(readdirSync(ROOT).filter((name) => name.includes("known-violations"))).toEqual([]);
    expect(readFileSync(new URL("package.json", ROOT), "utf8")).not.toContain("ignore-known");
  });

  test("file names say what a file holds", () => {
    expect(paths.flatMap(checkName)).toEqual([]);
  });

  test("comments, messages and names use the words of the field", () => {
    expect([...texts].flatMap(([path, text]) => checkWords(path, text))).toEqual([]);
  });

  test("no source file is longer than a reader's patience", () => {
    expect([...texts].flatMap(([path, text]) => checkLength(path, text))).toEqual([]);
  });
});

function readFolder(folder: string, recursive = false): readonly string[] {
  try {
    return readdirSync(new URL(`${folder}/`, ROOT), { recursive, encoding: "utf8" })
      .filter((name) => CODE.test(name) && !name.includes("node_modules"))
      .map((name) => (folder === "." ? name : `${folder}/${name.replaceAll("\\", "/")}`));
  } catch (error) {
    // bench/ and ui/ come later.
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}
