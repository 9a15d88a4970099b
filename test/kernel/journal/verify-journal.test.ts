import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { genesisHash, hashLink } from "../../../src/kernel/journal/chain.ts";
import type { Entry, EntryOf } from "../../../src/kernel/journal/entry.ts";
import { verifyEntries, verifyJournal } from "../../../src/kernel/journal/verify-journal.ts";
import { hashBytes, hashCanonical } from "../../../src/kernel/vocabulary/hash.ts";
import adversarial from "../../fixtures/adversarial.json" with { type: "json" };
import { verifies } from "../../requirements.ts";
import {
  type AnyDraft,
  anyOpenJournal,
  anySealedJournal,
  CONTRACT,
  chainOf,
  fileOf,
  forge,
  SMALL_JOURNAL,
} from "./any-journal.ts";
import { encode } from "./tamper.ts";

const { contractHash } = CONTRACT;
const OTHER = hashBytes("other");
const [created, commit, end] = SMALL_JOURNAL as [Entry, EntryOf<"COMMIT">, Entry];
const goesOn = { ...commit, decided: { ...commit.decided, next: "INFER" } } as Entry;
const validated: AnyDraft = { ...created, kind: "VALIDATE_CALLS", decided: { calls: [], heard: [] } };
const inferred: AnyDraft = {
  ...created,
  kind: "INFER",
  decided: {
    promptHead: OTHER,
    attempt: 1,
    mode: "normal",
    maxOutputTokens: 16,
    constraintHash: OTHER,
    heard: [],
  },
};

describe("a whole journal", () => {
  verifies(["M-P5.1", "M-E"], "what writeEntry wrote verifies, as entries, as text and as bytes", () => {
    fc.assert(
      fc.property(fc.oneof(anyOpenJournal(), anySealedJournal()), (entries) => {
        const last = entries.at(-1) as Entry;
        const anchor = { seq: last.seq, hash: last.hash };
        const expected = { ok: true, head: last.hash, length: entries.length, sealed: last.kind === "TERMINATE" };
        expect(verifyEntries(entries, { contractHash, anchor })).toMatchObject(expected);
        const verdict = verifyJournal(fileOf(entries), { contractHash, anchor });
        expect(verdict).toMatchObject({ ...expected, torn: null });
        expect(verdict.ok && verdict.entries).toEqual(entries);
        expect(verifyJournal(encode(fileOf(entries)), { contractHash, anchor })).toEqual(verdict);
      }),
      { numRuns: 50 },
    );
  });

  test("an empty one stands at the hash over the contract hash", () => {
    expect(verifyJournal("", { contractHash })).toEqual({
      ok: true,
      head: genesisHash(contractHash),
      length: 0,
      sealed: false,
      flags: [],
      entries: [],
      torn: null,
    });
  });

  test("an anchor within it or at its very beginning holds too", () => {
    const file = fileOf(SMALL_JOURNAL);
    for (const anchor of [{ seq: 0, hash: genesisHash(contractHash) }, ...SMALL_JOURNAL]) {
      expect(verifyJournal(file, { contractHash, anchor }).ok).toBe(true);
    }
    expect(verifyJournal(file, { contractHash, anchor: { seq: 0, hash: OTHER } })).toEqual({
      ok: false,
      entry: 0,
      problem: "hash is not the anchored one",
    });
  });

  verifies("M-P5.1", "an anchor locates a truncation at the first missing entry", () => {
    for (const length of [0, 1, 2]) {
      expect(verifyEntries(SMALL_JOURNAL.slice(0, length), { contractHash, anchor: end })).toEqual({
        ok: false,
        entry: length + 1,
        problem: "missing: 3 were written",
      });
    }
  });
});

