/**
 * Memories: tables, reads, writes. When one may be written: src/runtime/memory/memory-rules.ts.
 *
 * E1. A text is in `memories`, in the index of its words and in its vectors, and nowhere else. Forgetting removes it from all
 *     three, from the index too (`secure-delete`); the connection overwrites what is deleted.
 * E2. A search looks at a bounded number of rows however many there are: words that most memories hold are passed over.
 */
import type { Hash, MemoryId, RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { Labels } from "../../kernel/vocabulary/labels.ts";
import { checkAddMemory } from "../../runtime/memory/memory-rules.ts";
import type { Page } from "../../runtime/ports/store.ts";
import type { FoundMemory, MemoryFilter, MemoryUse, StoredMemory } from "../../runtime/ports/stored-memory.ts";
import { type Prepare, type Tables, toBytes } from "./connection.ts";
import { mayWrite, type Transaction, type WriteHandlers } from "./transaction.ts";

export const MEMORY_TABLES: Tables = {
  19: `
  CREATE TABLE memories (
    position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, agent TEXT NOT NULL, owner TEXT, kind TEXT NOT NULL,
    text TEXT, tags TEXT NOT NULL, integrity TEXT NOT NULL, confidentiality TEXT NOT NULL, run_id TEXT, seq INTEGER,
    origin TEXT NOT NULL, created_at TEXT NOT NULL, supersedes TEXT, superseded_by TEXT, forgotten_at TEXT,
    content_hash BLOB
  ) STRICT;
  CREATE UNIQUE INDEX memories_by_content ON memories (content_hash) WHERE content_hash IS NOT NULL;
  CREATE VIRTUAL TABLE memory_words USING fts5(
    text, tags, content = 'memories', content_rowid = 'position', tokenize = 'porter unicode61 remove_diacritics 2'
  );
  CREATE INDEX memories_by_run ON memories (run_id) WHERE run_id IS NOT NULL AND text IS NOT NULL;
  INSERT INTO memory_words (memory_words, rank) VALUES ('secure-delete', 1);
  CREATE TABLE memory_vectors (
    model TEXT NOT NULL, position INTEGER NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (model, position)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE memory_uses (
    memory TEXT NOT NULL, run INTEGER NOT NULL, cited INTEGER NOT NULL, PRIMARY KEY (memory, run)
  ) STRICT, WITHOUT ROWID;`,
};

const INSERT = `
  INSERT INTO memories (id, agent, owner, kind, text, tags, integrity, confidentiality, run_id, seq, origin, created_at,
    supersedes, content_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const ADD_WORDS = "INSERT INTO memory_words (rowid, text, tags) VALUES (?, ?, ?)";
const REMOVE_WORDS = "INSERT INTO memory_words (memory_words, rowid, text, tags) VALUES ('delete', ?, ?, ?)";
const EMPTY = `
  UPDATE memories SET text = NULL, tags = '[]', origin = '', content_hash = NULL, forgotten_at = ? WHERE position = ?`;
/** So that those of the model before are gone before the new ones are complete. */
const DROPPED_FOR_EACH = 2;
const GIVE = `
  INSERT INTO memory_uses (memory, run, cited) SELECT ?, position, 0 FROM runs WHERE id = ? ON CONFLICT DO NOTHING`;
const CITE = `
  UPDATE memory_uses SET cited = 1 WHERE memory = ? AND run = (SELECT position FROM runs WHERE id = ?)`;

export const MEMORY_WRITES: WriteHandlers<"add-memory" | "forget-memory" | "use-memories" | "put-memory-vectors"> = {
  "add-memory"({ prepare }, { memory, contentHash }) {
    const { id, supersedes, text, labels, source } = memory;
    const replaced = supersedes === null ? null : findMemory(prepare, supersedes);
    const verdict = checkAddMemory(memory, findMemory(prepare, id), findMemoryLike(prepare, contentHash), replaced);
    if (!mayWrite(verdict)) return;
    const tags = JSON.stringify(memory.tags);
    const { lastInsertRowid: position } = prepare(INSERT).run(
      ...[id, memory.agentId, memory.owner, memory.kind, text, tags, labels.integrity, labels.confidentiality],
      ...[
        source?.runId ?? null,
        source?.seq ?? null,
        memory.origin,
        memory.createdAt,
        supersedes,
        toBytes(contentHash),
      ],
    );
    prepare(ADD_WORDS).run(position, text, tags);
    if (supersedes !== null) prepare("UPDATE memories SET superseded_by = ? WHERE id = ?").run(id, supersedes);
  },

  "forget-memory"(transaction, { draft }) {
    const { memoryIds } = draft.data;
    const forgotten = memoryIds.filter((id) => forget(transaction, id, draft.ts));
    if (forgotten.length > 0) transaction.appendLedger(draft);
  },

  "use-memories"({ prepare }, { runId, retrieved, cited }) {
    for (const id of retrieved) prepare(GIVE).run(id, runId);
    for (const id of cited) prepare(CITE).run(id, runId);
  },

  "put-memory-vectors"({ prepare }, { model, vectors }) {
    // A memory that was forgotten meanwhile gets none.
    const put = prepare(`
      INSERT OR REPLACE INTO memory_vectors SELECT ?, position, ? FROM memories WHERE position = ? AND text IS NOT NULL`);
    for (const { position, vector } of vectors) put.run(model, Buffer.from(vector, "base64"), position);
    prepare(`
      DELETE FROM memory_vectors WHERE (model, position) IN (
        SELECT model, position FROM memory_vectors WHERE model <> ? ORDER BY model, position DESC LIMIT ?)`).run(
      model,
      DROPPED_FOR_EACH * vectors.length,
    );
  },
};

/** What a run that is erased has added to memory. */
export function forgetMemoriesOf(transaction: Transaction, runId: RunId, ts: string, actor: string): void {
  const rows = transaction.prepare("SELECT id FROM memories WHERE run_id = ? AND text IS NOT NULL").all(runId);
  const memoryIds = rows.map((row) => String(row["id"]));
  for (const id of memoryIds) forget(transaction, id, ts);
  if (memoryIds.length > 0) transaction.appendLedger({ kind: "memory.forgotten", ts, actor, data: { memoryIds } });
}

/** False: it was forgotten before, or never existed. */
function forget({ prepare }: Transaction, id: string, ts: string): boolean {
  const row = prepare("SELECT position, text, tags FROM memories WHERE id = ? AND text IS NOT NULL").get(id);
  if (row === undefined) return false;
  const { position, text, tags } = row as { position: number; text: string; tags: string };
  prepare(REMOVE_WORDS).run(position, text, tags);
  prepare("DELETE FROM memory_vectors WHERE position = ?").run(position);
  prepare(EMPTY).run(ts, position);
  return true;
}

export function hasMemories(prepare: Prepare): boolean {
  return prepare("SELECT 1 FROM memories LIMIT 1").get() !== undefined;
}

export function findMemory(prepare: Prepare, id: MemoryId): StoredMemory | null {
  const row = prepare("SELECT * FROM memories WHERE id = ?").get(id);
  return row === undefined ? null : toMemory(row as unknown as MemoryRow);
}

export function findMemoryLike(prepare: Prepare, contentHash: Hash): MemoryId | null {
  const row = prepare("SELECT id FROM memories WHERE content_hash = ?").get(toBytes(contentHash));
  return (row?.["id"] ?? null) as MemoryId | null;
}

/** More memories than this hold a common word. */
const COMMON_ROWS = 5_000;
/** Rows that one search ranks, about. */
const MAX_RANKED_ROWS = 20_000;

export const MEMORY_LISTS = {
  listMemories(prepare: Prepare, filter: MemoryFilter, { limit, offset }: Page): readonly FoundMemory[] {
    const { where, values } = conditions(filter);
    const list = prepare(`SELECT * FROM memories m WHERE ${where} ORDER BY position DESC LIMIT ? OFFSET ?`);
    return list.all(...values, limit, offset).map(toFound);
  },

  searchMemories(
    prepare: Prepare,
    terms: readonly string[],
    filter: MemoryFilter,
    limit: number,
  ): readonly (FoundMemory & { readonly bm25: number })[] {
    const { where, values } = conditions(filter);
    const chosen = chooseTerms(prepare, terms);
    if (chosen.terms.length === 0) return [];
    // Ranking a word that nearly all memories hold would read all of them: then the newest that hold every word.
    const [query, rank] = chosen.areCommon
      ? [chosen.terms.join(" AND "), "0.0 AS bm25 FROM memory_words f"]
      : [chosen.terms.join(" OR "), "-bm25(memory_words) AS bm25 FROM memory_words f"];
    const order = chosen.areCommon ? "f.rowid DESC" : "bm25 DESC, f.rowid DESC";
    const found = prepare(`
      SELECT m.*, ${rank} CROSS JOIN memories m ON m.position = f.rowid
      WHERE memory_words MATCH ? AND ${where} ORDER BY ${order} LIMIT ?`);
    return found.all(query, ...values, limit).map((row) => ({ ...toFound(row), bm25: Number(row["bm25"]) }));
  },

  nearestMemories(
    prepare: Prepare,
    model: string,
    vector: string,
    filter: MemoryFilter,
    limit: number,
  ): readonly FoundMemory[] {
    const { where, values } = conditions(filter);
    const bytes = Buffer.from(vector, "base64");
    const nearest = prepare(`
      SELECT m.*, vec_distance_cosine(vec_int8(v.vector), vec_int8(?)) AS distance
      FROM memory_vectors v CROSS JOIN memories m ON m.position = v.position
      WHERE v.model = ? AND length(v.vector) = ? AND ${where} ORDER BY distance, v.position DESC LIMIT ?`);
    return nearest.all(bytes, model, bytes.length, ...values, limit).map(toFound);
  },

  unembeddedMemories(
    prepare: Prepare,
    model: string,
    limit: number,
  ): readonly Pick<FoundMemory, "position" | "text">[] {
    // Vectors are made in the order of memories, so the last one is where to go on.
    const rows = prepare(`
      SELECT position, text FROM memories
      WHERE position > (SELECT coalesce(max(position), 0) FROM memory_vectors WHERE model = ?)
        AND text IS NOT NULL AND superseded_by IS NULL ORDER BY position LIMIT ?`).all(model, limit);
    return rows.map((row) => ({ position: Number(row["position"]), text: String(row["text"]) }));
  },

  memoryUses(prepare: Prepare, id: MemoryId, { limit, offset }: Page): readonly MemoryUse[] {
    const rows = prepare(`
      SELECT r.id AS runId, u.cited FROM memory_uses u JOIN runs r ON r.position = u.run
      WHERE u.memory = ? ORDER BY u.run DESC LIMIT ? OFFSET ?`).all(id, limit, offset);
    return rows.map((row) => ({ runId: row["runId"] as MemoryUse["runId"], isCited: row["cited"] === 1 }));
  },
};

/** The rarest words, as many as keep the search short; those that are in no memory are left out. */
function chooseTerms(
  prepare: Prepare,
  words: readonly string[],
): { readonly terms: readonly string[]; readonly areCommon: boolean } {
  const count = prepare(`
    SELECT count(*) AS rows FROM (SELECT rowid FROM memory_words WHERE memory_words MATCH ? LIMIT ${COMMON_ROWS + 1})`);
  const counted = words
    .map((word) => `"${word.replaceAll('"', "")}"`)
    .map((term) => ({ term, rows: Number(count.get(term)?.["rows"]) }))
    .filter(({ rows }) => rows > 0)
    .sort((one, other) => one.rows - other.rows);
  const rare = counted.filter(({ rows }) => rows <= COMMON_ROWS);
  if (rare.length === 0) return { terms: counted.map(({ term }) => term), areCommon: true };
  const terms: string[] = [];
  let ranked = 0;
  for (const { term, rows } of rare) {
    ranked += rows;
    if (terms.length === 0 || ranked <= MAX_RANKED_ROWS) terms.push(term);
  }
  return { terms, areCommon: false };
}

