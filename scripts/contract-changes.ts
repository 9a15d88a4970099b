/**
 * P-7: a published contract changes only together with its version, its changelog and its fixtures.
 *
 * `contracts/versions.json` holds one record per version, oldest first, with the hash of every schema and fixture. The
 * last record must describe the files as they are; records that were once committed are never edited.
 */
export interface VersionRecord {
  readonly version: string;
  readonly schemas: Readonly<Record<string, string>>;
  readonly fixtures: Readonly<Record<string, string>>;
}

export interface PublishedState {
  /** `versions.json` as it is now. */
  readonly versions: readonly VersionRecord[];
  /** As it was in each commit that touched it. */
  readonly committed: readonly (readonly VersionRecord[])[];
  /** Hashes of what the code generates, and of the files on disk. */
  readonly generated: Readonly<Record<string, string>>;
  readonly schemas: Readonly<Record<string, string>>;
  readonly fixtures: Readonly<Record<string, string>>;
  readonly changelog: string;
}

export function contractChangeProblems(state: PublishedState): readonly string[] {
  const latest = state.versions.at(-1);
  if (latest === undefined) return ["contracts/versions.json has no version"];
  return [
    ...differences("schema", state.generated, state.schemas, "differs from the code: run `npm run schemas`"),
    ...differences("schema", state.schemas, latest.schemas, `changed since version ${latest.version}: add a version`),
    ...differences(
      "fixture",
      state.fixtures,
      latest.fixtures,
      `changed since version ${latest.version}: add a version`,
    ),
    ...new Set(state.committed.flatMap((earlier) => rewritten(state.versions, earlier))),
    ...state.versions.flatMap((record, index) => versionProblems(record, state.versions[index - 1])),
    ...state.versions.flatMap((record) => changelogProblems(record.version, state.changelog)),
  ];
}

function differences(
  what: string,
  actual: Readonly<Record<string, string>>,
  expected: Readonly<Record<string, string>>,
  advice: string,
): readonly string[] {
  const names = new Set([...Object.keys(actual), ...Object.keys(expected)]);
  return [...names].filter((name) => actual[name] !== expected[name]).map((name) => `${what} ${name} ${advice}`);
}

function rewritten(now: readonly VersionRecord[], earlier: readonly VersionRecord[]): readonly string[] {
  return earlier
    .filter((record, index) => JSON.stringify(record) !== JSON.stringify(now[index]))
    .map(({ version }) => `the record of version ${version} was edited: records are only ever added`);
}

/** A change of schemas needs a larger version and at least one fixture that shows it. */
function versionProblems(record: VersionRecord, previous: VersionRecord | undefined): readonly string[] {
  if (parseVersion(record.version) === null) return [`version ${record.version} is not of the form 1.2.3`];
  if (previous === undefined) return [];
  const problems: string[] = [];
  if (!isLater(record.version, previous.version))
    problems.push(`version ${record.version} does not follow ${previous.version}`);
  const hasNewFixture = Object.entries(record.fixtures).some(([name, hash]) => previous.fixtures[name] !== hash);
  if (!hasNewFixture) problems.push(`version ${record.version} has no new or updated fixture`);
  return problems;
}

function changelogProblems(version: string, changelog: string): readonly string[] {
  const section = changelog
    .split(/^## /m)
    .find((part) => part.startsWith(`${version} `) || part.startsWith(`${version}\n`));
  if (section === undefined) return [`contracts/CHANGELOG.md has no section for version ${version}`];
  return /^Approved by: \S.*$/m.test(section) ? [] : [`the changelog of version ${version} names no approver`];
}

function isLater(version: string, than: string): boolean {
  const [a, b] = [parseVersion(version), parseVersion(than)];
  if (a === null || b === null) return false;
  const differs = a.findIndex((part, index) => part !== b[index]);
  return differs !== -1 && (a[differs] ?? 0) > (b[differs] ?? 0);
}

function parseVersion(version: string): readonly number[] | null {
  return /^\d+\.\d+\.\d+$/.test(version) ? version.split(".").map(Number) : null;
}
