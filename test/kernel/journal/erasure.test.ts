import fc from "fast-check";
import { expect } from "vitest";
import { refsOf } from "../../../src/kernel/journal/body.ts";
import { makeBundle, verifyBundle } from "../../../src/kernel/journal/bundle.ts";
import { appendLedger, type LedgerEntry, verifyLedger } from "../../../src/kernel/journal/ledger.ts";
import { verifyJournal } from "../../../src/kernel/journal/verify-journal.ts";
import { toWire } from "../../../src/kernel/vocabulary/wire-case.ts";
import { verifies } from "../../requirements.ts";
import { anySealedJournal, CONTRACT, fileOf } from "./any-journal.ts";
import { anyLedger, HOME_ID, headOf, ledgerFileOf } from "./any-ledger.ts";
import { BODIES } from "./any-record.ts";
import { PUBLIC_KEY, sign, verifySignature } from "./toy-key.ts";

const anyRefs = fc.subarray([...BODIES.keys()]).map((refs) => new Set(refs));

verifies("X-25", "whatever is forgotten, journal, ledger and bundle still verify and show it as erased", () => {
  fc.assert(
    fc.property(anySealedJournal(), anyLedger(3), anyRefs, (entries, ledger, forget) => {
      const bodies = new Map([...BODIES].filter(([ref]) => !forget.has(ref)));
      const named = [...new Set(entries.flatMap(refsOf))].sort();
      const data = { refs: [...forget] };
      const tombstone = { kind: "body.erased", ts: "2026-01-02T03:04:05.000Z", actor: "operator", data } as const;

      expect(verifyJournal(fileOf(entries), CONTRACT)).toMatchObject({ ok: true, head: entries.at(-1)?.hash });
      const erasure = forget.size === 0 ? [] : [appendLedger(headOf(ledger), tombstone) as LedgerEntry];
      const verified = verifyLedger(ledgerFileOf([...ledger, ...erasure]), { homeId: HOME_ID });
      expect(verified.ok && verified.entries.slice(ledger.length)).toEqual(erasure);
      const made = makeBundle({ contract: toWire(CONTRACT), entries, bodies, publicKey: PUBLIC_KEY, sign });
      const verdict = verifyBundle(made.ok ? made.text : "", { verifySignature });
      expect(verdict).toMatchObject({ ok: true, erased: named.filter((ref) => forget.has(ref)) });
    }),
    { numRuns: 40 },
  );
});
