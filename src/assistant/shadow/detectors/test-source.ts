/** The source that a test file is about, by the naming of its language. */

const PATTERNS: readonly (readonly [RegExp, readonly string[]])[] = [
  [
    /^(?<stem>.+)[._](?:test|spec)\.[cm]?[jt]sx?$/,
    ["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs", "vue", "svelte"],
  ],
  [/^test_(?<stem>.+)\.py$|^(?<stem2>.+)_test\.py$/, ["py", "pyi"]],
  [/^(?<stem>.+)_test\.go$/, ["go"]],
];

/** The names that any source of it may have; null: it is not named like a test of one file. */
export function sourcesOfTest(name: string): readonly string[] | null {
  for (const [pattern, extensions] of PATTERNS) {
    const { stem, stem2 } = pattern.exec(name)?.groups ?? {};
    const found = stem ?? stem2;
    if (found !== undefined) return extensions.map((extension) => `${found}.${extension}`);
  }
  return null;
}
