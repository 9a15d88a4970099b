import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { contractChangeProblems, type PublishedState, type VersionRecord } from "../../scripts/contract-changes.ts";
import { publishedSchemas } from "../../scripts/published-schemas.ts";
import { hashBytes } from "../../src/kernel/vocabulary/hash.ts";
import { citedTitle, verifies } from "../requirements.ts";

const CONTRACTS = new URL("../../contracts/", import.meta.url);

const V1: VersionRecord = { version: "1.0.0", schemas: { "a.json": "s1" }, fixtures: { "f.json": "f1" } };
const V2: VersionRecord = {
  version: "1.1.0",
  schemas: { "a.json": "s2" },
  fixtures: { "f.json": "f1", "g.json": "g1" },
};
const CHANGELOG =
  "# Contracts\n\n## 1.1.0 (2026-02-02)\n\nApproved by: the owner\n\n## 1.0.0\n\nApproved by: the owner\n";

const SOUND: PublishedState = {
  versions: [V1, V2],
  committed: [[V1]],
  generated: V2.schemas,
  schemas: V2.schemas,
  fixtures: V2.fixtures,
  changelog: CHANGELOG,
};

describe("the check of contract changes", () => {
  verifies("P-7/rules", "accepts a change with version, changelog, approver and fixture", () => {
    expect(contractChangeProblems(SOUND)).toEqual([]);
  });

  test.each<[string, Partial<PublishedState>, string]>([
    [
      "a schema that changed in the code only",
      { generated: { "a.json": "s3" } },
      "schema a.json differs from the code: run `npm run schemas`",
    ],
    [
      "a schema file that changed without a version",
      { generated: { "a.json": "s3" }, schemas: { "a.json": "s3" } },
      "schema a.json changed since version 1.1.0: add a version",
    ],
    [
      "a schema that vanished",
      { generated: {}, schemas: {} },
      "schema a.json changed since version 1.1.0: add a version",
    ],
    [
      "a fixture that was edited",
      { fixtures: { ...V2.fixtures, "f.json": "f2" } },
      "fixture f.json changed since version 1.1.0: add a version",
    ],
    [
      "a record that was edited",
      { committed: [[V1], [{ ...V1, fixtures: {} }]] },
      "the record of version 1.0.0 was edited: records are only ever added",
    ],
    [
      "a record that vanished",
      { committed: [[V1, V2, { ...V2, version: "1.2.0" }]] },
      "the record of version 1.2.0 was edited: records are only ever added",
    ],
    [
      "a version that does not grow",
      { versions: [V1, { ...V2, version: "1.0.0" }] },
      "version 1.0.0 does not follow 1.0.0",
    ],
    [
      "a version that is none",
      { versions: [{ ...V2, version: "next" }], committed: [] },
      "version next is not of the form 1.2.3",
    ],
    [
      "a version without a new fixture",
      { versions: [V1, { ...V2, fixtures: V1.fixtures }], fixtures: V1.fixtures },
      "version 1.1.0 has no new or updated fixture",
    ],
    [
      "a version without a changelog",
      { changelog: CHANGELOG.replace("## 1.1.0", "## 1.1.1") },
      "contracts/CHANGELOG.md has no section for version 1.1.0",
    ],
    [
      "a version nobody approved",
      { changelog: CHANGELOG.replace("Approved by: the owner\n\n## 1.0.0", "\n## 1.0.0") },
      "the changelog of version 1.1.0 names no approver",
    ],
    ["no version at all", { versions: [] }, "contracts/versions.json has no version"],
  ])(citedTitle("P-7/rules", "refuses %s"), (_, change, problem) => {
    expect(contractChangeProblems({ ...SOUND, ...change })).toContain(problem);
  });

  test("knows that 1.10.0 follows 1.9.0", () => {
    const versions = [
      { ...V1, version: "1.9.0" },
      { ...V2, version: "1.10.0" },
    ];
    const changelog = CHANGELOG.replace("1.1.0", "1.10.0").replace("## 1.0.0", "## 1.9.0");
    expect(contractChangeProblems({ ...SOUND, versions, committed: [], changelog })).toEqual([]);
  });
});

verifies(
  "P-7/published",
  "the published contracts are what the code says, with version, changelog, approver and fixtures",
  () => {
    const generated = Object.fromEntries(
      Object.entries(publishedSchemas()).map(([name, text]) => [name, hashBytes(text)]),
    );
    expect(
      contractChangeProblems({
        versions: JSON.parse(readFileSync(new URL("versions.json", CONTRACTS), "utf8")),
        committed: committedVersions(),
        generated,
        schemas: hashesIn("schemas/"),
        fixtures: hashesIn("fixtures/"),
        changelog: readFileSync(new URL("CHANGELOG.md", CONTRACTS), "utf8"),
      }),
    ).toEqual([]);
  },
);

function hashesIn(folder: string): Readonly<Record<string, string>> {
  const files = readdirSync(new URL(folder, CONTRACTS)).sort();
  return Object.fromEntries(files.map((name) => [name, hashBytes(readFileSync(new URL(folder + name, CONTRACTS)))]));
}

/** Every committed state of the records. Outside a clone there is none, and only the present is checked. */
function committedVersions(): readonly (readonly VersionRecord[])[] {
  const commits = git("log", "--format=%H", "--", "versions.json")?.trim().split("\n").filter(Boolean) ?? [];
  return commits.flatMap((commit) => {
    const text = git("show", `${commit}:./versions.json`);
    return text === null ? [] : [JSON.parse(text)];
  });
}

function git(...args: readonly string[]): string | null {
  const { status, stdout } = spawnSync("git", args, { cwd: CONTRACTS, encoding: "utf8" });
  return status === 0 ? stdout : null;
}
