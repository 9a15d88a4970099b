import { useEffect, useState } from "react";
import { follow, type LiveCall } from "../../data/live-run.ts";

const MAX_KEPT = 300;
/** What happened in runs that are over, which does not change. */
const kept = new Map<string, readonly LiveCall[]>();

/** The calls of a run that is over, from its events; null: nothing to read. */
export function useEndedCalls(runId: string | null): readonly LiveCall[] {
  const [read, setRead] = useState<{ readonly runId: string; readonly calls: readonly LiveCall[] } | null>(null);
  useEffect(() => {
    if (runId === null || kept.has(runId)) return;
    const ending = new AbortController();
    let calls: readonly LiveCall[] = [];
    const show = (run: { readonly calls: readonly LiveCall[] }): void => {
      calls = run.calls;
    };
    follow(runId, show, ending.signal).then(() => {
      if (ending.signal.aborted) return;
      kept.set(runId, calls);
      for (const oldest of [...kept.keys()].slice(0, Math.max(0, kept.size - MAX_KEPT))) kept.delete(oldest);
      setRead({ runId, calls });
    });
    return () => ending.abort();
  }, [runId]);
  if (runId === null) return [];
  return kept.get(runId) ?? (read?.runId === runId ? read.calls : []);
}
