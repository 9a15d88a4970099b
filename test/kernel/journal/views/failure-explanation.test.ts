import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Entry } from "../../../../src/kernel/journal/entry.ts";
import { explainFailure } from "../../../../src/kernel/journal/views/failure-explanation.ts";
import { anyRun } from "./any-run.ts";
import { CANARY } from "./canned-events.ts";
import { writeRun } from "./write-run.ts";

/** A run whose provider failed at last in this way. */
function failedBy(code: string, wish = {}): readonly Entry[] {
  return writeRun([], "unavailable").entries.map((entry) =>
    entry.kind === "INFER" && entry.result?.type === "model.failed"
      ? { ...entry, result: { ...entry.result, code, ...wish } }
      : entry,
  );
}

/** What was found out about these, had all their answers ended for this reason. */
function foundWhenStoppedBy(stopReason: string, entries: readonly Entry[]): string {
  return explainFailure(
    entries.map((entry) =>
      entry.kind === "INFER" && entry.result?.type === "model.answered"
        ? { ...entry, decided: { ...entry.decided, maxOutputTokens: 77 }, result: { ...entry.result, stopReason } }
        : entry,
    ),
    null,
  );
}
const ANSWERED = writeRun([], "answered").entries;
const MALFORMED = writeRun([{ kind: "rejected" }], "unavailable").entries.map((entry) =>
  entry.kind === "TERMINATE"
    ? { ...entry, decided: { ...entry.decided, reason: "protocol.malformed" as const } }
    : entry,
);

describe("an answer that was cut off", () => {
  test.each(["length", "max_tokens", " MAX_TOKENS", "max_output_tokens"])("by %j names its limit", (reason) => {
    const words = /cut off at its limit of 77 tokens \(max_output_tokens\)/;
    expect(foundWhenStoppedBy(reason, ANSWERED)).toMatch(words);
    const malformed = foundWhenStoppedBy(reason, MALFORMED);
    expect(malformed).toMatch(words);
    expect(malformed).toMatch(/^The last answer was rejected: \S+\. The answer/);
  });

  test.each([
    ["content_filter", /provider withheld/],
    ["refusal", /provider withheld/],
    ["model_context_window_exceeded", /at the end of the model's context window/],
  ])("by %s says so", (reason, words) => {
    expect(foundWhenStoppedBy(reason, ANSWERED)).toMatch(words);
  });

  test("is not made out of an answer that ended by itself, or for a reason nobody knows", () => {
    for (const reason of ["stop", "end_turn", "", "toString", CANARY])
      expect(foundWhenStoppedBy(reason, ANSWERED)).toBe("");
  });
});

describe("what exactly went wrong", () => {
  test.each([
    ["provider.http-401", /^The provider refused the API key \(HTTP 401\): set the right one\.$/],
    ["provider.http-404", /model's name and baseUrl/],
    ["provider.http-307", /redirect \(HTTP 307\)/],
    ["provider.http-500", /^The provider answered HTTP 500\.$/],
    ["provider.rate-limited", /HTTP 429/],
    ["provider.unreadable", /does not follow its protocol/],
    ["provider.cut-off", /broke off/],
    ["provider.from-a-later-version", /^The provider failed with provider\.from-a-later-version\.$/],
  ])("a provider that failed by %s", (code, words) => {
    expect(explainFailure(failedBy(code), null)).toMatch(words);
  });

  test("a key is named by its variable, where somebody knows it", () => {
    expect(explainFailure(failedBy("provider.http-401"), null, "LAB_KEY")).toBe(
      "The provider refused the API key (HTTP 401): set the right one in LAB_KEY.",
    );
    expect(explainFailure(failedBy("provider.invalid-key"), null, "LAB_KEY")).toMatch(/^LAB_KEY is empty, or /);
    expect(explainFailure(failedBy("provider.invalid-key"), null)).toMatch(/^Its API key is empty, or /);
  });

  test.each([
    ["provider.rate-limited", 61_000, "(HTTP 429) and asks to wait 2 minutes"],
    ["provider.rate-limited", 10_800_000, "(HTTP 429) and asks to wait 3 hours"],
    ["provider.http-503", 604_800_000, "(HTTP 503) and asks to wait 7 days"],
  ])("%s, to be left alone for %i ms", (code, retryAfterMs, words) => {
    expect(explainFailure(failedBy(code, { retryable: false, retryAfterMs }), null)).toContain(words);
  });

  test("a check that failed says what it found", () => {
    const { entries } = writeRun([], "preflight-failed");
    const [first] = entries;
    const failed =
      first?.kind === "run.created" ? first.decided.verdicts.find(({ failure }) => failure !== null) : null;
    expect(explainFailure(entries, null)).toBe(failed?.detail);
  });

  test("holds no content, and nothing for runs that did not fail or have not ended", () => {
    fc.assert(
      fc.property(anyRun, ({ entries }) => {
        const finding = explainFailure(entries, null);
        expect(finding).not.toContain(CANARY);
        const last = entries.at(-1);
        if (last?.kind === "TERMINATE" && !last.decided.outcome.startsWith("FAILED_")) expect(finding).toBe("");
        for (const count of entries.keys()) expect(explainFailure(entries.slice(0, count), null)).toBe("");
      }),
    );
  });
});
