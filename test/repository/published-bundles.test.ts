import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { main } from "../../src/boot/main.ts";
import { openContract } from "../../src/kernel/contract/open-contract.ts";
import { parseEntry } from "../../src/kernel/journal/journal-lines.ts";
import { foldRun } from "../../src/kernel/machine/fold.ts";
import { asRunId } from "../../src/kernel/vocabulary/identifiers.ts";
import type { JsonValue } from "../../src/kernel/vocabulary/parse-json.ts";
import { capturedStreams } from "../boot/captured-streams.ts";
import { verifies } from "../requirements.ts";

const CONTRACTS = new URL("../../contracts/", import.meta.url);
const FIXTURES = new URL("fixtures/", CONTRACTS);
const BUNDLES = readdirSync(FIXTURES).filter((name) => name.startsWith("bundle-"));
const RECEIPTS = readdirSync(FIXTURES).filter((name) => name.startsWith("receipt-"));

verifies(
  ["P-7/bundles", "X-3/offline"],
  "every published bundle and receipt passes surety verify, without a home",
  async () => {
    expect(BUNDLES).toContain("bundle-2.2.json");
    for (const name of [...BUNDLES, ...RECEIPTS]) {
      const { public_key: key } = JSON.parse(readFileSync(new URL(name, FIXTURES), "utf8"));
      const verify = async (...words: readonly string[]) => {
        const streams = capturedStreams();
        const file = fileURLToPath(new URL(name, FIXTURES));
        const code = await main(["--home", "/nonexistent", "verify", file, ...words], streams, () => undefined);
        return { name, code, ...streams.written() };
      };
      expect(await verify()).toMatchObject({ name, code: 0, stderr: expect.not.stringMatching(/^error/) });
      expect(await verify("--key", key)).toMatchObject({ name, code: 0, stderr: "" });
    }
  },
);

verifies(["P-7/bundles", "M-P5.4"], "every published bundle folds to the same bytes, whichever machine made it", () => {
  const versions = BUNDLES.map((name) => {
    const { contract: document, entries: lines } = JSON.parse(readFileSync(new URL(name, FIXTURES), "utf8"));
    const opened = openContract(document);
    if (!opened.ok) throw new Error(`${name}: ${opened.problem}`);
    const entries = (lines as JsonValue[]).flatMap((line) => {
      const parsed = parseEntry(line);
      return parsed.ok ? [parsed.value] : [];
    });
    const folded = foldRun(asRunId(entries[0]?.runId ?? ""), opened.contract, entries);
    expect([name, folded.ok, entries.length]).toEqual([name, true, lines.length]);
    return opened.contract.machineVersion;
  });
  expect(new Set(versions)).toEqual(new Set([1, 2, 3, 4, 5]));
});

verifies("P-7/changelog", "the root changelog names the latest published version, which has its own section", () => {
  const versions: readonly { readonly version: string }[] = JSON.parse(
    readFileSync(new URL("versions.json", CONTRACTS), "utf8"),
  );
  const root = readFileSync(new URL("../CHANGELOG.md", CONTRACTS), "utf8");
  const sections = readFileSync(new URL("CHANGELOG.md", CONTRACTS), "utf8").matchAll(/^## (\d+\.\d+\.\d+)\b/gm);
  const named = [...root.matchAll(/Published contracts (\d+\.\d+\.\d+)/g)].map(([, version]) => version);
  expect(named).toEqual([versions.at(-1)?.version]);
  expect([...sections].map(([, version]) => version)).toEqual(versions.map(({ version }) => version));
});
