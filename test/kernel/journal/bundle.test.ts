import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { refsOf } from "../../../src/kernel/journal/body.ts";
import { type BundleParts, makeBundle, verifyBundle } from "../../../src/kernel/journal/bundle.ts";
import type { Entry } from "../../../src/kernel/journal/entry.ts";
import { lifecycleEvents } from "../../../src/kernel/journal/views/lifecycle-events.ts";
import { canonicalJson } from "../../../src/kernel/vocabulary/canonical-json.ts";
import { hashBytes } from "../../../src/kernel/vocabulary/hash.ts";
import { asBodyRef, type BodyRef } from "../../../src/kernel/vocabulary/identifiers.ts";
import { toWire } from "../../../src/kernel/vocabulary/wire-case.ts";
import { verifies } from "../../requirements.ts";
import { contractOf } from "../machine/scripted-run.ts";
import {
  anyOpenJournal,
  anySealedJournal,
  CONTRACT,
  chainOf,
  fileOf,
  forge,
  RUN_ID,
  SMALL_JOURNAL,
} from "./any-journal.ts";
import { BODIES } from "./any-record.ts";
import { anyTampering, encode } from "./tamper.ts";
import { PUBLIC_KEY, sign, signAsStranger, verifySignature } from "./toy-key.ts";

const NO_BUNDLE = "not a bundle as surety.run-bundle.v1 has it";
const OTHER = hashBytes("other");
const CONTRACT_DOCUMENT: unknown = toWire(CONTRACT);
const [created, commit, end] = SMALL_JOURNAL as [Entry, Entry, Entry];
const [ANSWER_REF] = refsOf(end) as [BodyRef];

function partsOf(entries: readonly Entry[]): BundleParts {
  return { contract: CONTRACT_DOCUMENT, entries, bodies: BODIES, publicKey: PUBLIC_KEY, sign };
}

function bundleOf(entries: readonly Entry[], changes: Partial<BundleParts> = {}): string {
  const made = makeBundle({ ...partsOf(entries), ...changes });
  if (!made.ok) throw new Error(made.problem);
  return made.text;
}

/** The small journal, every hash of it right, but under another profile than its contract's. */
function underProfile(changes: Partial<Record<"adapterVersion" | "modelProfileId", string>>): readonly Entry[] {
  const [first, second, third] = SMALL_JOURNAL.map((entry) => ({ ...entry, ...changes })) as [Entry, Entry, Entry];
  const begun = forge(first, {});
  const committed = forge(second, { prev: begun.hash });
  return [begun, committed, forge(third, { prev: committed.hash })];
}

const namedBy = (entries: readonly Entry[]): readonly BodyRef[] => [...new Set(entries.flatMap(refsOf))].sort();

