/** What the shadow loop proposed: table, reads and writes. When one may be decided: src/assistant/shadow/ghost-rules.ts. */
import { checkDecideGhost } from "../../assistant/shadow/ghost-rules.ts";
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { Page } from "../../runtime/ports/store.ts";
import type { GhostState, StoredGhost } from "../../runtime/ports/stored-ghost.ts";
import type { Prepare, Tables } from "./connection.ts";
import { mayWrite, type WriteHandlers } from "./transaction.ts";

export const GHOST_TABLES: Tables = {
  15: `
  CREATE TABLE ghosts (
    position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, subject TEXT NOT NULL, detector TEXT NOT NULL, path TEXT,
    trigger TEXT NOT NULL, observation TEXT NOT NULL, proposal TEXT NOT NULL, confidence TEXT NOT NULL,
    actions TEXT NOT NULL, created_at_ms INTEGER NOT NULL, state TEXT NOT NULL, decided_by TEXT, decided_at_ms INTEGER,
    run_id TEXT
  ) STRICT;
  CREATE INDEX ghosts_by_subject ON ghosts (subject, position);
  CREATE INDEX ghosts_by_state ON ghosts (state, position);
  CREATE INDEX ghosts_by_time ON ghosts (created_at_ms);`,
};

const SELECT = `
  SELECT id, subject, detector, path, trigger, observation, proposal, confidence, actions, created_at_ms AS createdAtMs,
    state, decided_by AS decidedBy, decided_at_ms AS decidedAtMs, run_id AS runId FROM ghosts`;
const INSERT = `
  INSERT INTO ghosts (id, subject, detector, path, trigger, observation, proposal, confidence, actions, created_at_ms, state)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'open')`;
const SETTLE = "UPDATE ghosts SET state = 'settled', decided_at_ms = ?2 WHERE subject = ?1 AND state = 'open'";
const REMOVE_OLD = `
  DELETE FROM ghosts WHERE position <= (SELECT position FROM ghosts ORDER BY position DESC LIMIT 1 OFFSET ?)`;
const DECIDE = "UPDATE ghosts SET state = ?, decided_by = ?, decided_at_ms = ?, run_id = ? WHERE id = ?";

const GHOST_QUERIES = {
  allGhosts: `${SELECT} ORDER BY position DESC LIMIT ? OFFSET ?`,
  ghostsByState: `${SELECT} WHERE state = ? ORDER BY position DESC LIMIT ? OFFSET ?`,
  ghostTimes: "SELECT created_at_ms AS at FROM ghosts WHERE created_at_ms > ? ORDER BY created_at_ms DESC LIMIT ?",
};

export const GHOST_LISTS = {
  listGhosts(
    prepare: Prepare,
    { state }: { readonly state: GhostState | null },
    { limit, offset }: Page,
  ): readonly StoredGhost[] {
    const rows =
      state === null
        ? prepare(GHOST_QUERIES.allGhosts).all(limit, offset)
        : prepare(GHOST_QUERIES.ghostsByState).all(state, limit, offset);
    return rows.map(toGhost);
  },

  ghostTimes(prepare: Prepare, sinceMs: number, limit: number): readonly number[] {
    return prepare(GHOST_QUERIES.ghostTimes)
      .all(sinceMs, limit)
      .map(({ at }) => Number(at));
  },
};

export const GHOST_WRITES: WriteHandlers<"insert-ghost" | "decide-ghost"> = {
  "insert-ghost"({ prepare }, { ghost, keep }) {
    const { id, subject, detector, path, trigger, observation, proposal, confidence, actions, createdAtMs } = ghost;
    prepare(SETTLE).run(subject, createdAtMs);
    const texts = [trigger, observation, proposal, confidence, JSON.stringify(actions)];
    prepare(INSERT).run(id, subject, detector, path, ...texts, createdAtMs);
    prepare(REMOVE_OLD).run(keep);
  },

  "decide-ghost"({ prepare }, { id, state, by, atMs, runId }) {
    if (!mayWrite(checkDecideGhost(findGhost(prepare, id), { state, runId }))) return;
    prepare(DECIDE).run(state, by, atMs, runId, id);
  },
};

export function findGhost(prepare: Prepare, id: string): StoredGhost | null {
  const row = prepare(`${SELECT} WHERE id = ?`).get(id);
  return row === undefined ? null : toGhost(row);
}

export function latestGhostOf(prepare: Prepare, subject: string): StoredGhost | null {
  const row = prepare(`${SELECT} WHERE subject = ? ORDER BY position DESC LIMIT 1`).get(subject);
  return row === undefined ? null : toGhost(row);
}

function toGhost(row: object): StoredGhost {
  const { actions, runId, ...rest } = row as Omit<StoredGhost, "actions"> & { readonly actions: string };
  return { ...rest, runId: runId as RunId | null, actions: JSON.parse(actions) as StoredGhost["actions"] };
}
