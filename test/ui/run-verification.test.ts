/** The page's verifier, on recorded runs: whole ones pass, and whatever is changed is named at its entry. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type EntriesPage, RunVerification } from "../../ui/src/verify/run-verification.ts";
import { verifies } from "../requirements.ts";

const FIXTURES = new URL("../../contracts/fixtures/", import.meta.url);

type Document = Record<string, unknown>;
interface Bundle {
  readonly contract: Document;
  readonly entries: readonly Document[];
  readonly bodies: EntriesPage["bodies"];
}

const bundles = readdirSync(FIXTURES)
  .filter((name) => name.startsWith("bundle-"))
  .map((name) => [name, JSON.parse(readFileSync(new URL(name, FIXTURES), "utf8")) as Bundle] as const);
const [, whole] = bundles.find(([name]) => name === "bundle-2.2.json") ?? [];
if (whole === undefined) throw new Error("there is no recorded bundle");

function pageOf({ contract, entries, bodies }: Bundle, also: Partial<EntriesPage> = {}): EntriesPage {
  const given = { contract, entries, bodies, erased: [], seq: entries.length, total: entries.length };
  return { ...given, digest: "", is_ended: true, damage: null, ...also };
}

function verified(page: EntriesPage, runId = String(whole?.entries[0]?.["run_id"])) {
  return new RunVerification(runId).add(page, () => 0);
}

test.each(bundles)("%s is whole, at once and page by page, and has a line for each entry", (_name, bundle) => {
  const runId = String(bundle.entries[0]?.["run_id"]);
  const atOnce = verified(pageOf(bundle), runId);
  const { length } = bundle.entries;
  expect(atOnce).toMatchObject({ bad: null, checked: length, rows: { length } });
  expect(atOnce.digest.here).toMatch(/^[0-9a-f]{64}$/);
  const paged = new RunVerification(runId);
  for (let after = 0; after < length; after += 1) {
    const entries = bundle.entries.slice(after, after + 1);
    const { contract, bodies } = after === 0 ? bundle : { contract: null, bodies: {} };
    const page = pageOf({ contract: contract as Document, entries, bodies }, { seq: after + 1, total: length });
    const last = paged.add(page, () => 0);
    expect(last).toMatchObject({ bad: null, checked: after + 1, from: after });
    if (after + 1 === length) expect([last.digest.here, last.facts]).toEqual([atOnce.digest.here, atOnce.facts]);
  }
});

verifies("X-3", "each entry that is changed in any field, left out or put twice is the one that is named", () => {
  for (const [index, entry] of whole.entries.entries()) {
    for (const [field, value] of Object.entries(entry)) {
      const changed = typeof value === "number" ? value + 1 : typeof value === "string" ? `${value}x` : { other: 1 };
      const entries = whole.entries.with(index, { ...entry, [field]: changed });
      const { bad, checked, digest } = verified(pageOf({ ...whole, entries }));
      expect([field, bad?.entry, checked, digest.here]).toEqual([field, index + 1, index, null]);
    }
    const twice = whole.entries.toSpliced(index, 0, entry);
    expect(verified(pageOf({ ...whole, entries: twice })).bad?.entry).toBe(index + 2);
    const less = whole.entries.toSpliced(index, 1);
    expect(verified(pageOf({ ...whole, entries: less })).bad?.entry).toBe(index + 1);
  }
});

verifies("X-3", "a changed text is named at the first entry that names it, an erased one breaks nothing", () => {
  const [[ref = "", body] = []] = Object.entries(whole.bodies);
  const changed = { ...whole.bodies, [ref]: { salt: body?.salt ?? "", text: `${body?.text}!` } };
  const first = 1 + whole.entries.findIndex((entry) => JSON.stringify(entry).includes(ref));
  expect(verified(pageOf({ ...whole, bodies: changed })).bad).toEqual({
    entry: first,
    problem: "a text it names was changed",
  });
  const { [ref]: _erased, ...rest } = whole.bodies;
  expect(verified(pageOf({ ...whole, bodies: rest }, { erased: [ref] }))).toMatchObject({ bad: null, erased: 1 });
});

test("another run's entries, another contract, damage and a missing end are named", () => {
  expect(verified(pageOf(whole), "run_other").bad?.entry).toBe(1);
  const contract = { ...whole.contract, max_inferences: 99 };
  expect(verified(pageOf({ ...whole, contract })).bad).toEqual({
    entry: 1,
    problem: expect.stringContaining("contract"),
  });
  const damage = { entry: 3, problem: "not JSON" };
  const entries = whole.entries.slice(0, 2);
  expect(verified(pageOf({ ...whole, entries }, { seq: 2, total: 9, damage })).bad).toEqual(damage);
  const cut = { seq: entries.length, total: 9 };
  expect(verified(pageOf({ ...whole, entries: [] }, { ...cut, seq: 0 })).bad?.entry).toBe(1);
});
