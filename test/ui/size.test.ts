/** What a browser has to load before it shows something, and what must never be in it. */
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

const ASSETS = new URL("../../dist/ui/assets/", import.meta.url);
const MOST_KB = 150;
const texts = new Map(
  readdirSync(ASSETS)
    .filter((name) => name.endsWith(".js"))
    .map((name) => [name, readFileSync(new URL(name, ASSETS), "utf8")]),
);

function nameOf(begin: string): string {
  const name = [...texts.keys()].find((each) => each.startsWith(`${begin}-`));
  if (name === undefined) throw new Error(`there is no chunk ${begin}`);
  return name;
}

/** With everything they import at once; what is loaded later is left out. */
function withImports(names: readonly string[], found = new Set<string>()): ReadonlySet<string> {
  for (const name of names) {
    if (found.has(name)) continue;
    found.add(name);
    const imported = (texts.get(name) ?? "").matchAll(/(?:from|^import|;import)\s*"\.\/([^"]+\.js)"/g);
    withImports(
      [...imported].map(([, file = ""]) => file),
      found,
    );
  }
  return found;
}

test.each(["chat-page", "now-page", "runs-or-run", "approvals-page"])("the first view with %s", (page) => {
  const loaded = withImports([nameOf("index"), nameOf(page)]);
  const bytes = [...loaded].reduce((sum, name) => sum + gzipSync(texts.get(name) ?? "").length, 0);
  expect(bytes / 1000, [...loaded].join(" ")).toBeLessThan(MOST_KB);
  expect([...loaded].filter((name) => name.startsWith("verifier-worker"))).toEqual([]);
});

test("nothing makes code of text, which the content policy forbids, or writes markup", () => {
  for (const [name, text] of texts) {
    expect([name, /new Function\b|globalThis\.Function\b|\beval\(/.exec(text)?.[0] ?? null]).toEqual([name, null]);
  }
});

test("the verifier runs on the kernel's portable twins, without the schemas of the gateway's requests", () => {
  const verifier = texts.get(nameOf("verifier-worker")) ?? "";
  expect(gzipSync(verifier).length / 1000).toBeLessThan(80);
});
