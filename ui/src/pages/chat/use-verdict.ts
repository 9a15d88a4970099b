/** Whether this page has checked the run of an answer: one after the other, off the main thread, each once. */
import { useEffect, useState } from "react";

export interface Verdict {
  /** Null: every entry, and the state they lead to. */
  readonly bad: string | null;
  /** As the entries have it; null: erased, or there is none. */
  readonly answer: string | null;
}

const MAX_KEPT = 500;
const kept = new Map<string, Verdict>();
let line: Promise<unknown> = Promise.resolve();

/** Null: not checked yet. `headHash` is that of the ended run, which does not change. */
export function useVerdict(runId: string, headHash: string | null): Verdict | null {
  const key = headHash === null ? null : `${runId} ${headHash}`;
  const [, redraw] = useState(0);
  useEffect(() => {
    if (key === null || kept.has(key)) return;
    let isWanted = true;
    const check = async (): Promise<void> => {
      if (!isWanted) return;
      if (!kept.has(key)) keep(key, await verdictOn(runId));
      redraw((count) => count + 1);
    };
    // Without an answer nothing is said; the next time it is shown it is asked again.
    line = line.then(check).catch(() => {});
    return () => {
      isWanted = false;
    };
  }, [key, runId]);
  return key === null ? null : (kept.get(key) ?? null);
}

async function verdictOn(runId: string): Promise<Verdict> {
  const { verifyRun } = await import("../../verify/verify-run.ts");
  const { bad, digest, facts } = await verifyRun(runId);
  const { answer } = facts;
  if (bad !== null) return { bad: `entry ${bad.entry}: ${bad.problem}`, answer };
  return { bad: digest.here === digest.gateway ? null : "its entries lead to another state than it claims", answer };
}

function keep(key: string, verdict: Verdict): void {
  kept.set(key, verdict);
  for (const oldest of [...kept.keys()].slice(0, Math.max(0, kept.size - MAX_KEPT))) kept.delete(oldest);
}