describe("a run bundle", () => {
  verifies("X-3/offline", "verifies with nothing else at hand, and names outcome, head and signer", () => {
    fc.assert(
      fc.property(anySealedJournal(), (entries) => {
        const last = entries.at(-1) as Entry & { kind: "TERMINATE" };
        const expected = {
          ok: true,
          runId: RUN_ID,
          head: last.hash,
          outcome: last.decided.outcome,
          erased: [],
          publicKey: PUBLIC_KEY,
        };
        expect(verifyBundle(bundleOf(entries), { verifySignature })).toEqual(expected);
        expect(verifyBundle(encode(bundleOf(entries)), { verifySignature })).toEqual(expected);
      }),
      { numRuns: 30 },
    );
  });

  verifies("X-3", "is one canonical JSON document of the pinned fields, with readable bodies and a signed head", () => {
    const text = bundleOf(SMALL_JOURNAL);
    const bundle = JSON.parse(text);
    expect(canonicalJson(bundle)).toBe(text);
    expect(bundle).toEqual({
      format: "surety.run-bundle.v1",
      contract: CONTRACT_DOCUMENT,
      entries: fileOf(SMALL_JOURNAL)
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)),
      events: lifecycleEvents(SMALL_JOURNAL),
      bodies: { [ANSWER_REF]: BODIES.get(ANSWER_REF) },
      public_key: PUBLIC_KEY,
      signature: sign(
        `{"contract_hash":"${CONTRACT.contractHash}","format":"surety.run-bundle.v1","head":"${end.hash}","run_id":"run_1"}`,
      ),
    });
  });

  verifies("O-2.1/bundle", "holds its lifecycle events, and no other ones verify", () => {
    fc.assert(
      fc.property(anySealedJournal(), fc.nat(), (entries, choice) => {
        const bundle = JSON.parse(bundleOf(entries));
        const events: readonly object[] = bundle.events;
        expect(events).toEqual(lifecycleEvents(entries));
        const at = choice % events.length;
        const others = [
          events.with(at, { ...events[at], event_type: "run.invented" }),
          events.toSpliced(at, 1),
          [...events, events[at]],
          [],
        ];
        for (const other of others) {
          const verdict = verifyBundle(JSON.stringify({ ...bundle, events: other }), { verifySignature });
          expect(verdict).toMatchObject({
            ok: false,
            problem: expect.stringMatching(/^event \d+ is not what the entries say$/),
          });
        }
      }),
      { numRuns: 30 },
    );
  });

  test("of an earlier version, without events, verifies", () => {
    const { events: _, ...earlier } = JSON.parse(bundleOf(SMALL_JOURNAL));
    expect(verifyBundle(JSON.stringify(earlier), { verifySignature }).ok).toBe(true);
  });

  test("is made of the deepest contract that can be sealed, and verifies", () => {
    const args = JSON.parse(`${'{"a":'.repeat(29)}1${"}".repeat(29)}`);
    const deep = contractOf({ requiredEffects: [{ tool: "fs.*", args }] });
    const text = bundleOf(chainOf(SMALL_JOURNAL, RUN_ID, deep), { contract: toWire(deep) });
    expect(verifyBundle(text, { verifySignature }).ok).toBe(true);
  });

  test("is a bundle in any layout", () => {
    const pretty = JSON.stringify(JSON.parse(bundleOf(SMALL_JOURNAL)), null, 2);
    expect(verifyBundle(pretty, { verifySignature }).ok).toBe(true);
  });

  verifies("X-3", "lists refs without a body as erased", () => {
    fc.assert(
      fc.property(anySealedJournal(), fc.subarray([...BODIES.keys()]), (entries, kept) => {
        const bodies = new Map([...BODIES].filter(([ref]) => kept.includes(ref)));
        const verdict = verifyBundle(bundleOf(entries, { bodies }), { verifySignature });
        expect(verdict.ok && verdict.erased).toEqual(namedBy(entries).filter((ref) => !kept.includes(ref)));
      }),
      { numRuns: 30 },
    );
  });

  verifies(
    "X-3",
    "no change of its meaning by one byte is missed",
    () => {
      const text = bundleOf(SMALL_JOURNAL);
      const original = encode(text);
      fc.assert(
        fc.property(fc.infiniteStream(fc.nat()), (choices) => {
          const { bytes } = anyTampering(original, () => choices.next().value);
          expect(verifyBundle(bytes, { verifySignature }).ok).toBe(isSameMeaning(bytes, text));
        }),
        { numRuns: 1500 },
      );
    },
    60_000,
  );

  verifies(
    "X-3/named",
    "of whichever byte is damaged, an entry is named: that one, or the one that what was damaged hangs on",
    () => {
      const text = bundleOf(SMALL_JOURNAL);
      const original = encode(text);
      const bodyText = canonicalJson(BODIES.get(ANSWER_REF));
      const parts = [CONTRACT_DOCUMENT, ...SMALL_JOURNAL.map((entry) => toWire(entry))].map(canonicalJson);
      const ranges = [bodyText, ...parts].map((part, index) => {
        const start = encode(text.slice(0, text.indexOf(part))).length;
        return { start, end: start + encode(part).length, entry: [3, 1, 1, 2, 3][index] };
      });
      for (let at = 0; at < original.length; at += 1) {
        // The first and the last byte of a part may be taken for what surrounds it.
        const right = ranges.find(({ start, end }) => start < at && at < end - 1)?.entry;
        for (const bit of [1, 1 << (at % 8)]) {
          const verdict = verifyBundle(original.with(at, (original[at] ?? 0) ^ bit), { verifySignature });
          const named = verdict.ok ? "none" : verdict.entry;
          if (right !== undefined) expect(named, `byte ${at}, bit ${bit}`).toBe(right);
          else expect([1, 2, 3], `byte ${at}, bit ${bit}`).toContain(named);
        }
      }
    },
    60_000,
  );

  function isSameMeaning(bytes: Uint8Array, text: string): boolean {
    try {
      return canonicalJson(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes))) === text;
    } catch {
      return false;
    }
  }
});

