/**
 * Capabilities as they lie in the database: a row says which entry of the ledger speaks last about a capability of a
 * session, and that entry says everything else.
 *
 * C1. A row counts only with its entry: the last one about this session and capability, saying the same, unchanged since
 *     it was written. Whoever edits the table alone has granted nothing, nor taken back what revoked it.
 */
import { isIntact, type LedgerEntry, type LedgerEntryOf } from "../../kernel/journal/ledger.ts";
import type { Capability } from "../../kernel/vocabulary/capability.ts";
import type { SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { fromWire } from "../../kernel/vocabulary/wire-case.ts";
import type {
  CapabilityDecisionKind,
  CapabilityState,
  SessionCapability,
  StoredCapability,
} from "../../runtime/ports/store.ts";
import type { Prepare } from "./connection.ts";

/** In the words of the index `capability_ledger`, which knows no affinities (hence `+`): no other words would use it. */
const LAST_SAID = `
  SELECT seq FROM ledger
  WHERE instr(line, '"kind":"capability.') > 0 AND json_valid(line)
    AND line ->> '$.data.session_id' = +s.id AND line ->> '$.data.capability' = +c.capability
  ORDER BY seq DESC LIMIT 1`;
const SELECT_ALL = `
  SELECT s.id AS session_id, c.capability, c.state, c.ledger_seq = l.seq AS is_last, l.line FROM capabilities c
  JOIN sessions s ON s.position = c.session LEFT JOIN ledger l ON l.seq = (${LAST_SAID})`;
export const SELECT_CAPABILITIES = `${SELECT_ALL} WHERE s.id = ?`;
export const SELECT_PENDING = `${SELECT_ALL} WHERE c.state = 'pending' ORDER BY c.ledger_seq LIMIT ? OFFSET ?`;
export const SELECT_PAGE = `${SELECT_ALL} ORDER BY c.session, c.capability LIMIT ? OFFSET ?`;

type CapabilityKind = "capability.requested" | CapabilityDecisionKind;
type CapabilityEntry = { [K in CapabilityKind]: LedgerEntryOf<K> }[CapabilityKind];

export const STATE_OF_KIND: Readonly<Record<CapabilityKind, Exclude<CapabilityState, "forged">>> = {
  "capability.requested": "pending",
  "capability.granted": "granted",
  "capability.denied": "denied",
  "capability.revoked": "revoked",
};

export function capabilitiesOf(prepare: Prepare, sessionId: SessionId): readonly StoredCapability[] {
  const rows = prepare(`${SELECT_CAPABILITIES} ORDER BY c.capability`).all(sessionId);
  return rows.map(toStoredCapability);
}

/** Rows of `SELECT_PENDING` or `SELECT_PAGE`, which name their session. */
export function toSessionCapability(row: Row): SessionCapability {
  return { sessionId: row["session_id"] as SessionId, ...toStoredCapability(row) };
}

export function findCapability(
  prepare: Prepare,
  sessionId: SessionId,
  capability: Capability,
): StoredCapability | null {
  const row = prepare(`${SELECT_CAPABILITIES} AND c.capability = ?`).get(sessionId, capability);
  return row === undefined ? null : toStoredCapability(row);
}

type Row = Readonly<Record<string, unknown>>;

function toStoredCapability(row: Row): StoredCapability {
  const capability = row["capability"] as Capability;
  const entry = readEntry(row["line"]);
  const isBacked =
    entry !== null &&
    row["is_last"] === 1 &&
    STATE_OF_KIND[entry.kind] === row["state"] &&
    entry.data.sessionId === row["session_id"] &&
    entry.data.capability === capability;
  if (!isBacked) return { capability, state: "forged", by: "", at: "", expiresAt: null, runId: null };
  return {
    capability,
    state: STATE_OF_KIND[entry.kind],
    by: entry.actor,
    at: entry.ts,
    expiresAt: entry.kind === "capability.granted" ? entry.data.expiresAt : null,
    runId: entry.kind === "capability.requested" ? entry.data.runId : null,
  };
}

/** Null for what is no entry about capabilities, or not the one that was written. */
function readEntry(line: unknown): CapabilityEntry | null {
  if (typeof line !== "string") return null;
  try {
    const entry = fromWire(JSON.parse(line)) as LedgerEntry;
    return isAboutCapabilities(entry) && isIntact(entry) ? entry : null;
  } catch {
    // Somebody has been at the ledger; `surety verify --home` says where.
    return null;
  }
}

function isAboutCapabilities(entry: LedgerEntry): entry is CapabilityEntry {
  return Object.hasOwn(STATE_OF_KIND, entry.kind);
}
