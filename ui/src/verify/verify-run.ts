import { readText } from "../data/client.ts";
import type { Checked } from "./run-verification.ts";
import { askVerifier } from "./verifier.ts";

const PAGE = 500;

let lastKey = 0;

/** All entries of a run as they are now, page by page; `onPage` hears of each. The key is for questions about entries. */
export async function readPages(
  runId: string,
  key: string,
  from: number,
  onPage: (checked: Checked) => boolean,
): Promise<void> {
  for (let after = from; ; ) {
    const text = await readText("runs.entries", { id: runId, after, limit: PAGE } as never);
    const checked = await askVerifier<"page">({ type: "page", key, runId, after, text });
    const wantsMore = onPage(checked);
    if (!wantsMore || checked.bad !== null || checked.seq >= checked.total) return;
    after = checked.seq;
  }
}

export function freshKey(runId: string): string {
  lastKey += 1;
  return `${runId} ${lastKey}`;
}

/** Once, from its first entry to its last. */
export async function verifyRun(runId: string): Promise<Checked> {
  const key = freshKey(runId);
  let last: Checked | null = null;
  await readPages(runId, key, 0, (checked) => {
    last = checked;
    return true;
  });
  await askVerifier<"forget">({ type: "forget", key });
  if (last === null) throw new Error("The run has no entries.");
  return last;
}
