import { execFile } from "node:child_process";
import { promisify } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { isPlainSedScript } from "../../../../src/adapters/tools/shell/command-rules.ts";

const run = promisify(execFile);

/** What GNU sed itself says of a script that it may not execute; empty when it has nothing against it. */
async function complaintOf(script: string): Promise<string> {
  try {
    await run("sed", ["--sandbox", "-n", "--", script, "/dev/null"], { env: { LC_ALL: "C" } });
    return "";
  } catch (error) {
    return error instanceof Error && "stderr" in error ? String(error.stderr) : String(error);
  }
}

test("no script that passes executes, reads or writes in sed's own judgement", async () => {
  const piece = fc.constantFrom(
    "a",
    "e",
    "w",
    "/",
    "[",
    "]",
    "[^e]",
    "[/]",
    ";e",
    "\\\\",
    "\\/",
    "/e",
    "/w x",
    "s/a/b/",
    "|",
    "$!e",
  );
  const part = fc.array(piece, { maxLength: 5 }).map((pieces) => pieces.join(""));
  const script = fc
    .tuple(fc.constantFrom("", "1", "/e/", "$!", "1,/w/"), fc.constantFrom("s/", "s|", "y/", "/", ""), part, part)
    .map(([address, start, left, right]) => `${address}${start}${left}/${right}/`);
  const passed = fc.sample(script, { numRuns: 40_000, seed: 4 }).filter(isPlainSedScript);
  const risky = [...new Set(passed)].filter((text) => /[ew]/.test(text)).slice(0, 40);
  expect(risky.length).toBeGreaterThan(20);
  for (const text of risky) expect(await complaintOf(text), text).not.toMatch(/e\/r\/w/);
});

test.each([
  "p",
  "1,5p",
  "$d",
  "/^#/d",
  "s/a/b/",
  "s/a/b/gI;p",
  "y/abc/xyz/",
  "s|a/b|c|2",
  "/a/,/b/!d",
  "1~2p",
  "/x/,+3p",
  "s/[a-z]*/x/g",
])("%s only prints", async (script) => {
  expect(isPlainSedScript(script)).toBe(true);
  expect(await complaintOf(script)).toBe("");
});

test.each([
  "",
  "e",
  "1e id",
  "s/a/b/e",
  "s/a/b/w x",
  "w x",
  "r x",
  "s/[/]/e",
  "s/[\\/]/e/",
  "{p}",
  "a x",
  "b",
  "p e",
  "s/a/b/ge",
  "s\na\nb\n",
])("%j is not understood", (script) => {
  expect(isPlainSedScript(script)).toBe(false);
});
