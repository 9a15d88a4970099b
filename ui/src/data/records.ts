/**
 * Records as the gateway has them, each read by one operation with one input. Pages render from these and from nothing else.
 *
 * R1. One request a record is in flight. A ring during it makes one more, so the last state always arrives.
 * R2. What failed to be read again stays, marked with the error; what nobody shows is read again when it is shown.
 * R3. Nothing is written here: an action is a call, and its effect is seen when the record says so.
 */
import { useCallback, useSyncExternalStore } from "react";
import { type AnswerOf, asCallError, type CallError, type CallName, type InputOf, read } from "./client.ts";
import { connection, onRing, type Ring } from "./feed.ts";

export interface Shown<Value> {
  readonly value: Value | undefined;
  /** Of the last reading; with a value, that value is old. */
  readonly error: CallError | null;
  readonly readAt: number | null;
  /** Of the value, for a change that is meant for it. */
  readonly etag: string | null;
}

interface Held {
  readonly name: CallName;
  readonly input: Readonly<Record<string, unknown>>;
  readonly listeners: Set<() => void>;
  shown: Shown<unknown>;
  isReading: boolean;
  isDue: boolean;
}

/** The feed's word for what an operation reads, by the first part of its name, where they differ. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  runs: ["run"],
  approvals: ["approval"],
  sessions: ["session"],
  capabilities: ["capability"],
  marks: ["mark"],
  ghosts: ["ghost"],
  schedule: ["job"],
  tools: ["policy", "config"],
  models: ["model", "config"],
  pairings: ["pairing"],
  budget: ["budget", "run"],
  governance: ["governance", "config"],
  tokens: ["token"],
  browsers: ["browser_session"],
  secrets: ["secret"],
  policy: ["policy", "config"],
  admin: ["config", "model", "pairing", "outbox"],
};
const UNREAD: Shown<never> = { value: undefined, error: null, readAt: null, etag: null };
/** Records that nobody shows are kept this many, for the way back. */
const MAX_UNSEEN = 100;

const held = new Map<string, Held>();
onRing(hear);
connection.subscribe(() => {
  if (connection.get().state !== "live") return;
  for (const record of held.values()) if (record.shown.error !== null) readAgain(record);
});

/** Null input: nothing to read yet. */
export function useRecord<Name extends CallName>(name: Name, input: InputOf<Name> | null): Shown<AnswerOf<Name>> {
  const key = input === null ? null : keyOf(name, input as object);
  const subscribe = useCallback((listener: () => void) => (key === null ? () => {} : follow(key, listener)), [key]);
  const get = useCallback(() => (key === null ? UNREAD : (held.get(key)?.shown ?? UNREAD)), [key]);
  return useSyncExternalStore(subscribe, get) as Shown<AnswerOf<Name>>;
}

/** Reads a record again, as a ring for it would. */
export function refresh<Name extends CallName>(name: Name, input: InputOf<Name>): void {
  const record = held.get(keyOf(name, input as object));
  if (record !== undefined) readAgain(record);
}

function keyOf(name: CallName, input: object): string {
  return JSON.stringify([name, Object.fromEntries(Object.entries(input).sort(([a], [b]) => (a < b ? -1 : 1)))]);
}

function follow(key: string, listener: () => void): () => void {
  let record = held.get(key);
  if (record === undefined) {
    const [name, input] = JSON.parse(key) as [CallName, Held["input"]];
    record = { name, input, listeners: new Set(), shown: UNREAD, isReading: false, isDue: true };
  }
  const found = record;
  // The newest last, so that the oldest is forgotten first.
  held.delete(key);
  held.set(key, found);
  found.listeners.add(listener);
  if (found.isDue) readAgain(found);
  return () => {
    found.listeners.delete(listener);
    forgetOld();
  };
}

function forgetOld(): void {
  const unseen = [...held].filter(([, { listeners }]) => listeners.size === 0);
  for (const [key] of unseen.slice(0, Math.max(0, unseen.length - MAX_UNSEEN))) held.delete(key);
}

function hear(ring: Ring | "everything"): void {
  for (const record of held.values()) {
    if (ring === "everything" || concerns(ring, record)) readAgain(record);
  }
}

function concerns({ record, id }: Ring, { name, input }: Held): boolean {
  const subject = name.split(".")[0] ?? name;
  const kinds = KINDS[subject] ?? [subject];
  if (!kinds.includes(record)) return false;
  // A session changes with its runs, whose ids are not the session's.
  return id === null || kinds[0] !== record || input["id"] === undefined || input["id"] === id;
}

function readAgain(record: Held): void {
  record.isDue = true;
  if (!record.isReading && record.listeners.size > 0) readUntilCurrent(record);
}

async function readUntilCurrent(record: Held): Promise<void> {
  record.isReading = true;
  while (record.isDue && record.listeners.size > 0) {
    record.isDue = false;
    const shown = await readOnce(record);
    if (shown === record.shown) continue;
    record.shown = shown;
    for (const listener of [...record.listeners]) listener();
  }
  record.isReading = false;
}

async function readOnce(record: Held): Promise<Shown<unknown>> {
  const { name, input, shown } = record;
  try {
    const { value, etag } = await read(name, input as never, shown.etag);
    if (value === null && shown.error === null) return shown;
    return { value: value ?? shown.value, error: null, readAt: Date.now(), etag };
  } catch (error) {
    return { ...shown, error: asCallError(error) };
  }
}
