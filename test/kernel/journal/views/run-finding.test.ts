import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Entry } from "../../../../src/kernel/journal/entry.ts";
import { findingIn } from "../../../../src/kernel/journal/views/run-finding.ts";
import { anyRun } from "./any-run.ts";
import { CANARY } from "./canned-events.ts";
import { writeRun } from "./write-run.ts";

/** A run whose provider failed at last in this way. */
function failedBy(code: string): readonly Entry[] {
  return writeRun([], "unavailable").entries.map((entry) =>
    entry.kind === "INFER" && entry.result?.type === "model.failed"
      ? { ...entry, result: { ...entry.result, code } }
      : entry,
  );
}

describe("what exactly went wrong", () => {
  test.each([
    ["provider.http-401", /^It refused the API key \(HTTP 401\): set the right one\.$/],
    ["provider.http-404", /model's name and baseUrl/],
    ["provider.http-307", /redirect \(HTTP 307\)/],
    ["provider.http-500", /^It answered HTTP 500\.$/],
    ["provider.rate-limited", /HTTP 429/],
    ["provider.unreadable", /no answer of its protocol/],
    ["provider.cut-off", /broke off/],
    ["provider.from-a-later-version", /^It ended provider\.from-a-later-version\.$/],
  ])("a provider that failed by %s", (code, words) => {
    expect(findingIn(failedBy(code))).toMatch(words);
  });

  test("a check that failed says what it found", () => {
    const { entries } = writeRun([], "preflight-failed");
    const [first] = entries;
    const failed =
      first?.kind === "run.created" ? first.decided.verdicts.find(({ failure }) => failure !== null) : null;
    expect(findingIn(entries)).toBe(failed?.detail);
  });

  test("holds no content, and nothing for runs that did not fail or have not ended", () => {
    fc.assert(
      fc.property(anyRun, ({ entries }) => {
        const finding = findingIn(entries);
        expect(finding).not.toContain(CANARY);
        const last = entries.at(-1);
        if (last?.kind === "TERMINATE" && !last.decided.outcome.startsWith("FAILED_")) expect(finding).toBe("");
        for (const count of entries.keys()) expect(findingIn(entries.slice(0, count))).toBe("");
      }),
    );
  });
});
