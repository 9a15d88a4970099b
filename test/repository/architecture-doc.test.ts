/** docs/architecture.md walks one message through the source: at most 25 files, and each of them exists. */
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const ROOT = new URL("../../", import.meta.url);
const document = readFileSync(new URL("docs/architecture.md", ROOT), "utf8");
const walk = [...document.matchAll(/^\| \d+ \| `(src\/[^`]+)` \|/gm)].map(([, file = ""]) => file);

test("the way of one message passes at most 25 files", () => {
  expect(walk.length).toBeGreaterThan(10);
  expect(walk.length).toBeLessThanOrEqual(25);
  expect(new Set(walk).size).toBe(walk.length);
});

test("every file that the architecture names exists", () => {
  const named = [...document.matchAll(/`((?:src|test|docs|scripts|contracts)\/[^`*]+)`/g)].map(([, path = ""]) => path);
  expect(named.filter((path) => !existsSync(new URL(path, ROOT)))).toEqual([]);
});
