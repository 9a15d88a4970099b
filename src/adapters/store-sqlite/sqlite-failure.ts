/**
 * Failures of SQLite and of the file system below it, as StoreErrors; and StoreErrors on their way between threads.
 *
 * F1. Every message says what to do, and holds neither content nor SQL.
 * F2. Any other error is a defect of ours and passes through unchanged.
 */
import { Defect } from "../../kernel/vocabulary/defect.ts";
import { StoreError, type StoreErrorCode } from "../../runtime/ports/store.ts";

/** SQLite's primary result codes; `errcode` holds the extended one, whose low byte is the primary. */
const PRIMARY = {
  error: 1,
  perm: 3,
  busy: 5,
  locked: 6,
  readonly: 8,
  ioerr: 10,
  corrupt: 11,
  full: 13,
  cantopen: 14,
  notadb: 26,
};

const ADVICE: Readonly<Record<number, readonly [StoreErrorCode, string]>> = {
  [PRIMARY.perm]: [
    "store.read-only",
    "The database cannot be written: its files belong to another user. Make them yours, or use another home.",
  ],
  [PRIMARY.busy]: ["store.busy", "The database is locked by another process. Try again, or stop that process."],
  [PRIMARY.locked]: ["store.busy", "The database is locked. Try again."],
  [PRIMARY.readonly]: ["store.read-only", "The database is read-only. Make the home writable, or choose another."],
  [PRIMARY.ioerr]: [
    "store.unavailable",
    "The disk failed to read or write. Check it and its free space, then restart.",
  ],
  [PRIMARY.corrupt]: ["store.corrupt", "The database is damaged. Restore a backup: surety restore FILE."],
  [PRIMARY.full]: ["store.unavailable", "The disk is full. Free some space, then restart."],
  [PRIMARY.cantopen]: [
    "store.unavailable",
    "The database cannot be opened. Check that the home and its disk are there.",
  ],
  [PRIMARY.notadb]: [
    "store.corrupt",
    "The database file is not a SQLite database. Restore a backup: surety restore FILE.",
  ],
};

/** Tests check our statements against our tables, so a mismatch means that the tables were changed from outside. */
const FOREIGN_SCHEMA = /^no such (?:table|column|index)|has no column named|^malformed database schema/;

export function toStoreError(error: unknown): unknown {
  if (error instanceof StoreError) return error;
  const known = ADVICE[isForeignSchema(error) ? PRIMARY.corrupt : primaryCode(error)];
  if (known !== undefined) return new StoreError(known[0], known[1], { cause: error });
  return fileSystemError(error) ?? error;
}

function isForeignSchema(error: unknown): boolean {
  return primaryCode(error) === PRIMARY.error && error instanceof Error && FOREIGN_SCHEMA.test(error.message);
}

function primaryCode(error: unknown): number {
  if (!(error instanceof Error && "errcode" in error)) return 0;
  return typeof error.errcode === "number" ? error.errcode & 0xff : 0;
}

function fileSystemError(error: unknown): StoreError | null {
  if (!(error instanceof Error && "syscall" in error && "code" in error)) return null;
  const code = String(error.code);
  if (["ENOSPC", "EDQUOT"].includes(code)) {
    return new StoreError("store.unavailable", "The disk is full. Free some space, then restart.", { cause: error });
  }
  if (["EACCES", "EPERM", "EROFS", "ENOTDIR", "EEXIST"].includes(code)) {
    const message = `The home cannot be written (${code}). Make it writable, or choose another with --home DIR.`;
    return new StoreError("store.read-only", message, { cause: error });
  }
  return new StoreError("store.unavailable", `The home cannot be used (${code}). Check its disk.`, { cause: error });
}

/** A failure as it is sent between threads: errors lose their class when they are copied. */
export interface Failure {
  /** `defect`: a fault of ours, not a refusal of the store. */
  readonly code: StoreErrorCode | "defect";
  readonly message: string;
}

export function failureOf(error: unknown): Failure {
  const known = toStoreError(error);
  if (known instanceof StoreError) return { code: known.code, message: known.message };
  return { code: "defect", message: known instanceof Error ? known.message : String(known) };
}

/** The medium failed for every commit: damage keeps its code, anything else means that nothing can be written. */
export function mediumFailureOf(error: unknown): Failure {
  const { code, message } = failureOf(error);
  return { code: code === "store.corrupt" ? code : "store.unavailable", message };
}

export function errorOf({ code, message }: Failure): Error {
  return code === "defect" ? new Defect(message) : new StoreError(code, message);
}
