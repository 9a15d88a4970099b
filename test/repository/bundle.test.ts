/** The bundle that `npm install` made is what starts, and it is whole. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { isBuiltin } from "node:module";
import { describe, expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { libraryTypes } from "../../scripts/published-library.ts";

const STATIC = /^\s*(?:import|export)\b[^"';]*?\bfrom\s*"([^"]+)"|^\s*import\s*"([^"]+)"/gm;
const ANY = new RegExp(String.raw`${STATIC.source}|\bimport\(\s*"([^"]+)"\s*\)`, "gm");

function importsOf(file: string, specifier = ANY): readonly string[] {
  const text = readFileSync(`dist/${file}`, "utf8");
  return [...text.matchAll(specifier)].map(([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? "");
}

const MOST_OF_A_FACADE = 400;

describe("dist/", () => {
  const files = readdirSync("dist").filter((file) => file.endsWith(".js"));

  test("has the program, the library and the store's two threads", () => {
    expect(files).toEqual(
      expect.arrayContaining(["surety.js", "library.js", "writer-worker.js", "reader-worker.js", "records-worker.js"]),
    );
  });

  test("is what the package exports: the library's names, and its types", () => {
    const program = 'import * as library from "surety"; process.stdout.write(Object.keys(library).sort().join());';
    const names = execFileSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" });
    expect(names, "if the library has changed since: npm run prepare").toBe(
      "AgentLoop,LLMError,MemoryError,MemoryManager,OverBudgetError,SubAgentManager,ToolFailure,ToolRegistry,openSurety",
    );
    const types = readFileSync(manifest.exports["."].types, "utf8");
    expect(types).toBe(libraryTypes());
    for (const name of names.split(","))
      expect(types).toMatch(new RegExp(`export declare (class|function) ${name}\\b`));
  });

  test("does not load at its start what only a command, a page or a search needs", () => {
    const loaded = new Set<string>();
    const load = (file: string): void => {
      if (loaded.has(file)) return;
      loaded.add(file);
      for (const name of importsOf(file, STATIC)) if (name.startsWith("./")) load(name.slice(2));
    };
    const isCalled = (name: string) => (file: string) => file.startsWith(`${name}-`);
    for (const file of ["surety.js", ...files.filter(isCalled("start")), ...files.filter(isCalled("main"))]) load(file);
    expect(loaded.size).toBeGreaterThan(2);
    // Each file costs the loader more than its code does.
    expect(loaded.size).toBeLessThan(9);
    for (const name of [
      "undici",
      "guarded-fetch",
      "html-to-text",
      "shell-exec",
      "create-bwrap-sandbox",
      "search-worker",
      "o200k_base",
      "cl100k_base",
      "pino",
    ]) {
      // Where one module imports a package and another loads it, the bundler adds a file that only re-exports it.
      const own = files.filter(isCalled(name)).filter((file) => statSync(`dist/${file}`).size > MOST_OF_A_FACADE);
      expect(own, name).toHaveLength(1);
      expect([...loaded].filter(isCalled(name)), name).toEqual([]);
    }
  });

  test("imports its own files and Node, and no package but optional ones", () => {
    const foreign = files.flatMap((file) =>
      importsOf(file).filter((name) => !isBuiltin(name) && !(name.startsWith("./") && files.includes(name.slice(2)))),
    );
    // What a default install may lack is looked for when it is needed.
    const optional = Object.keys(manifest.optionalDependencies);
    expect(foreign.filter((name) => !optional.includes(name))).toEqual([]);
    expect(importsOf("surety.js").length).toBeGreaterThan(0);
  });
});
