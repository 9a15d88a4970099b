/** Rows and lines that were changed without the signing key: verify finds each change, and names where it is. */
import { copyFile, mkdtemp, readdir, readFile, rm, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { derive, type Random } from "../simulate/random.ts";
import type { Fault, Findings, Staging } from "./fault.ts";
import { makeSampleHome, surety } from "./sample-home.ts";

export const tamperedHome: Fault = {
  id: "tamper",
  title: "random edits, deletions, truncations, swaps and insertions in files and tables, each named by verify",
  unit: "changes",
  fullSize: 1_000,
  shortSize: 12,
  stage: tamper,
};

interface Change {
  readonly what: string;
  /** False when it changed nothing. */
  apply(): Promise<boolean>;
  undo(): Promise<void>;
  isNamedBy(verdict: Verdict): boolean;
}

interface Verdict {
  readonly ok: boolean;
  readonly what: string;
  readonly entry?: number;
  readonly problem?: string;
  readonly findings?: readonly {
    readonly code: string;
    readonly file?: string;
    readonly line?: number | null;
    readonly runId?: string;
    readonly ledgerSeq: number | null;
  }[];
}

async function tamper({ seed, size, say }: Staging): Promise<Findings> {
  const directory = await mkdtemp(join(tmpdir(), "surety-tampered-"));
  const home = join(directory, "home");
  const problems: string[] = [];
  const counts: Record<string, number> = {};
  try {
    await makeSampleHome(home);
    const whole = await verify(home);
    if (!whole.ok) return { figures: {}, problems: [`the untouched home does not verify: ${whole.problem}`] };
    const files = await recordFilesIn(home);
    for (let at = 0; at < size; at += 1) {
      const random = derive(seed, "change", at);
      const change = random.chance(55) ? await fileChange(home, random.pick(files), random) : rowChange(home, random);
      if (change === null) continue;
      if (!(await change.apply())) {
        await change.undo();
        continue;
      }
      const verdict = await verify(home);
      await change.undo();
      const kind = change.what.replace(/ .*/, "");
      counts[kind] = (counts[kind] ?? 0) + 1;
      if (verdict.ok) problems.push(`change ${at} was not found: ${change.what}`);
      else if (!change.isNamedBy(verdict))
        problems.push(
          `change ${at}: ${change.what} was named ${verdict.what} ${verdict.entry ?? ""} ${verdict.problem}`,
        );
      if (at % 50 === 49) say(`${at + 1}/${size} changes, ${problems.length} not found or not located`);
    }
    const after = await verify(home);
    if (!after.ok) problems.push(`undone, the home does not verify: ${after.problem}`);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
  return { figures: { changes: Object.values(counts).reduce((sum, count) => sum + count, 0), ...counts }, problems };
}

async function verify(home: string): Promise<Verdict> {
  const { stdout, stderr } = await surety(home, "verify", "--json");
  return stdout === "" ? { ok: false, what: "verify", problem: stderr } : JSON.parse(stdout);
}

async function recordFilesIn(home: string): Promise<readonly string[]> {
  const entries = await readdir(join(home, "agents"), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.name.startsWith("."));
  return files.map((entry) => join(entry.parentPath, entry.name).slice(home.length + 1)).toSorted();
}

const OPERATIONS = { edit: 4, delete: 2, truncate: 2, swap: 2, insert: 2 } as const;
const BREAK = 0x0a;

/** Null: the drawn change changes nothing. */
async function fileChange(home: string, file: string, random: Random): Promise<Change | null> {
  const path = join(home, file);
  const before = await readFile(path);
  const lines = linesOf(before);
  const operation = random.weigh({ ...OPERATIONS, remove: 1 });
  const { after, first, last } = changedLines(before, lines, operation, random);
  if (after?.equals(before) === true) return null;
  return {
    what: `${operation} ${file} line ${first}`,
    apply: async () => {
      await (after === null ? unlink(path) : writeFile(path, after));
      return true;
    },
    undo: () => writeFile(path, before, { mode: 0o600 }),
    isNamedBy: ({ findings = [] }) =>
      findings.some(
        ({ file: named, line }) =>
          named === file && (after === null || (typeof line === "number" && line >= first && line <= last + 1)),
      ),
  };
}

/** `after`: null when the file is gone; `first` and `last`: the lines it concerns, from 1. */
function changedLines(before: Buffer, lines: readonly Buffer[], operation: string, random: Random) {
  const at = random.below(lines.length);
  const lineAt = (offset: number): number => before.subarray(0, offset).filter((byte) => byte === BREAK).length + 1;
  switch (operation) {
    case "edit": {
      const offset = random.below(before.length);
      const after = Buffer.from(before);
      after[offset] = random.below(256);
      return { after, first: lineAt(offset), last: lineAt(offset) };
    }
    case "truncate": {
      const offset = random.below(before.length);
      return { after: before.subarray(0, offset), first: lineAt(offset), last: lineAt(offset) };
    }
    case "delete": {
      const count = random.between(1, 3);
      return { after: Buffer.concat(lines.toSpliced(at, count)), first: at + 1, last: at + 1 };
    }
    case "swap": {
      const other = random.below(lines.length);
      const [a = Buffer.alloc(0), b = Buffer.alloc(0)] = [lines[at], lines[other]];
      const after = Buffer.concat(lines.with(at, b).with(other, a));
      return { after, first: Math.min(at, other) + 1, last: Math.max(at, other) + 1 };
    }
    case "insert": {
      const copy = Buffer.from(random.pick(lines));
      if (random.chance(50)) copy[random.below(copy.length - 1)] = random.between(0x21, 0x7e);
      const line = random.chance(20) ? Buffer.from("nonsense\n") : copy;
      return { after: Buffer.concat(lines.toSpliced(at, 0, line)), first: at + 1, last: at + 1 };
    }
    default:
      return { after: null, first: 1, last: 1 };
  }
}

function linesOf(bytes: Buffer): readonly Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(BREAK, start);
    lines.push(bytes.subarray(start, end + 1));
    start = end + 1;
  }
  return lines;
}

