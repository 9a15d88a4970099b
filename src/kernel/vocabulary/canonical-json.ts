/**
 * Canonical JSON (RFC 8785, JCS): one spelling for each value, so that a hash of it means something. A value that is
 * not JSON is a Defect, never dropped or converted: undefined, NaN, a Date, a lone surrogate, a cycle. Keys may be
 * spelled otherwise on the way (`wire-case.ts`): the order is that of the keys as written.
 */
import { isPlainObject } from "./bare-object.ts";
import { Defect } from "./defect.ts";

/** Twice what `parseJson` lets in, so that our own envelopes fit around foreign content. */
const MAX_DEPTH = 128;

/** Our objects have few shapes, repeated in every entry; the bound limits the memory for foreign ones. */
const MAX_REMEMBERED_KEYS = 16_384;

/** Characters that a JSON string must escape, and surrogates, which may be lone. */
const NEEDS_CARE = /["\\\u0000-\u001f\ud800-\udfff]/;

/** How keys are written, and below which keys nothing is renamed. */
export interface KeySpelling {
  readonly rename: (key: string) => string;
  readonly opaque: ReadonlySet<string>;
}

type Writer = (value: unknown) => string;

/** One member of a known shape: where its value is, and the punctuation and key that go before it. */
interface Member {
  readonly key: string;
  readonly lead: string;
  readonly isOpaque: boolean;
}

/** Objects with the same keys in the same order, found key by key. */
interface Shape {
  readonly next: Map<string, Shape>;
  members: readonly Member[] | null;
}

export const canonicalJson: Writer = canonicalWriter({ rename: (key) => key, opaque: new Set() });

export function canonicalWriter({ rename, opaque }: KeySpelling): Writer {
  const root: Shape = { next: new Map(), members: null };
  let remembered = 0;

  function append(text: string, value: unknown, depth: number): string {
    switch (typeof value) {
      case "string":
        return text + quote(value);
      case "number":
        if (!Number.isFinite(value)) throw new Defect(`canonical JSON: ${value} is not JSON`);
        // ECMAScript's own number formatting is what RFC 8785 prescribes; it writes -0 as 0.
        return text + value;
      case "boolean":
        return text + value;
      case "object":
        if (value === null) return `${text}null`;
        if (depth === MAX_DEPTH) throw new Defect(`canonical JSON: nested deeper than ${MAX_DEPTH} levels, or a cycle`);
        return Array.isArray(value) ? appendArray(text, value, depth + 1) : appendObject(text, value, depth + 1);
      default:
        throw new Defect(`canonical JSON: ${typeof value} is not JSON`);
    }
  }

  function appendArray(text: string, array: readonly unknown[], depth: number): string {
    if (array.length === 0) return `${text}[]`;
    let written = text;
    for (let index = 0; index < array.length; index += 1) {
      written = append(written + (index === 0 ? "[" : ","), array[index], depth);
    }
    return `${written}]`;
  }

  function appendObject(text: string, object: object, depth: number): string {
    if (!isPlainObject(object)) throw new Defect("canonical JSON: an object that is not plain is not JSON");
    const members = membersOf(object);
    if (members.length === 0) return `${text}{}`;
    let written = text;
    for (const { key, lead, isOpaque } of members) {
      const value = (object as Record<string, unknown>)[key];
      written = isOpaque ? written + lead + canonicalJson(value) : append(written + lead, value, depth);
    }
    return `${written}}`;
  }

  /** Sorting, renaming and quoting the keys of a shape once instead of every time halves the time of the whole. */
  function membersOf(object: object): readonly Member[] {
    const keys = Object.keys(object);
    let shape = root;
    for (const key of keys) {
      const next = shape.next.get(key);
      if (next === undefined) return remember(keys);
      shape = next;
    }
    return shape.members ?? remember(keys);
  }

  function remember(keys: readonly string[]): readonly Member[] {
    const members = sortMembers(keys);
    remembered += keys.length;
    if (remembered > MAX_REMEMBERED_KEYS) return members;
    let shape = root;
    for (const key of keys) {
      const next = shape.next.get(key) ?? { next: new Map(), members: null };
      shape.next.set(key, next);
      shape = next;
    }
    shape.members = members;
    return members;
  }

  function sortMembers(keys: readonly string[]): readonly Member[] {
    const written = keys.map((key) => ({ key, spelled: rename(key) })).sort((a, b) => (a.spelled < b.spelled ? -1 : 1));
    return written.map(({ key, spelled }, index) => {
      const lead = `${index === 0 ? "{" : ","}${quote(spelled)}:`;
      return { key, lead, isOpaque: opaque.has(key) };
    });
  }

  return (value) => append("", value, 0);
}

export function quote(text: string): string {
  if (!NEEDS_CARE.test(text)) return `"${text}"`;
  if (!text.isWellFormed()) throw new Defect("canonical JSON: a string with a lone surrogate is not JSON");
  return JSON.stringify(text);
}
