/** The runs that a run delegated (T-3b), in the order in which it did, for display. */
import type { RunRecord } from "../kernel/journal/views/run-record.ts";
import { formatCost } from "../kernel/vocabulary/format-usd.ts";
import type { StoredRun } from "../runtime/ports/store.ts";
import { firstWords, messageOfRun } from "../runtime/run/message-of-run.ts";
import { readWholeJournal } from "../runtime/run/read-run.ts";
import type { ReadableHome } from "./read-home.ts";

export interface DelegatedRun extends RunRecord {
  /** The first words of its task. */
  readonly prompt: string;
}

export async function delegatedRuns({ store, views }: ReadableHome, run: StoredRun): Promise<readonly DelegatedRun[]> {
  const { entries } = await readWholeJournal(store, run.runId);
  const children = entries.flatMap((entry) => (entry.kind === "EXECUTE" ? (entry.decided.child?.runId ?? []) : []));
  const found = await Promise.all([...new Set(children)].map((runId) => store.findRun(runId)));
  return await Promise.all(
    found
      .filter((child) => child !== null)
      .map(async (child) => ({
        ...(await views.record(child)),
        prompt: firstWords((await messageOfRun(store, child)) ?? ""),
      })),
  );
}

export function delegatedRow({ id, agent_id, prompt, status, outcome, receipt }: DelegatedRun): readonly string[] {
  const spent = receipt === undefined ? ["", ""] : [String(receipt.tokens), formatCost(receipt)];
  return [agent_id, outcome ?? status, ...spent, id, prompt];
}
