/** The hash chain of golden journals, computed again from its definition (design §5) by code of its own. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { verifies } from "../requirements.ts";

const FIXTURES = new URL("../../contracts/fixtures/", import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, FIXTURES), "utf8");
type Line = Readonly<Record<string, unknown>>;

/** SHA-256 of canonical JSON; the fixtures hold neither odd numbers nor odd keys, so sorting keys is all it takes. */
const hash = (value: unknown): string =>
  createHash("sha256")
    .update(JSON.stringify(sorted(value)))
    .digest("hex");

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}

const JOURNALS: Readonly<Record<string, readonly Line[]>> = {
  ...Object.fromEntries(
    ["journal-2.1.jsonl", "journal-2.2.jsonl"].map((name) => [
      name,
      read(name)
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ]),
  ),
  "bundle-2.2-messages.json": JSON.parse(read("bundle-2.2-messages.json")).entries,
};

for (const [name, lines] of Object.entries(JOURNALS)) {
  verifies("M-P5.1/chain", `each H_n of ${name} is the hash of the seed's eight fields, in their order`, () => {
    expect(lines.length).toBeGreaterThan(5);
    let previous = hash(lines[0]?.["contract_hash"]);
    for (const line of lines) {
      const { run_id, seq, ts, elapsed_ms, step_id, kind, actor, labels, decided, result } = line;
      expect(line["action_hash"]).toBe(
        hash({ v: 1, run_id, seq, ts, elapsed_ms, step_id, kind, actor, labels, decided }),
      );
      expect(line["result_hash"]).toBe(hash(result));
      expect(line["prev"]).toBe(previous);
      const { contract_hash, state, action_hash, result_hash, adapter_version, model_profile_id, model_fingerprint } =
        line;
      expect(line["hash"]).toBe(
        hash([
          ...[previous, contract_hash, state, action_hash, result_hash],
          ...[adapter_version, model_profile_id, model_fingerprint],
        ]),
      );
      previous = String(line["hash"]);
    }
  });
}
