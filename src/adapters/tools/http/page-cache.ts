/**
 * Recently fetched pages, in a SQLite file of their own (S-4.5). The cache is optional: a damaged file or one of
 * another version is discarded; an unusable one (disk full, locked, read-only) acts as an empty cache. A page from the
 * future is not fresh, since the clock was set back. What a page says of a secret is redacted before it is kept, and a page
 * whose address holds one is not kept.
 */
import { chmodSync, closeSync, existsSync, openSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../../runtime/ports/clock.ts";
import { errnoOf } from "../fs/fs-failure.ts";
import type { Page } from "./read-page.ts";

export interface CachedPage {
  readonly page: Page;
  readonly fetchedAtMs: number;
}

export interface PageCache {
  read(url: string): CachedPage | null;
  write(url: string, page: Page): void;
}

interface PageCacheOptions {
  readonly file: string;
  readonly ttlS: number;
  readonly clock: Pick<Clock, "nowMs">;
  readonly maxBytes?: number;
  /** Absent: nothing is known to be secret. */
  readonly redactText?: ((text: string) => string) | undefined;
}

const VERSION = 1;
const MAX_BYTES = 64 * 1024 * 1024;
/** The whole process waits while this does. */
const BUSY_TIMEOUT_MS = 50;
const EMPTYING_TIMEOUT_MS = 2_000;
/** SQLite's primary result codes for a damaged file: SQLITE_CORRUPT and SQLITE_NOTADB. */
const DAMAGED: readonly number[] = [11, 26];

export function createPageCache(options: PageCacheOptions): PageCache {
  const { file, ttlS, clock, maxBytes = MAX_BYTES, redactText = (text) => text } = options;
  let open: DatabaseSync | null = null;

  function attempt<Result>(work: (db: DatabaseSync) => Result): Result | null {
    try {
      open ??= openCache(file);
      return work(open);
    } catch (error) {
      if (!isStorageError(error)) throw error;
      if (isDamaged(error)) {
        open?.close();
        open = null;
        discard(file);
      }
      return null;
    }
  }

  return {
    read(url) {
      if (ttlS === 0) return null;
      const nowMs = clock.nowMs();
      const row = attempt((db) => db.prepare(FRESH).get(url, nowMs - ttlS * 1000, nowMs));
      return row === null || row === undefined ? null : toCachedPage(row);
    },
    write(url, page) {
      if (ttlS === 0 || [url, page.url].some((address) => redactText(address) !== address)) return;
      const nowMs = clock.nowMs();
      const orNull = (said: string | null): string | null => (said === null ? null : redactText(said));
      const [contentType, title] = [orNull(page.contentType), orNull(page.title)] as const;
      const text = redactText(page.text);
      const bytes = Buffer.byteLength(text) + url.length + page.url.length;
      attempt((db) => {
        db.prepare(INSERT).run(url, nowMs, bytes, page.url, contentType, title, text, page.isCut ? 1 : 0);
        db.prepare(EXPIRE).run(nowMs - ttlS * 1000, nowMs);
        db.prepare(EVICT).run(maxBytes);
      });
    },
  };
}

/** Leaves nothing in the file and its log. Nothing happens where there is none. */
export function emptyPageCache(file: string): void {
  if (!existsSync(file)) return;
  const db = new DatabaseSync(file, { timeout: EMPTYING_TIMEOUT_MS });
  try {
    const isMade = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'pages'").get() !== undefined;
    // VACUUM takes away what earlier deletions left in the file.
    if (isMade) db.exec("DELETE FROM pages; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
  } catch (error) {
    if (!isDamaged(error)) throw error;
    discard(file);
  } finally {
    db.close();
  }
}

const SCHEMA = `
  CREATE TABLE pages (
    url TEXT PRIMARY KEY, fetched_at INTEGER NOT NULL, bytes INTEGER NOT NULL, final_url TEXT NOT NULL,
    content_type TEXT, title TEXT, text TEXT NOT NULL, is_cut INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX pages_by_age ON pages (fetched_at DESC, url, bytes);`;
const FRESH = `
  SELECT fetched_at, final_url, content_type, title, text, is_cut FROM pages
  WHERE url = ? AND fetched_at > ? AND fetched_at <= ?`;
const INSERT = "INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
const EXPIRE = "DELETE FROM pages WHERE fetched_at <= ? OR fetched_at > ?";
const EVICT = `
  DELETE FROM pages WHERE url IN (
    SELECT url FROM (SELECT url, sum(bytes) OVER (ORDER BY fetched_at DESC, url) AS total FROM pages) WHERE total > ?)`;

function openCache(file: string): DatabaseSync {
  makePrivate(file);
  const db = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS });
  try {
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    const version = db.prepare("PRAGMA user_version").get()?.["user_version"];
    if (version !== VERSION) {
      db.exec(`BEGIN IMMEDIATE; DROP TABLE IF EXISTS pages; ${SCHEMA} PRAGMA user_version = ${VERSION}; COMMIT`);
    }
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Runs before SQLite creates the file: its WAL files get the same mode. */
function makePrivate(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
    chmodSync(file, 0o600);
  }
}

function discard(file: string): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });
}

function toCachedPage(row: Readonly<Record<string, unknown>>): CachedPage {
  const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null);
  return {
    fetchedAtMs: Number(row["fetched_at"]),
    page: {
      url: String(row["final_url"]),
      contentType: textOrNull(row["content_type"]),
      title: textOrNull(row["title"]),
      text: String(row["text"]),
      isCut: row["is_cut"] === 1,
    },
  };
}

function isStorageError(error: unknown): boolean {
  return error instanceof Error && ("errcode" in error || "syscall" in error);
}

function isDamaged(error: unknown): boolean {
  return (
    error instanceof Error &&
    "errcode" in error &&
    typeof error.errcode === "number" &&
    DAMAGED.includes(error.errcode & 0xff)
  );
}
