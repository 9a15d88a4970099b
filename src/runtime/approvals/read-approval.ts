/**
 * What a stored approval is worth: the table is an index of the ledger, which decides.
 *
 * A1. A decision counts only together with its ledger entry: unchanged, linked to its neighbours, and saying of this
 *     approval what the row says. A row without such an entry is forged, and allows nothing; it cannot be decided any more.
 * A2. Only expiry needs no entry: it allows nothing, and ends with the run.
 */
import { isIntact, type LedgerEntry, type LedgerEntryOf } from "../../kernel/journal/ledger.ts";
import { fromWire } from "../../kernel/vocabulary/wire-case.ts";
import type { ApprovalState, StoredApproval } from "../ports/store.ts";

export type DecisionEntry = LedgerEntryOf<"approval.decided"> | LedgerEntryOf<"effect.resolved">;
type Decision = DecisionEntry["data"]["decision"];

export const STATE_OF_DECISION: Readonly<Record<Decision, Exclude<ApprovalState, "pending" | "consumed" | "forged">>> =
  {
    allow: "allowed",
    deny: "denied",
    expired: "expired",
    unreachable: "expired",
    done: "done",
    retry: "retry",
    fail: "fail",
  };

/** The entry that a row refers to, and its neighbours; null where there is none. */
export interface LedgerPlace {
  readonly seq: number | null;
  readonly line: string | null;
  readonly lineBefore: string | null;
  readonly lineAfter: string | null;
}

export function readApproval(row: StoredApproval, place: LedgerPlace): StoredApproval {
  if (place.seq === null && (row.state === "pending" || row.state === "expired")) return row;
  const entry = entryAt(place);
  const stated = row.state === "consumed" ? "allowed" : row.state;
  if (entry === null || !isDecisionOn(row, entry) || STATE_OF_DECISION[entry.data.decision] !== stated) {
    return { ...row, state: "forged" };
  }
  return { ...row, decidedBy: entry.actor, decidedAtMs: Date.parse(entry.ts) };
}

/** Null unless the entry is as it was written, between the entries it was written between. */
function entryAt({ seq, line, lineBefore, lineAfter }: LedgerPlace): LedgerEntry | null {
  const entry = entryIn(line);
  if (entry === null || entry.seq !== seq || !isIntact(entry)) return null;
  const follows = entry.seq === 1 || entryIn(lineBefore)?.hash === entry.prev;
  const isFollowed = lineAfter === null || entryIn(lineAfter)?.prev === entry.hash;
  return follows && isFollowed ? entry : null;
}

/** Is the entry about this approval? One of an earlier version names the call of an effect in doubt, not the question. */
function isDecisionOn(
  { id, kind, runId, callId, planHash }: StoredApproval,
  entry: LedgerEntry,
): entry is DecisionEntry {
  if (entry.kind === "approval.decided") {
    const { data } = entry;
    return kind === "approve" && data.approvalId === id && data.runId === runId && data.planHash === planHash;
  }
  if (entry.kind !== "effect.resolved") return false;
  const { data } = entry;
  return kind === "resolve" && data.runId === runId && data.callId === callId && (data.approvalId ?? id) === id;
}

function entryIn(line: string | null): LedgerEntry | null {
  try {
    return line === null ? null : (fromWire(JSON.parse(line)) as LedgerEntry);
  } catch {
    // The ledger was edited from outside; `surety verify --home` names the entry.
    return null;
  }
}
