/** What this browser remembers: drafts, theme, panels and switches. Never a token, never a record. */
import { createSignal, type Signal } from "./signal.ts";

const PREFIX = "surety.";

/** Kept under its name, and the same in all tabs. A browser that keeps nothing still has it while the page is open. */
export function kept<Value extends string | boolean | number | null>(name: string, first: Value): Signal<Value> {
  const key = PREFIX + name;
  const signal = createSignal<Value>(parse(readItem(key), first));
  addEventListener("storage", (event) => {
    if (event.key === key) signal.set(parse(event.newValue, first));
  });
  return {
    ...signal,
    set(value) {
      signal.set(value);
      writeItem(key, Object.is(value, first) ? null : JSON.stringify(value));
    },
  };
}

const drafts = new Map<string, Signal<string>>();

/** What was written and not sent, by where it was written. */
export function draftOf(place: string): Signal<string> {
  const draft = drafts.get(place) ?? kept(`draft.${place}`, "");
  drafts.set(place, draft);
  return draft;
}

function parse<Value>(text: string | null, first: Value): Value {
  if (text === null) return first;
  try {
    const value: unknown = JSON.parse(text);
    return first === null || typeof value === typeof first ? (value as Value) : first;
  } catch {
    return first;
  }
}

function readItem(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function writeItem(key: string, text: string | null): void {
  try {
    if (text === null) localStorage.removeItem(key);
    else localStorage.setItem(key, text);
  } catch {
    // Storage is full or refused: the value lives as long as the page.
  }
}
