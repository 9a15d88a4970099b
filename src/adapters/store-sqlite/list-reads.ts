/**
 * Every subject's lists, by name. They are read in a thread of their own, a page at a time.
 *
 * L1. A list reads no rows that it does not show, except the pages before the one asked for, and what a filter must look at.
 */
import { ACCESS_LISTS } from "./access.ts";
import { APPROVAL_LISTS } from "./approvals.ts";
import { CAPABILITY_LISTS } from "./capabilities.ts";
import type { Prepare } from "./connection.ts";
import { GHOST_LISTS } from "./ghosts.ts";
import { GOVERNANCE_LISTS } from "./governance.ts";
import { HOME_STATE_LISTS } from "./home-state.ts";
import { JOB_LISTS } from "./jobs.ts";
import { LEDGER_LISTS } from "./ledger.ts";
import { MEMORY_LISTS } from "./memories.ts";
import { OUTBOX_LISTS } from "./outbox.ts";
import { PAIRING_LISTS } from "./pairings.ts";
import { RECORDED_ROW_LISTS } from "./recorded-rows.ts";
import { RUN_LISTS } from "./runs.ts";
import { SESSION_LISTS } from "./sessions.ts";
import { SPEND_LISTS } from "./spend.ts";

const LISTS = {
  ...RUN_LISTS,
  ...SESSION_LISTS,
  ...APPROVAL_LISTS,
  ...CAPABILITY_LISTS,
  ...SPEND_LISTS,
  ...OUTBOX_LISTS,
  ...PAIRING_LISTS,
  ...LEDGER_LISTS,
  ...HOME_STATE_LISTS,
  ...RECORDED_ROW_LISTS,
  ...ACCESS_LISTS,
  ...GHOST_LISTS,
  ...GOVERNANCE_LISTS,
  ...JOB_LISTS,
  ...MEMORY_LISTS,
};

export type ListName = keyof typeof LISTS;
export type ListArguments<K extends ListName> =
  Parameters<(typeof LISTS)[K]> extends [Prepare, ...infer Rest] ? Rest : never;
export type ListResult<K extends ListName> = ReturnType<(typeof LISTS)[K]>;

export function readList<K extends ListName>(prepare: Prepare, name: K, args: ListArguments<K>): ListResult<K> {
  const read = LISTS[name] as unknown as (prepare: Prepare, ...args: ListArguments<K>) => ListResult<K>;
  return read(prepare, ...args);
}
