/**
 * The gate on requirements: what was once called proven stays proven.
 *
 * G1. An id on the list (test/proven.json), or on any earlier committed version of it, needs a passing test that cites
 *     it; taking it off the list does not take back the promise.
 * G2. Where git knows no history, or not all of it, what there is gets checked and the gap is named.
 * G3. What is not proven yet is named as such, never counted as done.
 */
export type GateInput = {
  readonly known: readonly string[];
  readonly listed: readonly string[];
  /** Every id that an earlier version of the list held, as far back as git knows. */
  readonly earlier: readonly string[];
  readonly hasHistory: boolean;
  readonly cited: ReadonlySet<string>;
};

export type GateVerdict = {
  readonly failures: readonly string[];
  readonly notes: readonly string[];
};

export function judgeRequirements({ known, listed, earlier, hasHistory, cited }: GateInput): GateVerdict {
  const unknown = listed.filter((id) => !known.includes(id));
  const promised = [...new Set([...listed, ...earlier])].filter((id) => !unknown.includes(id));
  const lost = promised.filter((id) => !cited.has(id));
  const proven = listed.filter((id) => known.includes(id) && cited.has(id));
  const unlisted = known.filter((id) => !listed.includes(id));
  const shown = unlisted.filter((id) => cited.has(id));
  const open = unlisted.filter((id) => !cited.has(id));

  return {
    failures: [
      ...unknown.map((id) => `${id} stands in test/proven.json but is no requirement.`),
      ...lost.map((id) => `${id} was called proven, but no passing test of this run cites it.`),
    ],
    notes: [
      ...(hasHistory
        ? []
        : ["No full git history here: earlier lists of proven requirements could not all be checked."]),
      [
        `Requirements: ${proven.length} of ${known.length} proven`,
        ...(shown.length > 0 ? [`cited but not called proven: ${shown.join(" ")}`] : []),
        ...(open.length > 0 ? [`not proven yet: ${open.join(" ")}`] : []),
      ].join("; "),
    ],
  };
}

/** The ids at the head of a test's title, as `verifies` writes them. */
export function idsCitedBy(title: string): readonly string[] {
  const head = /^(?:\[[^\]\s]+\])+/u.exec(title)?.[0] ?? "";
  return [...head.matchAll(/\[([^\]]+)\]/gu)].flatMap(([, id]) => id ?? []);
}

/** Every id that a patch of the list ever added (`git log -p`): the union of all its versions. */
export function idsAddedBy(patch: string): readonly string[] {
  const added = patch.split("\n").filter((line) => line.startsWith("+") && !line.startsWith("+++"));
  return [...new Set(added.flatMap((line) => [...line.matchAll(/"([^"]+)"/gu)].flatMap(([, id]) => id ?? [])))];
}

/** `3 passed, 0 failed`: the last line of every run, for people and for scripts. */
export function tally(counts: { readonly passed: number; readonly failed: number; readonly skipped: number }): string {
  const line = `${counts.passed} passed, ${counts.failed} failed`;
  return counts.skipped > 0 ? `${line}, ${counts.skipped} skipped` : line;
}
