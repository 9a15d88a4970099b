/**
 * How far a reader of all runs has come: what a cursor holds.
 *
 * P1. A place is a run and an entry of its journal, never a number that counts across runs: with several machines there is
 *     no such order. Positions of runs only tell which runs a reader may not have heard of.
 * P2. Nothing of it is kept on the server, so a cursor outlives the process that gave it.
 * P3. A cursor is a claim of the client about itself. A wrong one shows it nothing that it may not hear anyway.
 */
import { asRunId, type RunId } from "../../kernel/vocabulary/identifiers.ts";
import { parseJson } from "../../kernel/vocabulary/parse-json.ts";

/** An entry, and how many of its messages were sent. */
export interface Place {
  readonly seq: number;
  readonly sent: number;
}

/** Positions, both included. */
type Range = readonly [from: number, to: number];

/** Fits into the head of an upgrade, many times over. */
const MAX_CURSOR_CHARS = 4_096;
/** All messages of an entry. */
const ALL_SENT = 999_999;

export class Progress {
  /** The newest run that it knows of. */
  #last: number;
  /** Earlier runs that had not begun. */
  #waiting: readonly Range[];
  /** Runs that have begun and not ended. All others are over. */
  readonly #begun: Map<RunId, Place>;

  constructor(last: number, waiting: readonly Range[] = [], begun: Iterable<readonly [RunId, Place]> = []) {
    this.#last = last;
    this.#waiting = waiting;
    this.#begun = new Map(begun);
  }

  get last(): number {
    return this.#last;
  }

  get waiting(): readonly Range[] {
    return this.#waiting;
  }

  get begun(): ReadonlyMap<RunId, Place> {
    return this.#begun;
  }

  /** The run was accepted before; nothing of it is sent yet. */
  await(position: number): void {
    this.#reach(position);
    if (!this.#waiting.some(([from, to]) => from <= position && position <= to)) {
      this.#waiting = joined([...this.#waiting, [position, position]]);
    }
  }

  /** What its journal holds up to `seq` is no news. */
  begin(runId: RunId, position: number, seq = 0): void {
    this.#reach(position);
    this.#waiting = this.#waiting.flatMap((range) => without(range, position));
    if (!this.#begun.has(runId)) this.#begun.set(runId, { seq, sent: ALL_SENT });
  }

  reach(runId: RunId, place: Place): void {
    this.#begun.set(runId, place);
  }

  end(runId: RunId): void {
    this.#begun.delete(runId);
  }

  isBehind(runId: RunId, { seq, sent }: Place): boolean {
    const place = this.#begun.get(runId);
    return place === undefined || seq > place.seq || (seq === place.seq && sent > place.sent);
  }

  /** Null when it has become too long: the client resumes from an earlier one. */
  encode(homeId: string, isShown: (runId: RunId) => boolean = () => true): string | null {
    const begun = [...this.#begun].filter(([runId]) => isShown(runId));
    const runs = begun.map(([runId, { seq, sent }]) => [runId, seq, sent]);
    const text = Buffer.from(JSON.stringify([homeId, this.#last, this.#waiting, runs])).toString("base64url");
    return text.length > MAX_CURSOR_CHARS ? null : text;
  }

  /** Runs between the newest one and this have not begun, or are sent later. */
  #reach(position: number): void {
    if (position <= this.#last) return;
    if (position > this.#last + 1) this.#waiting = joined([...this.#waiting, [this.#last + 1, position - 1]]);
    this.#last = position;
  }
}

/** Null for anything that this home has not given. */
export function decodeCursor(cursor: string, homeId: string): Progress | null {
  if (cursor.length > MAX_CURSOR_CHARS || !/^[A-Za-z0-9_-]+$/.test(cursor)) return null;
  const parsed = parseJson(Buffer.from(cursor, "base64url").toString("utf8"));
  if (!parsed.ok || !Array.isArray(parsed.value)) return null;
  const [home, last, waiting, runs, ...more]: readonly unknown[] = parsed.value;
  if (home !== homeId || !isPosition(last) || more.length > 0) return null;
  if (!Array.isArray(waiting) || !Array.isArray(runs)) return null;
  const ranges = waiting.map(rangeFrom);
  const places = runs.map(placeFrom);
  if (ranges.includes(null) || places.includes(null)) return null;
  return new Progress(
    last,
    ranges.filter((range) => range !== null),
    places.filter((place) => place !== null),
  );
}

function rangeFrom(value: unknown): Range | null {
  if (!Array.isArray(value) || value.length !== 2 || !value.every(isPosition)) return null;
  const [from, to] = value as [number, number];
  return from <= to ? [from, to] : null;
}

function placeFrom(value: unknown): readonly [RunId, Place] | null {
  if (!Array.isArray(value) || value.length !== 3) return null;
  const [runId, seq, sent]: readonly unknown[] = value;
  if (typeof runId !== "string" || !isPosition(seq) || !isPosition(sent)) return null;
  return [asRunId(runId), { seq, sent }];
}

function isPosition(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function without([from, to]: Range, position: number): readonly Range[] {
  if (position < from || position > to) return [[from, to]];
  const before: readonly Range[] = position > from ? [[from, position - 1]] : [];
  return position < to ? [...before, [position + 1, to]] : before;
}

function joined(ranges: readonly Range[]): readonly Range[] {
  const result: Range[] = [];
  for (const [from, to] of [...ranges].sort(([a], [b]) => a - b)) {
    const last = result.at(-1);
    if (last !== undefined && from <= last[1] + 1) result[result.length - 1] = [last[0], Math.max(last[1], to)];
    else result.push([from, to]);
  }
  return result;
}
