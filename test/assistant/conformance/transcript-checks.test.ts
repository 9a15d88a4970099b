/** A real transcript, and what is noticed when it is not what it should be. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { conformanceTools } from "../../../src/adapters/tools/conformance/conformance-tools.ts";
import { CORPUS } from "../../../src/assistant/conformance/corpus.ts";
import { runCorpus } from "../../../src/assistant/conformance/run-corpus.ts";
import {
  answered,
  answeredWith,
  brokenInvariant,
  calledTogether,
  echoed,
  endedFor,
  failedWith,
  notesApplied,
  nothingCalled,
  nothingPerformed,
  succeeded,
  type Transcript,
} from "../../../src/assistant/conformance/transcript-checks.ts";
import { DEFAULT_CONFIG } from "../../../src/boot/config/default-config.ts";
import { findHome, openHome } from "../../../src/boot/home.ts";
import { openSurety } from "../../../src/boot/open-surety.ts";
import { systemClock } from "../../../src/boot/system-clock.ts";
import { systemRandomness } from "../../../src/boot/system-randomness.ts";
import { noApprover } from "../../../src/runtime/ports/approver.ts";

let transcript: Transcript;

beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), "surety-conformance-"));
  const home = findHome(directory, () => undefined);
  await openHome(home);
  const { policy } = DEFAULT_CONFIG.tools;
  const tools = { ...DEFAULT_CONFIG.tools, policy: { ...policy, allow: ["conformance.*"] } };
  const surety = await openSurety({
    ...{ home, config: { ...DEFAULT_CONFIG, tools }, clock: systemClock, random: systemRandomness, token: null },
    ...{ readVariable: () => undefined, approver: noApprover, moreTools: conformanceTools() },
    onDefect: (_, error) => {
      throw error;
    },
  });
  const { assistant, store } = surety;
  const signal = new AbortController().signal;
  const judged = await runCorpus(
    { assistant, store, model: null, keyName: null, onCase: () => {}, signal },
    CORPUS.slice(0, 1),
  ).next();
  await surety.close(1_000);
  await rm(directory, { recursive: true });
  if (judged.done === true) throw new Error("the case was not run");
  transcript = judged.value.transcript;
});

describe("the invariants", () => {
  test("hold for a run as it was", () => {
    expect(brokenInvariant(transcript)).toBeNull();
  });

  test.each<[string, (whole: Transcript) => Transcript]>([
    ["the journal has no end", (whole) => ({ ...whole, entries: whole.entries.slice(0, -1) })],
    [
      "entry 2: ",
      (whole) => {
        const entries = whole.entries.map((entry) => (entry.seq === 2 ? { ...entry, elapsedMs: 86_400_000 } : entry));
        return { ...whole, entries };
      },
    ],
    [
      "entry 1: ",
      (whole) =>
        ({ ...whole, contract: { ...whole.contract, contractHash: whole.contract.toolsDigest ?? "" } }) as Transcript,
    ],
    ["the record says another outcome", (whole) => ({ ...whole, record: { ...whole.record, outcome: "INTERRUPTED" } })],
    ["success without the tool", (whole) => ({ ...whole, record: { ...whole.record, tool_calls: 0 } })],
  ])("%s", (problem, change) => {
    expect(brokenInvariant(change(transcript))).toContain(problem);
  });
});

describe("the checks of cases", () => {
  test("hold where they should", () => {
    const holding = [
      echoed("surety"),
      answered(2),
      calledTogether(1),
      succeeded("conformance.echo"),
      answeredWith(/^checked$/),
    ];
    for (const check of holding) expect(check(transcript)).toBeNull();
  });

  test("and fail where they should", () => {
    const failing = [
      ...[echoed(), echoed("Surety"), echoed("surety", "surety"), answered(1), calledTogether(2), nothingCalled],
      ...[nothingPerformed, succeeded("conformance.ping"), failedWith("conformance.echo", "timeout"), notesApplied],
      ...[endedFor("cycle"), answeredWith(/^unchecked/)],
    ];
    for (const check of failing) expect(check(transcript)).not.toBeNull();
  });
});

describe("thoughts in an answer", () => {
  const thinking = CORPUS.find(({ id }) => id === "thinking");
  test.each([
    ["42", null],
    ["Sure! 42 :)", null],
    ["<think>carry the one</think>42", "the answer contains thoughts"],
    ["17 + 25 = 42", "the answer contains thoughts"],
    ["Forty-two", "the answer is not the requested one"],
  ])("%s", (output, problem) => {
    expect(thinking?.problemIn({ ...transcript, record: { ...transcript.record, output } })).toBe(problem);
  });
});
