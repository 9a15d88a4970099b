import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { auditHome, type Finding, type Home, type JournalFacts } from "../../../src/kernel/journal/audit-home.ts";
import { genesisHash } from "../../../src/kernel/journal/chain.ts";
import { type OpenRun, type SignedCheckpoint, signCheckpoint } from "../../../src/kernel/journal/checkpoint.ts";
import type { LedgerEntry } from "../../../src/kernel/journal/ledger.ts";
import { hashBytes } from "../../../src/kernel/vocabulary/hash.ts";
import { asRunId, type Hash, type RunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { verifies } from "../../requirements.ts";
import { type AnyLedgerDraft, draft, HOME_ID, headOf, ledgerOf } from "./any-ledger.ts";
import { sign, signAsStranger, TRUSTED } from "./toy-key.ts";

const OTHER = hashBytes("other");
const [A, B, C] = ["run_a", "run_b", "run_c"].map(asRunId) as [RunId, RunId, RunId];

/** A journal with this many entries: nothing is asked of it but its hashes and its outcome. */
function journalOf(runId: RunId, seq: number, sealed: boolean): JournalFacts {
  const hashAt = (at: number): Hash | null => {
    if (at > seq) return null;
    return at === 0 ? genesisHash(hashBytes(runId)) : hashBytes(`${runId} ${at}`);
  };
  return { seq, rowHash: hashBytes(`row ${runId}`), outcome: sealed ? "COMPLETED_CHAT_ONLY" : null, hashAt };
}

/** The same under another contract, or with other entries. */
const swapped = (facts: JournalFacts): JournalFacts => ({
  ...facts,
  hashAt: (at) => (at === 0 ? genesisHash(OTHER) : facts.hashAt(at)),
});
const rewrite = (facts: JournalFacts): JournalFacts => ({
  ...facts,
  hashAt: (at) => (at === 0 ? facts.hashAt(0) : OTHER),
});

const createdDraft = (runId: RunId) => draft("run.created", { runId, contractHash: hashBytes(runId) });
const sealedDraft = (runId: RunId, seq: number) =>
  draft("run.sealed", { runId, outcome: "COMPLETED_CHAT_ONLY", seq, head: hashBytes(`${runId} ${seq}`) });
const openRun = (runId: RunId, seq: number): OpenRun => ({
  runId,
  seq,
  head: journalOf(runId, seq, false).hashAt(seq) as Hash,
});

function checkpointAt(ledger: readonly LedgerEntry[], openRuns: readonly OpenRun[], by = sign): SignedCheckpoint {
  const { seq, hash } = headOf(ledger);
  return signCheckpoint({ ledgerSeq: seq, ledgerHead: hash, openRuns }, by);
}

/** Run a was sealed with 3 entries; b is at 5, was at 2 at the checkpoint; c waits, with no entry yet. */
const DRAFTS: readonly AnyLedgerDraft[] = [createdDraft(A), createdDraft(B), sealedDraft(A, 3), createdDraft(C)];
const LEDGER = ledgerOf(DRAFTS);
const JOURNALS: ReadonlyMap<RunId, JournalFacts> = new Map([
  [A, journalOf(A, 3, true)],
  [B, journalOf(B, 5, false)],
  [C, journalOf(C, 0, false)],
]);
const CHECKPOINT = checkpointAt(LEDGER, [openRun(B, 2), openRun(C, 0)]);
const HOME: Home = {
  homeId: HOME_ID,
  ledger: LEDGER,
  journals: JOURNALS,
  checkpoints: [CHECKPOINT],
  trusted: TRUSTED,
};

function auditWith(changes: Partial<Home>): readonly Finding[] {
  return auditHome({ ...HOME, ...changes });
}
function withJournal(
  runId: RunId,
  facts: JournalFacts | null,
): { readonly journals: ReadonlyMap<RunId, JournalFacts> } {
  const journals = new Map(JOURNALS);
  if (facts === null) journals.delete(runId);
  else journals.set(runId, facts);
  return { journals };
}
const grown = (...drafts: readonly AnyLedgerDraft[]) => ({ ledger: ledgerOf([...DRAFTS, ...drafts]) });

describe("a home whose records agree", () => {
  verifies("X-24", "has no findings, with checkpoints in the ledger, elsewhere, or none", () => {
    expect(auditWith({})).toEqual([]);
    expect(auditWith({ checkpoints: [] })).toEqual([]);
    expect(auditWith({ checkpoints: [], ...grown(draft("checkpoint.signed", CHECKPOINT)) })).toEqual([]);
    expect(auditWith({ checkpoints: [checkpointAt([], []), CHECKPOINT] })).toEqual([]);
    expect(auditHome({ ...HOME, ledger: [], journals: new Map(), checkpoints: [] })).toEqual([]);
  });

  test("may have sealed since what a checkpoint saw open", () => {
    expect(auditWith({ ...grown(sealedDraft(B, 5)), ...withJournal(B, journalOf(B, 5, true)) })).toEqual([]);
  });
});

describe("a checkpoint that an earlier version cut after the 1,000 oldest open runs", () => {
  const names = Array.from({ length: 1002 }, (_, index) => asRunId(`run_${String(index).padStart(4, "0")}`));
  const ledger = ledgerOf(names.map(createdDraft));
  const journals = new Map(names.map((runId) => [runId, journalOf(runId, 0, false)]));
  const auditOf = (listed: readonly RunId[], also: Partial<Home> = {}) =>
    auditWith({
      ledger,
      journals,
      checkpoints: [
        checkpointAt(
          ledger,
          listed.map((runId) => openRun(runId, 0)),
        ),
      ],
      ...also,
    });
  const without = (runId: RunId | undefined) => new Map([...journals].filter(([name]) => name !== runId));

  verifies("X-24", "is no finding, and still covers what it lists", () => {
    expect(auditOf(names.slice(0, 1000))).toEqual([]);
    expect(auditOf(names)).toEqual([]);
    expect(auditOf(names.slice(0, 1000), { journals: without(names[999]) }).map(({ code }) => code)).toEqual([
      "run.missing",
    ]);
  });

  test("only if it lists the oldest, and as many", () => {
    const unlisted = (listed: readonly RunId[]) => auditOf(listed).map(({ code, runId }) => [code, runId]);
    expect(unlisted(names.slice(0, 999))).toEqual(names.slice(999).map((runId) => ["checkpoint.run-unlisted", runId]));
    expect(unlisted(names.slice(2))).toEqual(names.slice(0, 2).map((runId) => ["checkpoint.run-unlisted", runId]));
  });
});

describe("a home whose records do not agree", () => {
  const rewritten = rewrite(journalOf(B, 5, false));
  const twice = [createdDraft(B), sealedDraft(A, 3)];
  const cases: readonly (readonly [string, Partial<Home>, readonly Finding[]])[] = [
    ["a sealed run vanished whole", withJournal(A, null), [{ code: "run.missing", runId: A, ledgerSeq: 1 }]],
    ["an open run vanished whole", withJournal(B, null), [{ code: "run.missing", runId: B, ledgerSeq: 2 }]],
    ["a queued run vanished", withJournal(C, null), [{ code: "run.missing", runId: C, ledgerSeq: 4 }]],
    [
      "a run vanished that only a checkpoint knows",
      { ledger: LEDGER.slice(0, 3), ...withJournal(C, null) },
      [
        { code: "ledger.rolled-back", runId: null, ledgerSeq: 4 },
        { code: "run.missing", runId: C, ledgerSeq: 4 },
      ],
    ],
    [
      "a sealed journal was cut",
      withJournal(A, journalOf(A, 2, false)),
      [{ code: "run.truncated", runId: A, ledgerSeq: 3 }],
    ],
    [
      "a sealed journal was opened again",
      withJournal(A, journalOf(A, 3, false)),
      [{ code: "run.rewritten", runId: A, ledgerSeq: 3 }],
    ],
    [
      "a sealed journal went on",
      withJournal(A, journalOf(A, 4, true)),
      [{ code: "run.rewritten", runId: A, ledgerSeq: 3 }],
    ],
    [
      "a sealed journal was rewritten",
      withJournal(A, rewrite(journalOf(A, 3, true))),
      [{ code: "run.rewritten", runId: A, ledgerSeq: 3 }],
    ],
    [
      "the ledger's seal tells another outcome",
      withJournal(A, { ...journalOf(A, 3, true), outcome: "FAILED_TIMEOUT" }),
      [{ code: "run.outcome-differs", runId: A, ledgerSeq: 3 }],
    ],
    [
      "a sealed run stands under another contract",
      withJournal(A, swapped(journalOf(A, 3, true))),
      [{ code: "run.contract-swapped", runId: A, ledgerSeq: 1 }],
    ],
    [
      "an open run stands under another contract",
      withJournal(B, swapped(journalOf(B, 5, false))),
      [{ code: "run.contract-swapped", runId: B, ledgerSeq: 2 }],
    ],
    [
      "a run was rewritten under another contract",
      withJournal(A, swapped(rewrite(journalOf(A, 3, true)))),
      [
        { code: "run.contract-swapped", runId: A, ledgerSeq: 1 },
        { code: "run.rewritten", runId: A, ledgerSeq: 3 },
      ],
    ],
    [
      "a queued run stands under another contract",
      { checkpoints: [], ...withJournal(C, swapped(journalOf(C, 0, false))) },
      [{ code: "run.contract-swapped", runId: C, ledgerSeq: 4 }],
    ],
    [
      "a run's list row was rewritten",
      {
        ledger: ledgerOf([draft("run.created", { runId: A, contractHash: hashBytes(A), rowHash: OTHER })]),
        checkpoints: [],
        journals: new Map([[A, journalOf(A, 1, false)]]),
      },
      [{ code: "run.row-rewritten", runId: A, ledgerSeq: 1 }],
    ],
    ["an open journal was cut behind the checkpoint", withJournal(B, journalOf(B, 2, false)), []],
    [
      "an open journal was cut before the checkpoint",
      withJournal(B, journalOf(B, 1, false)),
      [{ code: "run.truncated", runId: B, ledgerSeq: 4 }],
    ],
    ["an open journal was rewritten", withJournal(B, rewritten), [{ code: "run.rewritten", runId: B, ledgerSeq: 4 }]],
    [
      "a journal was sealed without the ledger",
      withJournal(B, journalOf(B, 5, true)),
      [{ code: "run.seal-missing", runId: B, ledgerSeq: 2 }],
    ],
    [
      "a journal came from nowhere",
      withJournal(asRunId("x"), journalOf(A, 1, false)),
      [{ code: "run.unannounced", runId: asRunId("x"), ledgerSeq: null }],
    ],
    [
      "the ledger creates and seals twice",
      grown(...twice),
      [
        { code: "run.created-twice", runId: B, ledgerSeq: 5 },
        { code: "run.sealed-unopened", runId: A, ledgerSeq: 6 },
      ],
    ],
    [
      "the ledger seals what it never created",
      grown(sealedDraft(asRunId("x"), 1)),
      [{ code: "run.sealed-unopened", runId: asRunId("x"), ledgerSeq: 5 }],
    ],
    [
      "the home was rolled back",
      { ledger: LEDGER.slice(0, 3), journals: new Map([...JOURNALS].slice(0, 2)) },
      [
        { code: "ledger.rolled-back", runId: null, ledgerSeq: 4 },
        { code: "run.missing", runId: C, ledgerSeq: 4 },
      ],
    ],
    [
      "the ledger was rewritten",
      { ledger: ledgerOf([...DRAFTS.slice(0, 3), { ...createdDraft(C), actor: "x" }]) },
      [{ code: "ledger.rewritten", runId: null, ledgerSeq: 4 }],
    ],
    [
      "a checkpoint comes from another home",
      { checkpoints: [signCheckpoint({ ledgerSeq: 0, ledgerHead: OTHER, openRuns: [] }, sign)] },
      [{ code: "ledger.rewritten", runId: null, ledgerSeq: 0 }],
    ],
    [
      "a checkpoint was signed by a stranger",
      { checkpoints: [checkpointAt(LEDGER, [], signAsStranger)] },
      [{ code: "checkpoint.forged", runId: null, ledgerSeq: 4 }],
    ],
    [
      "a checkpoint lists other runs than it signed",
      { checkpoints: [{ ...CHECKPOINT, openRuns: [openRun(B, 2)] }] },
      [{ code: "checkpoint.forged", runId: null, ledgerSeq: 4 }],
    ],
    [
      "a checkpoint leaves an open run out",
      { checkpoints: [checkpointAt(LEDGER, [openRun(B, 2)])] },
      [{ code: "checkpoint.run-unlisted", runId: C, ledgerSeq: 4 }],
    ],
    [
      "a checkpoint in the ledger is contradicted",
      { checkpoints: [], ...grown(draft("checkpoint.signed", CHECKPOINT)), ...withJournal(B, rewritten) },
      [{ code: "run.rewritten", runId: B, ledgerSeq: 4 }],
    ],
    [
      "many checkpoints miss the same",
      { checkpoints: [CHECKPOINT, CHECKPOINT], ...withJournal(B, rewritten) },
      [{ code: "run.rewritten", runId: B, ledgerSeq: 4 }],
    ],
  ];
  for (const [name, changes, findings] of cases) {
    verifies("X-24", `${name}: ${findings.map(({ code }) => code).join(", ") || "not to be seen"}`, () => {
      expect(auditWith(changes)).toEqual(findings);
    });
  }

  verifies("X-24", "every roll-back of the ledger is found at its first missing entry", () => {
    for (const length of LEDGER.keys()) {
      const found = auditWith({ ledger: LEDGER.slice(0, length) });
      expect(found).toContainEqual({ code: "ledger.rolled-back", runId: null, ledgerSeq: length + 1 });
    }
  });

  verifies("X-24/missing", "any run that vanishes from any home is named", () => {
    const anyRuns = fc.uniqueArray(fc.record({ id: fc.nat(99), isSealed: fc.boolean() }), {
      minLength: 1,
      maxLength: 9,
      selector: ({ id }) => id,
    });
    fc.assert(
      fc.property(anyRuns, fc.nat(), (runs, choice) => {
        const ids = runs.map(({ id }) => asRunId(`run_${id}`));
        const ledger = ledgerOf([
          ...ids.map(createdDraft),
          ...ids.filter((_, index) => runs[index]?.isSealed).map((runId) => sealedDraft(runId, 2)),
        ]);
        const journals = new Map(
          ids.map((runId, index) => [runId, journalOf(runId, 2, runs[index]?.isSealed === true)]),
        );
        const openRuns = ids.filter((_, index) => !runs[index]?.isSealed).map((runId) => openRun(runId, 2));
        const home = { ...HOME, ledger, journals, checkpoints: [checkpointAt(ledger, openRuns)] };
        expect(auditHome(home)).toEqual([]);
        const index = choice % ids.length;
        const runId = ids[index] as RunId;
        journals.delete(runId);
        expect(auditHome(home)).toEqual([{ code: "run.missing", runId, ledgerSeq: index + 1 }]);
      }),
    );
  });
});