const TABLES = {
  appends: { key: "position", text: "lines" },
  ledger: { key: "seq", text: "line" },
  bodies: { key: "position", text: "text" },
} as const;
const PLACES_PER_RUN = 2 ** 22;

/** What `verify` is to name. */
interface Named {
  readonly what: readonly string[];
  readonly from: number;
  readonly to: number;
}

function rowChange(home: string, random: Random): Change | null {
  const database = join(home, "surety.db");
  const kept = join(home, "..", "kept.db");
  const table = random.weigh({ appends: 4, ledger: 4, bodies: 1 });
  const { key, text } = TABLES[table];
  const operation = random.weigh<string>(table === "bodies" ? { edit: 2, delete: 1 } : OPERATIONS);
  const db = new DatabaseSync(database);
  const rows = db.prepare(`SELECT * FROM ${table} ORDER BY ${key}`).all();
  const row = random.pick(rows);
  const other = random.pick(rows);
  const named = [row, ...(operation === "swap" ? [other] : [])].map((each) => namedOf(db, table, each));
  db.close();
  const value = String(row[text]);
  const change = (statement: string, ...values: readonly (string | number)[]) => {
    const open = new DatabaseSync(database);
    try {
      open.exec("PRAGMA foreign_keys = OFF");
      return open.prepare(statement).run(...values).changes !== 0;
    } finally {
      open.close();
    }
  };
  const id = Number(row[key]);
  const edited = withOtherCharacter(value, random);
  const perform: Readonly<Record<string, () => boolean>> = {
    edit: () => change(`UPDATE ${table} SET ${text} = ? WHERE ${key} = ?`, edited, id),
    delete: () => change(`DELETE FROM ${table} WHERE ${key} = ?`, id),
    truncate: () =>
      change(`UPDATE ${table} SET ${text} = ? WHERE ${key} = ?`, value.slice(0, random.below(value.length)), id),
    swap: () => {
      change(`UPDATE ${table} SET ${text} = ? WHERE ${key} = ?`, String(other[text]), id);
      return change(`UPDATE ${table} SET ${text} = ? WHERE ${key} = ?`, value, Number(other[key]));
    },
    insert: () => {
      const columns = Object.keys(row).filter((column) => column !== key);
      const moved = table === "appends" ? Number(row["place"]) + random.between(1, 3) : 0;
      const copied = columns.map((column) => (column === "place" ? String(moved) : column));
      const at = `(SELECT max(${key}) + 1 FROM ${table})`;
      return change(
        `INSERT OR IGNORE INTO ${table} (${key}, ${columns}) SELECT ${at}, ${copied} FROM ${table} WHERE ${key} = ?`,
        id,
      );
    },
  };
  if ((operation === "swap" && value === String(other[text])) || (operation === "edit" && edited === value))
    return null;
  return {
    what: `${operation} ${table} row ${id} (${named.map(({ what, from, to }) => `${what} ${from}-${to}`).join(", ")})`,
    apply: async () => {
      await copyFile(database, kept);
      return perform[operation]?.() === true;
    },
    undo: () => copyFile(kept, database),
    isNamedBy: (verdict) =>
      named.some(({ what, from, to }) => {
        if (what.includes(verdict.what))
          return operation === "insert" || ((verdict.entry ?? 0) >= from - 1 && (verdict.entry ?? 0) <= to + 1);
        return (verdict.findings ?? []).some(
          ({ runId, ledgerSeq }) =>
            (runId !== undefined && what.includes(runId)) || (what.includes("ledger") && ledgerSeq !== null),
        );
      }),
  };
}

function namedOf(db: DatabaseSync, table: string, row: Readonly<Record<string, unknown>>): Named {
  if (table === "ledger") return { what: ["ledger"], from: Number(row["seq"]), to: Number(row["seq"]) };
  if (table === "bodies") {
    const runs = db
      .prepare("SELECT r.id FROM runs r JOIN run_states s ON s.run = r.position WHERE s.session = ?")
      .all(Number(row["session"]));
    return { what: runs.map(({ id }) => String(id)), from: 0, to: Number.MAX_SAFE_INTEGER };
  }
  const place = Number(row["place"]);
  const run = db.prepare("SELECT id FROM runs WHERE position = ?").get(Math.floor(place / PLACES_PER_RUN));
  const last = place % PLACES_PER_RUN;
  return { what: [String(run?.["id"])], from: last - String(row["lines"]).split("\n").length + 1, to: last };
}

function withOtherCharacter(value: string, random: Random): string {
  const at = random.below(value.length);
  return `${value.slice(0, at)}${String.fromCharCode(random.between(0x20, 0x7e))}${value.slice(at + 1)}`;
}
