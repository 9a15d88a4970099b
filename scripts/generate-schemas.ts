/**
 * Writes `contracts/schemas` from the code: `npm run schemas`. With `-- --release 1.2.3` it also adds a version's record
 * to `contracts/versions.json`; its section with the approver in `contracts/CHANGELOG.md` and a fixture are yours to add.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { hashBytes } from "../src/kernel/vocabulary/hash.ts";
import type { VersionRecord } from "./contract-changes.ts";
import { publishedSchemas } from "./published-schemas.ts";

const contracts = new URL("../contracts/", import.meta.url);
const { values } = parseArgs({ options: { release: { type: "string" } } });

writeSchemas();
if (values.release !== undefined) addRelease(values.release);

function writeSchemas(): void {
  const folder = new URL("schemas/", contracts);
  const schemas = publishedSchemas();
  mkdirSync(folder, { recursive: true });
  const before = new Map(readdirSync(folder).map((name) => [name, readFileSync(new URL(name, folder), "utf8")]));
  const gone = [...before.keys()].filter((name) => !Object.hasOwn(schemas, name));
  const changed = Object.entries(schemas).filter(([name, text]) => before.get(name) !== text);
  for (const name of gone) rmSync(new URL(name, folder));
  for (const [name, text] of changed) writeFileSync(new URL(name, folder), text);
  const names = [...changed.map(([name]) => name), ...gone];
  console.log(names.length === 0 ? "schemas are up to date" : `changed: ${names.join(", ")}`);
}

function addRelease(version: string): void {
  const file = new URL("versions.json", contracts);
  const versions: VersionRecord[] = JSON.parse(readFileSync(file, "utf8"));
  versions.push({ version, schemas: hashesIn("schemas/"), fixtures: hashesIn("fixtures/") });
  writeFileSync(file, `${JSON.stringify(versions, null, 2)}\n`);
  console.log(`added ${version}: now its section in contracts/CHANGELOG.md, with "Approved by: …"`);
}

function hashesIn(folder: string): Readonly<Record<string, string>> {
  const files = readdirSync(new URL(folder, contracts)).sort();
  return Object.fromEntries(files.map((name) => [name, hashBytes(readFileSync(new URL(folder + name, contracts)))]));
}
