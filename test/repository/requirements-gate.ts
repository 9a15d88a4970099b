/**
 * The gate on requirements: a rule that was called proven stays proven, or is withdrawn with a reason.
 *
 * G1. An id on the list (test/proven.json), or on any earlier committed version of it, needs passing tests that cite each
 *     of its clauses. An id leaves the list only by test/withdrawn.json, whose reason names the issue that will prove it.
 * G2. Without the full git history the gate checks what there is and says so.
 * G3. Rules that are not proven yet are named, never counted as done.
 */
export type GateInput = {
  /** By rule, the citations that prove it. */
  readonly known: ReadonlyMap<string, readonly string[]>;
  readonly listed: readonly string[];
  /** By rule, why it is no longer called proven. */
  readonly withdrawn: Readonly<Record<string, string>>;
  /** Every id that an earlier version of the list held, as far back as git knows. */
  readonly earlier: readonly string[];
  readonly hasHistory: boolean;
  readonly cited: ReadonlySet<string>;
};

export type GateResult = {
  readonly failures: readonly string[];
  readonly notes: readonly string[];
};

export function checkRequirements({ known, listed, withdrawn, earlier, hasHistory, cited }: GateInput): GateResult {
  const ids = [...known.keys()];
  const missing = (id: string): readonly string[] => (known.get(id) ?? []).filter((citation) => !cited.has(citation));
  const isProven = (id: string): boolean => known.has(id) && missing(id).length === 0;
  const promised = [...new Set([...listed, ...earlier])].filter((id) => known.has(id));
  const isWithdrawn = (id: string): boolean => Object.hasOwn(withdrawn, id);
  const lost = promised.filter((id) => !isProven(id) && (listed.includes(id) || !isWithdrawn(id)));
  const unlisted = ids.filter((id) => !listed.includes(id));
  const shown = unlisted.filter((id) => isProven(id) && !isWithdrawn(id));
  const open = unlisted.filter((id) => !shown.includes(id));

  return {
    failures: [
      ...listed.filter((id) => !known.has(id)).map((id) => `${id} is in test/proven.json but is not a requirement.`),
      ...lost.map((id) => `${id} was called proven, but no passing test of this run cites ${missing(id).join(", ")}.`),
      ...Object.entries(withdrawn).flatMap(([id, reason]) => withdrawalProblems(id, reason, listed, earlier)),
    ],
    notes: [
      ...(hasHistory ? [] : ["No full git history: earlier lists of proven requirements could not all be checked."]),
      [
        `Requirements: ${listed.filter(isProven).length} of ${ids.length} proven`,
        ...(shown.length > 0 ? [`cited but not called proven: ${shown.join(" ")}`] : []),
        ...(open.length > 0 ? [`not proven yet: ${open.join(" ")}`] : []),
      ].join("; "),
      ...Object.entries(withdrawn).map(([id, reason]) => `Withdrawn: ${id}: ${reason}`),
    ],
  };
}

function withdrawalProblems(
  id: string,
  reason: string,
  listed: readonly string[],
  earlier: readonly string[],
): readonly string[] {
  return [
    ...(listed.includes(id) ? [`${id} is both in test/proven.json and in test/withdrawn.json.`] : []),
    ...(listed.includes(id) || earlier.includes(id) || earlier.length === 0
      ? []
      : [`${id} is in test/withdrawn.json but was never called proven.`]),
    ...(/\bissue \d+\b/.test(reason) ? [] : [`The withdrawal of ${id} does not name the issue that will prove it.`]),
  ];
}

/** The citations at the head of a test's title, as `verifies` writes them. */
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
