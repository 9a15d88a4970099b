/**
 * Capabilities: table, rows, reads and writes. A row says which ledger entry is the last about a capability of a
 * session; that entry says everything else. What a row is worth, and when one may be written:
 * src/runtime/capabilities/capability-rules.ts.
 */
import type { Capability } from "../../kernel/vocabulary/capability.ts";
import type { SessionId } from "../../kernel/vocabulary/identifiers.ts";
import {
  type CapabilityRow,
  checkDecideCapability,
  checkRequestCapability,
  readCapability,
  STATE_OF_KIND,
} from "../../runtime/capabilities/capability-rules.ts";
import type { Page } from "../../runtime/ports/store.ts";
import type { SessionCapability, StoredCapability } from "../../runtime/ports/stored-capability.ts";
import type { Prepare, Tables } from "./connection.ts";
import { mayWrite, type WriteHandlers } from "./transaction.ts";

export const CAPABILITY_TABLES: Tables = {
  1: `
  CREATE TABLE capabilities (
    session INTEGER NOT NULL, capability TEXT NOT NULL, state TEXT NOT NULL, ledger_seq INTEGER NOT NULL,
    PRIMARY KEY (session, capability)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE capability_nonces (nonce TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;`,
  // Finds the last entry about a capability without reading the ledger, which grows with every run.
  2: `
  CREATE INDEX capability_ledger ON ledger (line ->> '$.data.session_id', line ->> '$.data.capability')
    WHERE instr(line, '"kind":"capability.') > 0 AND json_valid(line);`,
  // Lists the requests that await an operator, over all sessions.
  3: `
  CREATE INDEX pending_capabilities ON capabilities (ledger_seq) WHERE state = 'pending';`,
  // Lists what is granted, over all sessions.
  10: `
  CREATE INDEX granted_capabilities ON capabilities (ledger_seq) WHERE state = 'granted';`,
};

/** SQLite uses the index `capability_ledger` only for these very expressions; it has no affinities, hence the `+`. */
const LAST_ENTRY = `
  SELECT seq FROM ledger
  WHERE instr(line, '"kind":"capability.') > 0 AND json_valid(line)
    AND line ->> '$.data.session_id' = +s.id AND line ->> '$.data.capability' = +c.capability
  ORDER BY seq DESC LIMIT 1`;
const SELECT = `
  SELECT s.id AS sessionId, c.capability, c.state, c.ledger_seq = l.seq AS isLast, l.line FROM capabilities c
  JOIN sessions s ON s.position = c.session LEFT JOIN ledger l ON l.seq = (${LAST_ENTRY})`;
const COUNT_PENDING = "SELECT count(*) AS pending FROM capabilities WHERE session = ? AND state = 'pending'";
const PUT = `
  INSERT INTO capabilities (session, capability, state, ledger_seq) VALUES (?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET state = excluded.state, ledger_seq = excluded.ledger_seq`;

export const CAPABILITY_QUERIES = {
  ofSession: `${SELECT} WHERE s.id = ?`,
  pending: `${SELECT} WHERE c.state = 'pending' ORDER BY c.ledger_seq LIMIT ? OFFSET ?`,
  granted: `${SELECT} WHERE c.state = 'granted' ORDER BY c.ledger_seq DESC LIMIT ? OFFSET ?`,
  all: `${SELECT} ORDER BY c.session, c.capability LIMIT ? OFFSET ?`,
};

export const CAPABILITY_LISTS = {
  pendingCapabilities(prepare: Prepare, { limit, offset }: Page): readonly SessionCapability[] {
    return prepare(CAPABILITY_QUERIES.pending).all(limit, offset).map(toSessionCapability);
  },

  grantedCapabilities(prepare: Prepare, { limit, offset }: Page): readonly SessionCapability[] {
    return prepare(CAPABILITY_QUERIES.granted).all(limit, offset).map(toSessionCapability);
  },

  allCapabilities(prepare: Prepare, { limit, offset }: Page): readonly SessionCapability[] {
    return prepare(CAPABILITY_QUERIES.all).all(limit, offset).map(toSessionCapability);
  },
};

export const CAPABILITY_WRITES: WriteHandlers<"request-capability" | "decide-capability"> = {
  "request-capability"({ prepare, heads, appendLedger }, { draft }) {
    const { sessionId, capability } = draft.data;
    const session = heads.session(sessionId);
    const pending = Number(prepare(COUNT_PENDING).get(session)?.["pending"]);
    if (!mayWrite(checkRequestCapability(findCapability(prepare, sessionId, capability), pending, draft.ts))) return;
    prepare(PUT).run(session, capability, "pending", appendLedger(draft));
  },

  "decide-capability"({ prepare, heads, appendLedger }, { draft }) {
    const { sessionId, capability, nonce } = draft.data;
    const session = heads.session(sessionId);
    const isNonceUsed = prepare("SELECT 1 FROM capability_nonces WHERE nonce = ?").get(nonce) !== undefined;
    const before = findCapability(prepare, sessionId, capability);
    if (!mayWrite(checkDecideCapability(draft.kind, before, isNonceUsed))) return;
    prepare("INSERT INTO capability_nonces (nonce) VALUES (?)").run(nonce);
    prepare(PUT).run(session, capability, STATE_OF_KIND[draft.kind], appendLedger(draft));
  },
};

export function capabilitiesOf(prepare: Prepare, sessionId: SessionId): readonly StoredCapability[] {
  const rows = prepare(`${CAPABILITY_QUERIES.ofSession} ORDER BY c.capability`).all(sessionId);
  return rows.map((row) => readCapability(toRow(row)));
}

function findCapability(prepare: Prepare, sessionId: SessionId, capability: Capability): StoredCapability | null {
  const row = prepare(`${CAPABILITY_QUERIES.ofSession} AND c.capability = ?`).get(sessionId, capability);
  return row === undefined ? null : readCapability(toRow(row));
}

function toSessionCapability(row: object): SessionCapability {
  return { sessionId: toRow(row).sessionId, ...readCapability(toRow(row)) };
}

function toRow(row: object): CapabilityRow {
  const { isLast, ...rest } = row as Omit<CapabilityRow, "isLast"> & { readonly isLast: number | null };
  return { ...rest, isLast: isLast === 1 };
}
