/** What a checkpoint signs: the head of the ledger and of every open run's journal, read in one transaction. */
import { genesisHash } from "../../kernel/journal/chain.ts";
import type { HomeState, OpenRun } from "../../kernel/journal/checkpoint.ts";
import { asRunId } from "../../kernel/vocabulary/identifiers.ts";
import { type Prepare, toHex } from "./connection.ts";
import { journalHead } from "./journal.ts";
import { ledgerHead } from "./ledger.ts";
import { FIRST_ENDED_STATUS } from "./runs.ts";

const OPEN_RUNS = `
  SELECT r.position, r.id, r.contract_hash FROM run_states s JOIN runs r ON r.position = s.run
  WHERE s.status < ${FIRST_ENDED_STATUS} ORDER BY s.run`;

export function usedBytes(prepare: Prepare): number {
  const number = (name: string): number => Number(prepare(`PRAGMA ${name}`).get()?.[name]);
  return (number("page_count") - number("freelist_count")) * number("page_size");
}

export const HOME_STATE_LISTS = {
  homeState(prepare: Prepare, homeId: string): HomeState {
    prepare("BEGIN").run();
    try {
      const { seq: ledgerSeq, hash: ledgerHash } = ledgerHead(prepare, homeId);
      const openRuns = prepare(OPEN_RUNS)
        .all()
        .map((row) => openRun(prepare, row));
      return { ledgerSeq, ledgerHead: ledgerHash, openRuns };
    } finally {
      prepare("COMMIT").run();
    }
  },
};

export function countOpenRuns(prepare: Prepare): number {
  const row = prepare(`SELECT sum(total) AS total FROM run_counts WHERE status < ${FIRST_ENDED_STATUS}`).get();
  return Number(row?.["total"]);
}

function openRun(prepare: Prepare, row: Readonly<Record<string, unknown>>): OpenRun {
  const head = journalHead(prepare, Number(row["position"]));
  const runId = asRunId(String(row["id"]));
  if (head !== null) return { runId, seq: head.seq, head: head.hash };
  return { runId, seq: 0, head: genesisHash(toHex(row["contract_hash"] as Uint8Array)) };
}
