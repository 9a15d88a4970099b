import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { signCheckpoint } from "../../../src/kernel/journal/checkpoint.ts";
import {
  appendLedger,
  type LedgerEntry,
  startLedger,
  toLedgerLine,
  verifyLedger,
} from "../../../src/kernel/journal/ledger.ts";
import { canonicalJson } from "../../../src/kernel/vocabulary/canonical-json.ts";
import { hashBytes, hashCanonical } from "../../../src/kernel/vocabulary/hash.ts";
import { asRunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { verifies } from "../../requirements.ts";
import {
  anyDraftOf,
  anyLedger,
  checkpointDraft,
  draft,
  HOME_ID,
  headOf,
  KINDS,
  ledgerFileOf,
  ledgerOf,
  TS,
} from "./any-ledger.ts";
import { anyTampering, encode, everyByteTampering, everyLineTampering, misplaced, type Tampered } from "./tamper.ts";
import { sign, signAsStranger, TRUSTED } from "./toy-key.ts";

const OTHER = hashBytes("other");
const homeId = HOME_ID;
const LONG = 60_000;

const BEGINNING = ledgerOf([
  draft("run.created", { runId: asRunId("run_1"), contractHash: OTHER }),
  { ...draft("pair.accepted", { channel: "telegram", sender: "Zoë\u2028\n\ufffd\u{1f512}" }), actor: "op" },
  draft("run.sealed", { runId: asRunId("run_1"), outcome: "COMPLETED_CHAT_ONLY", seq: 3, head: OTHER }),
]);
const SMALL_LEDGER = ledgerOf([...BEGINNING.slice(0, 2), checkpointDraft(BEGINNING.slice(0, 2))]);

/** The entry with these fields instead, and a hash that fits. */
function forge(entry: LedgerEntry, changes: Record<string, unknown>): LedgerEntry {
  const { hash: _hash, ...wire } = { ...(JSON.parse(toLedgerLine(entry)) as LedgerEntry), ...changes };
  return { ...entry, hash: hashCanonical(wire), ...changes };
}

/** Absent from older entries. */
const OPTIONAL = [
  "run.created row_hash",
  "effect.resolved approval_id",
  "body.erased run_id",
  "body.erased session_id",
  "slot.settled slots",
  "slot.settled until",
];

describe("a ledger", () => {
  verifies("X-24/chain", "entries are chained from the home's id on, each hash over all but itself", () => {
    const start = startLedger(homeId);
    expect(start).toEqual({ seq: 0, hash: hashCanonical(["ledger", "home_1"]) });
    const entry = appendLedger(start, draft("token.revoked", { tokenId: "t1" }));
    const unhashed = {
      actor: "operator",
      data: { token_id: "t1" },
      kind: "token.revoked",
      prev: start.hash,
      seq: 1,
      ts: TS,
      v: 1,
    };
    const hash = hashCanonical(unhashed);
    expect(entry).toEqual({
      v: 1,
      seq: 1,
      ts: TS,
      kind: "token.revoked",
      actor: "operator",
      data: { tokenId: "t1" },
      prev: start.hash,
      hash,
    });
    expect(toLedgerLine(entry)).toBe(canonicalJson({ ...unhashed, hash }));
  });

  verifies("X-24", "what appendLedger wrote verifies, whatever it says, as text and as bytes", () => {
    fc.assert(
      fc.property(anyLedger(), (entries) => {
        const { seq, hash } = headOf(entries);
        const verdict = verifyLedger(ledgerFileOf(entries), { homeId, anchor: { seq, hash }, trusted: TRUSTED });
        expect(verdict).toMatchObject({ ok: true, head: hash, length: seq, torn: null });
        expect(verdict.ok && verdict.entries).toEqual(entries);
        expect(verifyLedger(encode(ledgerFileOf(entries)), { homeId, trusted: TRUSTED })).toEqual(verdict);
      }),
      { numRuns: 50 },
    );
  });

  test("the kinds are a closed list", () => {
    expect([...KINDS].sort()).toEqual([
      "approval.decided",
      "body.erased",
      "browser.signed_in",
      "browser.signed_out",
      "capability.denied",
      "capability.granted",
      "capability.requested",
      "capability.revoked",
      "checkpoint.signed",
      "config.changed",
      "effect.resolved",
      "home.restored",
      "job.added",
      "job.removed",
      "mark.removed",
      "memory.forgotten",
      "pair.accepted",
      "pair.denied",
      "policy.decided",
      "policy.delta",
      "row.recorded",
      "run.created",
      "run.sealed",
      "schedule.paused",
      "schedule.resumed",
      "secret.removed",
      "secret.set",
      "session.imported",
      "slot.settled",
      "token.created",
      "token.revoked",
      "token.rotated",
    ]);
  });

  test("data of every kind is held to its schema: nothing missing, nothing more", () => {
    const [genesis] = [startLedger(homeId)];
    const problemOf = (wire: Record<string, unknown>): string | null => {
      const hash = hashCanonical(wire);
      const verdict = verifyLedger(`${canonicalJson({ ...wire, hash })}\n`, { homeId });
      return verdict.ok ? null : verdict.problem;
    };
    for (const kind of KINDS) {
      fc.assert(
        fc.property(anyDraftOf(kind), (any) => {
          const { hash: _hash, ...wire } = JSON.parse(toLedgerLine(appendLedger(genesis, any) as LedgerEntry));
          const isOwn = kind === "checkpoint.signed" ? "checkpoint names a head that was not there" : null;
          expect(problemOf(wire)).toBe(isOwn);
          expect(problemOf({ ...wire, data: { ...wire.data, extra: 1 } })).toBe(`not a valid ${kind}`);
          for (const field of Object.keys(wire.data)) {
            const { [field]: _gone, ...rest } = wire.data;
            const isOptional = OPTIONAL.includes(`${kind} ${field}`);
            expect(problemOf({ ...wire, data: rest })).toBe(isOptional ? null : `not a valid ${kind}`);
            expect(problemOf({ ...wire, data: { ...wire.data, [field]: {} } })).toBe(`not a valid ${kind}`);
          }
        }),
        { numRuns: 4 },
      );
    }
    const entry = {
      actor: "a",
      data: { token_id: "t" },
      kind: "token.revoked",
      prev: genesis.hash,
      seq: 1,
      ts: "",
      v: 1,
    };
    expect(problemOf(entry)).toBeNull();
    expect(problemOf({ ...entry, data: { token_id: "" } })).toBe("not a valid token.revoked");
    expect(problemOf({ ...entry, v: 2 })).toBe("not a valid token.revoked");
    expect(problemOf({ ...entry, seq: 0 })).toBe("not a valid token.revoked");
    expect(problemOf({ ...entry, kind: "token.lost" })).toBe("not of a known kind");
    expect(problemOf({ ...entry, extra: 1 })).toBe("not a valid token.revoked");
    const erased = { ...entry, kind: "body.erased" };
    expect(problemOf({ ...erased, data: { refs: [OTHER] } })).toBeNull();
    expect(problemOf({ ...erased, data: { refs: [] } })).toBe("not a valid body.erased");
    expect(problemOf({ ...entry, kind: "config.changed", data: { paths: [], config_hash: OTHER } })).toBe(
      "not a valid config.changed",
    );
    const sealed = { run_id: "r", outcome: "INTERRUPTED", head: OTHER };
    expect(problemOf({ ...entry, kind: "run.sealed", data: { ...sealed, seq: 1 } })).toBeNull();
    expect(problemOf({ ...entry, kind: "run.sealed", data: { ...sealed, seq: 0 } })).toBe("not a valid run.sealed");
  });

  test("an empty one stands at its beginning", () => {
    expect(verifyLedger("", { homeId })).toEqual({
      ok: true,
      entries: [],
      head: startLedger(homeId).hash,
      length: 0,
      torn: null,
      flags: [],
    });
  });

  test("a clock that went back is flagged, and a torn tail set apart", () => {
    const entries = ledgerOf([
      { ...draft("token.revoked", { tokenId: "a" }), ts: "2026-01-02" },
      { ...draft("token.revoked", { tokenId: "b" }), ts: "2026-01-01" },
      { ...draft("token.revoked", { tokenId: "c" }), ts: "2026-01-01" },
    ]);
    expect(verifyLedger(`${ledgerFileOf(entries)}{"actor"`, { homeId })).toMatchObject({
      ok: true,
      length: 3,
      torn: '{"actor"',
      flags: [{ entry: 2, problem: "ts is earlier than before" }],
    });
  });
});

describe("an entry that does not belong", () => {
  const [first, second, third] = BEGINNING as [LedgerEntry, LedgerEntry, LedgerEntry];
  const refused: readonly (readonly [string, readonly LedgerEntry[], number, string])[] = [
    ["a gap", [first, forge(third, { prev: first.hash })], 2, "seq is 3 instead of 2"],
    [
      "another home's beginning",
      [forge(first, { prev: startLedger("home_2").hash })],
      1,
      "prev is not the hash before",
    ],
    ["another predecessor", [first, forge(second, { prev: OTHER })], 2, "prev is not the hash before"],
    ["a hash not its own", [first, { ...second, hash: OTHER }], 2, "hash does not match"],
  ];
  for (const [name, entries, entry, problem] of refused) {
    test(`${name} is refused: ${problem}`, () => {
      expect(verifyLedger(ledgerFileOf(entries), { homeId })).toEqual({ ok: false, entry, problem });
    });
  }

  test("a broken link is named before a bad line behind it, and that before a lost anchor", () => {
    const broken = `${ledgerFileOf([forge(first, { prev: OTHER })])}x\n`;
    expect(verifyLedger(broken, { homeId })).toMatchObject({ ok: false, entry: 1 });
    const anchor = { seq: 3, hash: third.hash };
    expect(verifyLedger(`${ledgerFileOf([first])}x\n`, { homeId, anchor })).toMatchObject({
      entry: 2,
      problem: "not JSON: expected a value at 0",
    });
    expect(verifyLedger(ledgerFileOf([first]), { homeId, anchor })).toEqual({
      ok: false,
      entry: 2,
      problem: "missing: 3 were written",
    });
  });
});

describe("a checkpoint inside a ledger", () => {
  const state = { ledgerSeq: 3, ledgerHead: headOf(BEGINNING).hash, openRuns: [] };
  const verdictOn = (data: ReturnType<typeof signCheckpoint>) =>
    verifyLedger(ledgerFileOf(ledgerOf([...BEGINNING, draft("checkpoint.signed", data)])), {
      homeId,
      trusted: TRUSTED,
    });

  verifies("X-24", "passes when it names a head that stood there, and is signed by the trusted key", () => {
    expect(verdictOn(signCheckpoint(state, sign)).ok).toBe(true);
    const earlier = { ...state, ledgerSeq: 0, ledgerHead: startLedger(homeId).hash };
    expect(verdictOn(signCheckpoint(earlier, sign)).ok).toBe(true);
  });

  const signed = signCheckpoint(state, sign);
  const refused = [
    [
      "a head of another seq",
      signCheckpoint({ ...state, ledgerSeq: 2 }, sign),
      "checkpoint names a head that was not there",
    ],
    [
      "a head yet to come",
      signCheckpoint({ ...state, ledgerSeq: 4 }, sign),
      "checkpoint names a head that was not there",
    ],
    [
      "open runs that the root does not cover",
      { ...signed, openRuns: [{ runId: asRunId("r"), seq: 1, head: OTHER }] },
      "merkle_root is not that of open_runs",
    ],
    ["a stranger's signature", signCheckpoint(state, signAsStranger), "signature is not the trusted key's"],
  ] as const;
  for (const [name, data, problem] of refused) {
    verifies("X-24", `${name} is refused`, () => expect(verdictOn(data)).toEqual({ ok: false, entry: 4, problem }));
  }

  test("a signature is not asked for where no key is trusted", () => {
    const entries = ledgerOf([...BEGINNING, draft("checkpoint.signed", signCheckpoint(state, signAsStranger))]);
    expect(verifyLedger(ledgerFileOf(entries), { homeId }).ok).toBe(true);
  });

  verifies("X-24", "rewrite_all: a ledger recomputed as a whole lacks the signature", () => {
    const rewritten = ledgerOf([
      draft("token.revoked", { tokenId: "t" }),
      ...BEGINNING.slice(1),
      checkpointDraft(BEGINNING),
    ]);
    expect(verifyLedger(ledgerFileOf(rewritten), { homeId, trusted: TRUSTED })).toMatchObject({ ok: false, entry: 4 });
    const resigned = signCheckpoint({ ...state, ledgerHead: (rewritten[2] as LedgerEntry).hash }, signAsStranger);
    const forged = ledgerOf([...rewritten.slice(0, 3), draft("checkpoint.signed", resigned)]);
    expect(verifyLedger(ledgerFileOf(forged), { homeId, trusted: TRUSTED })).toEqual({
      ok: false,
      entry: 4,
      problem: "signature is not the trusted key's",
    });
  });
});

describe("a changed ledger", () => {
  /** Changes that are not found where they are; a torn tail that is set apart is found. */
  function missed(entries: readonly LedgerEntry[], tamperings: Iterable<Tampered>): readonly string[] {
    const { seq, hash } = headOf(entries);
    return misplaced(encode(ledgerFileOf(entries)), tamperings, (bytes) => {
      const verdict = verifyLedger(bytes, { homeId, anchor: { seq, hash } });
      if (!verdict.ok) return verdict.entry;
      return verdict.torn === null ? 0 : verdict.length + 1;
    });
  }
  const linesOf = (entries: readonly LedgerEntry[]) => entries.map((entry) => ledgerFileOf([entry]));

  verifies(
    "X-24",
    "every replaced, deleted or inserted byte and every truncation is found in the entry where it is",
    () => expect(missed(SMALL_LEDGER, everyByteTampering(encode(ledgerFileOf(SMALL_LEDGER))))).toEqual([]),
    LONG,
  );

  verifies("X-24", "every missing, repeated or swapped line is found where the order breaks", () => {
    expect(missed(SMALL_LEDGER, everyLineTampering(linesOf(SMALL_LEDGER)))).toEqual([]);
  });

  verifies(
    "X-24",
    "random changes of large ledgers are found in the entry where they are",
    () => {
      fc.assert(
        fc.property(anyLedger(20), fc.infiniteStream(fc.nat()), (entries, choices) => {
          const bytes = encode(ledgerFileOf(entries));
          const tamperings = Array.from({ length: 25 }, () => anyTampering(bytes, () => choices.next().value));
          expect(missed(entries, tamperings)).toEqual([]);
        }),
        { numRuns: 20 },
      );
    },
    LONG,
  );
});
