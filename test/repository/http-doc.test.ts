/** docs/http.md lists the operations and error codes that exist; docs/contributing.md quotes the code that runs. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { HTTP_OPERATIONS } from "../../src/adapters/gateway/gateway-operations.ts";
import { ERROR_CODES, HttpError } from "../../src/adapters/gateway/http-error.ts";

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const document = read("docs/http.md");
const rowsBelow = (heading: string): readonly string[] =>
  (document.split(`${heading}\n`)[1] ?? "")
    .split("\n## ")[0]
    ?.split("\n")
    .filter((line) => line.startsWith("| `")) ?? [];

test("the table of operations is the one the code has", () => {
  expect(rowsBelow("## Operations")).toEqual(
    HTTP_OPERATIONS.map(({ method, path, scope, summary }) => `| \`${method} ${path}\` | ${scope} | ${summary} |`),
  );
});

test("every error code has its row with its status", () => {
  const rows = rowsBelow("## Errors").map((row) => /^\| `([\w.]+)` \| (\d+) \|/.exec(row)?.slice(1));
  expect(rows).toEqual(ERROR_CODES.map((code) => [code, String(new HttpError(code, "").status)]));
});

test("the worked example of docs/contributing.md is the code of GET /api/tools", () => {
  const [, quoted] = /```ts\n(.*?)```/s.exec(read("docs/contributing.md")) ?? [];
  expect(read("src/runtime/tools/operations.ts")).toContain(quoted ?? "nothing is quoted");
});