function conditions({ agentId, owner, tags = [], integrity, confidentiality }: MemoryFilter): {
  readonly where: string;
  readonly values: readonly (string | null)[];
} {
  const parts: { readonly sql: string; readonly values: readonly (string | null)[] }[] = [
    { sql: "m.text IS NOT NULL AND m.superseded_by IS NULL", values: [] },
    ...(agentId === undefined ? [] : [{ sql: "m.agent = ?", values: [agentId] }]),
    ...(owner === undefined ? [] : [{ sql: "m.owner IS ?", values: [owner] }]),
    ...tags.map((tag) => ({ sql: "instr(m.tags, ?) > 0", values: [JSON.stringify(tag)] })),
    ...(integrity === undefined ? [] : [among("m.integrity", integrity)]),
    ...(confidentiality === undefined ? [] : [among("m.confidentiality", confidentiality)]),
  ];
  return { where: parts.map(({ sql }) => sql).join(" AND "), values: parts.flatMap(({ values }) => values) };
}

function among(column: string, values: readonly string[]) {
  return { sql: `${column} IN (${values.map(() => "?").join(", ")})`, values };
}

interface MemoryRow {
  readonly position: number;
  readonly id: MemoryId;
  readonly agent: string;
  readonly owner: string | null;
  readonly kind: StoredMemory["kind"];
  readonly text: string | null;
  readonly tags: string;
  readonly integrity: Labels["integrity"];
  readonly confidentiality: Labels["confidentiality"];
  readonly run_id: string | null;
  readonly seq: number | null;
  readonly origin: string;
  readonly created_at: string;
  readonly supersedes: MemoryId | null;
  readonly superseded_by: MemoryId | null;
  readonly forgotten_at: string | null;
}

function toMemory(row: MemoryRow): StoredMemory {
  const { id, agent: agentId, owner, kind, text, integrity, confidentiality, origin, supersedes } = row;
  const source = row.run_id === null ? null : { runId: row.run_id, seq: row.seq ?? 0 };
  return {
    ...{ id, agentId, owner, kind, text, tags: JSON.parse(row.tags), labels: { integrity, confidentiality } },
    source: source as StoredMemory["source"],
    ...{ origin, createdAt: row.created_at, supersedes },
    supersededBy: row.superseded_by,
    forgottenAt: row.forgotten_at,
  };
}

function toFound(row: object): FoundMemory {
  const memory = toMemory(row as MemoryRow);
  return { ...memory, text: memory.text ?? "", position: (row as MemoryRow).position };
}
