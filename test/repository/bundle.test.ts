/** The bundle that `npm install` made is what starts, and it is whole. */
import { readdirSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { describe, expect, test } from "vitest";

const SPECIFIER =
  /^\s*(?:import|export)\b[^"';]*?\bfrom\s*"([^"]+)"|^\s*import\s*"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\)/gm;

function importsOf(file: string): readonly string[] {
  const text = readFileSync(`dist/${file}`, "utf8");
  return [...text.matchAll(SPECIFIER)].map(([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? "");
}

describe("dist/", () => {
  const files = readdirSync("dist").filter((file) => file.endsWith(".js"));

  test("has the program and the store's two threads", () => {
    expect(files).toEqual(expect.arrayContaining(["surety.js", "writer-worker.js", "reader-worker.js"]));
  });

  test("imports its own files and Node, and no package", () => {
    const foreign = files.flatMap((file) =>
      importsOf(file).filter((name) => !isBuiltin(name) && !(name.startsWith("./") && files.includes(name.slice(2)))),
    );
    expect(foreign).toEqual([]);
    expect(importsOf("surety.js").length).toBeGreaterThan(0);
  });
});
