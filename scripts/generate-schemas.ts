/** Writes `contracts/schemas` from the code. A change also needs a version: see `contracts/CHANGELOG.md`. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { publishedSchemas } from "./published-schemas.ts";

const folder = new URL("../contracts/schemas/", import.meta.url);
const schemas = publishedSchemas();

mkdirSync(folder, { recursive: true });
const before = Object.fromEntries(
  readdirSync(folder).map((name) => [name, readFileSync(new URL(name, folder), "utf8")]),
);
const gone = Object.keys(before).filter((name) => !Object.hasOwn(schemas, name));
const changed = Object.keys(schemas).filter((name) => before[name] !== schemas[name]);

for (const name of gone) rmSync(new URL(name, folder));
for (const name of changed) writeFileSync(new URL(name, folder), schemas[name] ?? "");

console.log(
  changed.length + gone.length === 0 ? "schemas are up to date" : `changed: ${[...changed, ...gone].join(", ")}`,
);
if (changed.length + gone.length > 0) {
  console.log(
    "Next: a record in contracts/versions.json, a section with its approver in contracts/CHANGELOG.md, a fixture.",
  );
}