describe("makeBundle", () => {
  test("refuses what is not sealed, does not verify, or has no contract", () => {
    const refused: readonly (readonly [Partial<BundleParts>, object])[] = [
      [{ entries: [created, commit] }, { ok: false, entry: 2, problem: "the run is not sealed" }],
      [{ entries: [] }, { ok: false, entry: 1, problem: "the run is not sealed" }],
      [
        { entries: [created, forge(commit, { prev: OTHER }), end] },
        { ok: false, entry: 2, problem: "prev is not the hash before" },
      ],
      [{ contract: null }, { ok: false, entry: 1, problem: "contract: not a JSON object" }],
      [
        { entries: underProfile({ adapterVersion: "native-tools@2" }) },
        { ok: false, entry: 1, problem: "adapter_version is not the contract's" },
      ],
      [
        { entries: underProfile({ modelProfileId: "other" }) },
        { ok: false, entry: 1, problem: "model_profile_id is not the contract's" },
      ],
      [
        { bodies: new Map([[ANSWER_REF, { salt: "00".repeat(16), text: "forged" }]]) },
        { ok: false, entry: 3, problem: `body ${ANSWER_REF} does not match its ref` },
      ],
    ];
    for (const [changes, verdict] of refused) {
      expect(makeBundle({ ...partsOf(SMALL_JOURNAL), ...changes })).toEqual(verdict);
    }
  });

  test("takes along no body that the run does not name", () => {
    fc.assert(
      fc.property(anySealedJournal(), (entries) => {
        const { bodies } = JSON.parse(bundleOf(entries)) as { bodies: object };
        expect(Object.keys(bodies).sort()).toEqual(namedBy(entries));
      }),
      { numRuns: 30 },
    );
  });
});

