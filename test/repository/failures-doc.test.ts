import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { FAILURES } from "../../src/kernel/vocabulary/failures.ts";

const document = readFileSync(new URL("../../docs/failures.md", import.meta.url), "utf8");

test("docs/failures.md has exactly the rows of the failure table, in its order", () => {
  const rows = document.split("\n").filter((line) => line.startsWith("| `"));
  const expected = Object.entries(FAILURES).map(
    ([reason, { outcome, wire, advice }]) => `| \`${reason}\` | ${outcome} | \`${wire}\` | ${advice} |`,
  );
  expect(rows).toEqual(expected);
});