describe("an entry that does not belong", () => {
  const refused: readonly (readonly [string, readonly Entry[], number, string])[] = [
    ["a gap", [created, forge(end, { seq: 3, prev: created.hash })], 2, "seq is 3 instead of 2"],
    ["a beginning other than 1", [forge(created, { seq: 2 })], 1, "seq is 2 instead of 1"],
    ["another contract", [created, forge(commit, { contractHash: OTHER })], 2, "contract_hash is another contract's"],
    ["another run", [created, forge(commit, { runId: "run_2" })], 2, "run_id is another run's"],
    [
      "another adapter",
      [created, forge(commit, { adapterVersion: "a@2" })],
      2,
      "adapter_version changed within the run",
    ],
    [
      "another profile",
      [created, forge(commit, { modelProfileId: "b" })],
      2,
      "model_profile_id changed within the run",
    ],
    ["another predecessor", [created, forge(commit, { prev: OTHER })], 2, "prev is not the hash before"],
    ["no beginning", [forge(created, { prev: OTHER })], 1, "prev is not the hash before"],
    ["an action not its own", [created, forge(commit, { actionHash: OTHER })], 2, "action_hash does not match"],
    ["a result not its own", [created, forge(commit, { resultHash: OTHER })], 2, "result_hash does not match"],
    ["a hash not its own", [created, forge(commit, { hash: OTHER })], 2, "hash does not match"],
    ["an end from nowhere", [forge(end, { seq: 1, prev: created.prev })], 1, "the first entry is not run.created"],
    ["a turn from nowhere", chainOf([commit, end]), 1, "the first entry is not run.created"],
    ["a second beginning", chainOf([created, created]), 2, "run.created is not the first entry"],
    ["a turn that went on and ended", chainOf([created, goesOn, end]), 3, "COMMIT said next INFER"],
    ["a turn that ended and went on", chainOf([created, commit, commit]), 3, "COMMIT said next TERMINATE"],
    ["a turn without its inference", chainOf([created, goesOn, validated]), 3, "COMMIT said next INFER"],
    ["an end without COMMIT", chainOf([created, end]), 2, "TERMINATE does not follow COMMIT"],
    ["a life after the end", chainOf([created, commit, end, commit]), 4, "follows TERMINATE"],
  ];
  for (const [name, entries, entry, problem] of refused) {
    test(`${name} is refused: ${problem}`, () => {
      expect(verifyEntries(entries, { contractHash })).toEqual({ ok: false, entry, problem });
      expect(verifyJournal(fileOf(entries), { contractHash })).toEqual({ ok: false, entry, problem });
    });
  }

  test("another turn begins with its inference, or, where our own code failed, ends at once", () => {
    for (const next of [inferred, goesOn, commit]) {
      expect(verifyEntries(chainOf([created, goesOn, next]), { contractHash }).ok).toBe(true);
    }
  });

  test("a broken link is named before a bad line behind it", () => {
    const file = `${fileOf([created, forge(commit, { prev: OTHER })])}garbage\n`;
    expect(verifyJournal(file, { contractHash })).toMatchObject({ ok: false, entry: 2 });
  });

  test("a bad line is named before a lost anchor", () => {
    expect(verifyJournal(`${fileOf([created])}garbage\n`, { contractHash, anchor: end })).toEqual({
      ok: false,
      entry: 2,
      problem: "not JSON: expected a value at 0",
    });
  });

  test("bytes behind TERMINATE were never being appended", () => {
    expect(verifyJournal(`${fileOf(SMALL_JOURNAL)}{`, { contractHash })).toEqual({
      ok: false,
      entry: 4,
      problem: "follows TERMINATE",
    });
  });

  test("another contract refuses the first entry already", () => {
    expect(verifyEntries(SMALL_JOURNAL, { contractHash: OTHER })).toEqual({
      ok: false,
      entry: 1,
      problem: "contract_hash is another contract's",
    });
  });
});

describe("rows of the adversarial corpus", () => {
  const row = (name: string) => {
    const found = adversarial.find((candidate) => candidate.class === "audit_integrity" && candidate.name === name);
    if (found === undefined) throw new Error(`no row ${name}`);
    return found;
  };

  test(`clock_regress: ${row("clock_regress").expected}`, () => {
    const late = "2026-01-02T03:04:07.000Z";
    const early = "2026-01-02T03:04:06.999Z";
    const entries = chainOf([
      { ...created, ts: late },
      { ...goesOn, ts: early },
      { ...goesOn, ts: early },
      { ...goesOn, ts: late },
    ]);
    expect(verifyEntries(entries, { contractHash })).toMatchObject({
      ok: true,
      length: 4,
      flags: [{ entry: 2, problem: "ts is earlier than before" }],
    });
  });

  verifies("M-P5.1/chain", `field_boundary: ${row("field_boundary").expected}`, () => {
    const { a, b } = row("field_boundary").input as { a: string[]; b: string[] };
    expect(hashCanonical(a)).not.toBe(hashCanonical(b));
    const moved = { adapterVersion: "ab", modelProfileId: "c" };
    expect(hashLink({ ...commit, ...moved })).not.toBe(
      hashLink({ ...commit, adapterVersion: "a", modelProfileId: "bc" }),
    );
  });
});
