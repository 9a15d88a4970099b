/** docs/http.md tells of the paths and codes that there are. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { HttpError } from "../../src/adapters/gateway/http-error.ts";
import { createRoutes } from "../../src/adapters/gateway/routes.ts";
import { MemoryAssistant } from "../adapters/gateway/memory-assistant.ts";

const document = readFileSync(new URL("../../docs/http.md", import.meta.url), "utf8");
const rowsBelow = (heading: string): readonly string[] =>
  (document.split(heading)[1] ?? "")
    .split("\n## ")[0]
    ?.split("\n")
    .filter((line) => line.startsWith("| `")) ?? [];

test("every path of docs/http.md takes the method that stands before it", () => {
  const find = createRoutes(
    new MemoryAssistant(),
    () => Promise.resolve(null),
    () => true,
  );
  const told = rowsBelow("# Over HTTP").flatMap((row) =>
    [...row.matchAll(/`(GET|POST) (\/[^`]*)`/g)].map(([, method = "", path = ""]) => ({ method, path })),
  );
  expect(told.length).toBeGreaterThan(10);
  for (const { method, path } of told) {
    const found = find(path.replace("{id}", "run_1"));
    expect([path, [...(found?.route.methods.keys() ?? [])]]).toEqual([path, expect.arrayContaining([method])]);
  }
});

test("every code of docs/http.md has the status that stands behind it", () => {
  const told = rowsBelow("## Errors").map((row) => /^\| `([\w.]+)` \| (\d+) \|/.exec(row) ?? []);
  expect(told.length).toBeGreaterThan(9);
  for (const [row, code, status] of told) {
    expect([row, new HttpError(code as "conflict", "").status]).toEqual([row, Number(status)]);
  }
});
