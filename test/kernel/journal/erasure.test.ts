import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { refsOf } from "../../../src/kernel/journal/body.ts";
import { makeBundle, verifyBundle } from "../../../src/kernel/journal/bundle.ts";
import { eraseBodies } from "../../../src/kernel/journal/erasure.ts";
import { appendLedger, type LedgerEntry, verifyLedger } from "../../../src/kernel/journal/ledger.ts";
import { verifyJournal } from "../../../src/kernel/journal/verify-journal.ts";
import { hashBytes } from "../../../src/kernel/vocabulary/hash.ts";
import { asBodyRef, type BodyRef } from "../../../src/kernel/vocabulary/identifiers.ts";
import { toWire } from "../../../src/kernel/vocabulary/wire-case.ts";
import { verifies } from "../../requirements.ts";
import { anySealedJournal, CONTRACT, fileOf } from "./any-journal.ts";
import { anyLedger, HOME_ID, headOf, ledgerFileOf } from "./any-ledger.ts";
import { BODIES } from "./any-record.ts";
import { PUBLIC_KEY, sign, verifySignature } from "./toy-key.ts";

const WHO = { ts: "2026-01-02T03:04:05.000Z", actor: "operator" } as const;
const anyRefs = fc.subarray([...BODIES.keys()]).map((refs) => new Set(refs));

describe("eraseBodies", () => {
  verifies("X-25", "whatever is forgotten, journal, ledger and bundle still verify and show it as erased", () => {
    fc.assert(
      fc.property(anySealedJournal(), anyLedger(3), anyRefs, (entries, ledger, forget) => {
        const { bodies, tombstone } = eraseBodies(BODIES, forget, WHO);
        const named = [...new Set(entries.flatMap(refsOf))].sort();

        expect(verifyJournal(fileOf(entries), CONTRACT)).toMatchObject({ ok: true, head: entries.at(-1)?.hash });
        const grave = tombstone === null ? [] : [appendLedger(headOf(ledger), tombstone) as LedgerEntry];
        const verified = verifyLedger(ledgerFileOf([...ledger, ...grave]), { homeId: HOME_ID });
        expect(verified.ok && verified.entries.slice(ledger.length).map(({ data }) => data)).toEqual(
          forget.size === 0 ? [] : [{ refs: [...forget] }],
        );
        const made = makeBundle({ contract: toWire(CONTRACT), entries, bodies, publicKey: PUBLIC_KEY, sign });
        const verdict = verifyBundle(made.ok ? made.text : "", { verifySignature });
        expect(verdict).toMatchObject({ ok: true, erased: named.filter((ref) => forget.has(ref)) });
      }),
      { numRuns: 40 },
    );
  });

  verifies("X-25", "body and salt are gone, the rest is as it was, and erasing twice is harmless", () => {
    fc.assert(
      fc.property(anyRefs, (forget) => {
        const { bodies } = eraseBodies(BODIES, forget, WHO);
        expect([...bodies]).toEqual([...BODIES].filter(([ref]) => !forget.has(ref)));
        expect(eraseBodies(bodies, forget, WHO)).toEqual({ bodies, tombstone: null });
      }),
    );
  });

  test("the tombstone names what was there, by ref alone", () => {
    const [first] = [...BODIES.keys()] as [BodyRef];
    const stranger = asBodyRef(hashBytes("never stored"));
    expect(eraseBodies(BODIES, new Set([stranger, first]), WHO).tombstone).toEqual({
      kind: "body.erased",
      ...WHO,
      data: { refs: [first] },
    });
    expect(eraseBodies(BODIES, new Set([stranger]), WHO)).toEqual({ bodies: BODIES, tombstone: null });
  });
});
