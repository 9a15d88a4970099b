/** Uploaded files: table, reads and writes. Who may use one: src/assistant/media/media.ts. */
import type { BodyRef, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { MediaType, StoredMedia, WaitingMedia } from "../../runtime/ports/stored-media.ts";
import { type Prepare, type Tables, toBytes, toHex } from "./connection.ts";
import type { WriteHandlers } from "./transaction.ts";

export const MEDIA_TABLES: Tables = {
  13: `
  CREATE TABLE media (
    ref TEXT PRIMARY KEY, owner TEXT, type TEXT NOT NULL, name TEXT NOT NULL, bytes INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL, data TEXT, session_id TEXT, body_ref BLOB
  ) STRICT;
  CREATE INDEX waiting_media ON media (owner, created_at_ms, bytes) WHERE data IS NOT NULL;`,
};

const PUT = `
  INSERT INTO media (ref, owner, type, name, bytes, created_at_ms, data) VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET created_at_ms = excluded.created_at_ms, name = excluded.name, data = excluded.data,
    session_id = NULL, body_ref = NULL`;

export const MEDIA_WRITES: WriteHandlers<"put-media" | "take-media"> = {
  "put-media"({ prepare }, { media, expireBeforeMs }) {
    prepare("DELETE FROM media WHERE data IS NOT NULL AND created_at_ms < ?").run(expireBeforeMs);
    const { ref, owner, type, name, bytes, createdAtMs, data } = media;
    prepare(PUT).run(ref, owner, type, name, bytes, createdAtMs, data);
  },

  "take-media"({ prepare }, { ref, sessionId, bodyRef }) {
    const take = prepare("UPDATE media SET data = NULL, session_id = ?, body_ref = ? WHERE ref = ?");
    take.run(sessionId, toBytes(bodyRef), ref);
  },
};

export function findMedia(prepare: Prepare, ref: string): StoredMedia | null {
  const row = prepare("SELECT * FROM media WHERE ref = ?").get(ref) as MediaRow | undefined;
  if (row === undefined) return null;
  const { owner, type, name, bytes, created_at_ms: createdAtMs, data, session_id, body_ref } = row;
  const takenInto =
    session_id === null || body_ref === null ? null : { sessionId: session_id, bodyRef: toHex<BodyRef>(body_ref) };
  return { ref, owner, type, name, bytes, createdAtMs, data, takenInto };
}

export function waitingMedia(prepare: Prepare, owner: string | null): WaitingMedia {
  const sum = prepare(`
    SELECT count(*) AS files, coalesce(sum(bytes), 0) AS bytes FROM media WHERE owner IS ? AND data IS NOT NULL`);
  return { ...(sum.get(owner) as unknown as WaitingMedia) };
}

interface MediaRow {
  readonly owner: string | null;
  readonly type: MediaType;
  readonly name: string;
  readonly bytes: number;
  readonly created_at_ms: number;
  readonly data: string | null;
  readonly session_id: SessionId | null;
  readonly body_ref: Uint8Array | null;
}