describe("verifyBundle", () => {
  const bundle = JSON.parse(bundleOf(SMALL_JOURNAL));
  const verdictOn = (changes: object) => verifyBundle(JSON.stringify({ ...bundle, ...changes }), { verifySignature });
  const wireOf = (entry: Entry) => toWire(entry) as object;
  const stranger = asBodyRef("a".repeat(64));
  const body = BODIES.get(ANSWER_REF) as object;

  const refused: readonly (readonly [string, object, object])[] = [
    ["another format", { format: "surety.run-bundle.v2" }, { ok: false, entry: 3, problem: `${NO_BUNDLE}: format` }],
    ["a missing field", { signature: undefined }, { ok: false, entry: 3, problem: `${NO_BUNDLE}: signature` }],
    ["a field more", { extra: 1 }, { ok: false, entry: 3, problem: NO_BUNDLE }],
    [
      "no contract",
      { contract: [], entries: [] },
      { ok: false, entry: 1, problem: expect.stringMatching(/^contract: /) },
    ],
    [
      "a changed contract",
      { contract: { ...bundle.contract, max_inferences: 99 } },
      { ok: false, entry: 1, problem: "contract: contract_hash does not match the terms" },
    ],
    [
      "a malformed entry",
      { entries: [wireOf(created), { ...wireOf(commit), seq: "2" }, wireOf(end)] },
      { ok: false, entry: 2, problem: "not a valid COMMIT" },
    ],
    [
      "a changed entry",
      { entries: [wireOf(created), { ...wireOf(commit), actor: "x" }, wireOf(end)] },
      { ok: false, entry: 2, problem: "action_hash does not match" },
    ],
    [
      "a missing end",
      { entries: [wireOf(created), wireOf(commit)] },
      { ok: false, entry: 2, problem: "the run is not sealed" },
    ],
    [
      "an event of another time",
      { events: bundle.events.with(2, { ...bundle.events[2], ts: "2026-01-02T03:04:07.000Z" }) },
      { ok: false, entry: 3, problem: "event 3 is not what the entries say" },
    ],
    ["events that are no list", { events: {} }, { ok: false, entry: 3, problem: `${NO_BUNDLE}: events` }],
    ["another signature", { signature: OTHER }, { ok: false, entry: 3, problem: "signature does not match" }],
    ["another key", { public_key: "stranger" }, { ok: false, entry: 3, problem: "signature does not match" }],
    [
      "a body nobody names",
      { bodies: { [stranger]: body } },
      { ok: false, entry: 3, problem: `body ${stranger} is named by no entry` },
    ],
    [
      "another body",
      { bodies: { [ANSWER_REF]: { ...body, text: "forged" } } },
      { ok: false, entry: 3, problem: `body ${ANSWER_REF} does not match its ref` },
    ],
    ["a ref that is none", { bodies: { x: body } }, { ok: false, entry: 1, problem: `${NO_BUNDLE}: bodies` }],
    [
      "a salt that is none",
      { bodies: { [ANSWER_REF]: { ...body, salt: "0" } } },
      { ok: false, entry: 3, problem: `${NO_BUNDLE}: bodies` },
    ],
    [
      "a body with more",
      { bodies: { [ANSWER_REF]: { ...body, more: 1 } } },
      { ok: false, entry: 3, problem: `${NO_BUNDLE}: bodies` },
    ],
  ];
  for (const [name, changes, verdict] of refused) {
    verifies("X-3", `${name} is refused`, () => expect(verdictOn(changes)).toEqual(verdict));
  }

  verifies("X-3", "a run forged as a whole is only as good as the key that signed it", () => {
    const forged = [forge(created, { actor: "x" })];
    forged.push(forge(commit, { prev: forged[0]?.hash }));
    forged.push(forge(end, { prev: forged[1]?.hash }));
    const entries = forged.map(wireOf);
    expect(verdictOn({ entries })).toEqual({ ok: false, entry: 3, problem: "signature does not match" });
    const resigned = bundleOf(forged, { publicKey: "stranger", sign: signAsStranger });
    expect(verifyBundle(resigned, { verifySignature })).toMatchObject({ ok: true, publicKey: "stranger" });
  });

  test("a key or a signature that the verifier cannot even read does not match", () => {
    const throwing = () => {
      throw new Error("bad key");
    };
    expect(verifyBundle(bundleOf(SMALL_JOURNAL), { verifySignature: throwing })).toEqual({
      ok: false,
      entry: 3,
      problem: "signature does not match",
    });
  });

  test("what is no JSON, or no UTF-8, is refused", () => {
    expect(verifyBundle("{", { verifySignature })).toEqual({
      ok: false,
      entry: 1,
      problem: "not JSON: expected a key at 1",
    });
    expect(verifyBundle(Uint8Array.of(0xff), { verifySignature })).toEqual({
      ok: false,
      entry: 1,
      problem: "not UTF-8",
    });
    expect(verifyBundle("null", { verifySignature })).toMatchObject({ ok: false, entry: 1 });
    const text = bundleOf(SMALL_JOURNAL);
    const doubled = text.replace('"format":', '"format":"surety.run-bundle.v1","format":');
    expect(verifyBundle(doubled, { verifySignature })).toMatchObject({
      problem: expect.stringMatching(/^not JSON: duplicate/),
    });
  });

  test("a bundle of a run that never began proves nothing", () => {
    fc.assert(
      fc.property(anyOpenJournal(3), (entries) => {
        expect(makeBundle(partsOf(entries))).toMatchObject({ ok: false, problem: "the run is not sealed" });
      }),
      { numRuns: 10 },
    );
  });
});
