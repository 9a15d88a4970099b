/** The two behind `#schema-check` decide alike: what Node recorded, a browser reads, and what Node refuses, it refuses. */
import { readdirSync, readFileSync } from "node:fs";
import type { TSchema } from "typebox";
import { expect, test } from "vitest";
import { BundleSchema } from "../../src/kernel/journal/bundle.ts";
import { entrySchemaOf } from "../../src/kernel/journal/entry.ts";
import { STATE_OF } from "../../src/kernel/journal/entry-encoding.ts";
import { schemaCheck as compiled } from "../../src/kernel/vocabulary/schema-check-compiled.ts";
import { schemaCheck as interpreted } from "../../src/kernel/vocabulary/schema-check-interpreted.ts";
import { toWireSchema } from "../../src/kernel/vocabulary/wire-case.ts";

const FIXTURES = new URL("../../contracts/fixtures/", import.meta.url);
const bundles = readdirSync(FIXTURES)
  .filter((name) => name.startsWith("bundle-"))
  .map((name) => JSON.parse(readFileSync(new URL(name, FIXTURES), "utf8")) as { entries: Record<string, unknown>[] });

/** As it is, and with each field left out, of another type, or with a field too many. */
function variants(document: object): readonly unknown[] {
  const fields = Object.entries(document);
  return [
    document,
    { ...document, stranger: 1 },
    ...fields.map(([name]) => Object.fromEntries(fields.filter(([other]) => other !== name))),
    ...fields.map(([name, value]) => ({ ...document, [name]: typeof value === "string" ? 7 : "changed" })),
  ];
}

function expectAlike(schema: TSchema, document: object): number {
  const [one, other] = [compiled(schema), interpreted(schema)];
  const cases = variants(document);
  const accepted = cases.filter((value) => one.accepts(value));
  expect(cases.filter((value) => other.accepts(value))).toEqual(accepted);
  for (const value of cases) expect(other.problems(value)).toEqual(one.problems(value));
  return accepted.length;
}

test("bundles and their entries, whole and changed", () => {
  let accepted = 0;
  for (const bundle of bundles) {
    accepted += expectAlike(BundleSchema, bundle);
    for (const kind of Object.keys(STATE_OF) as (keyof typeof STATE_OF)[]) {
      const entry = bundle.entries.find((each) => each["kind"] === kind);
      if (entry !== undefined) accepted += expectAlike(toWireSchema({ ...entrySchemaOf(kind) }) as TSchema, entry);
    }
  }
  expect(accepted).toBeGreaterThan(bundles.length);
});
