/**
 * The bodies of one run while it is driven. Text arrives redacted.
 *
 * Equal arguments and equal results have one ref within a run, across restarts too, because the machine detects repetition
 * by comparing refs. A new body is written with the run's next commit (`takeUnwritten`), so never after an entry that names
 * it.
 */
import { type Body, bodyRef } from "../../kernel/journal/body.ts";
import { hexOfBytes } from "../../kernel/journal/bytes.ts";
import type { BodyRef } from "../../kernel/vocabulary/identifiers.ts";
import { type JsonValue, parseJson } from "../../kernel/vocabulary/parse-json.ts";
import type { RandomBytes } from "../ports/randomness.ts";
import type { StoredBody } from "../ports/store.ts";

const SALT_BYTES = 16;

export class BodyCache {
  readonly #random: RandomBytes;
  readonly #bodies = new Map<BodyRef, StoredBody>();
  readonly #refs = new Map<string, BodyRef>();
  readonly #values = new Map<BodyRef, JsonValue>();
  #unwritten: StoredBody[] = [];

  constructor(random: RandomBytes, known: ReadonlyMap<BodyRef, Body>) {
    this.#random = random;
    this.learn(known);
  }

  /** Bodies that are stored already. */
  learn(stored: ReadonlyMap<BodyRef, Body>): void {
    for (const [ref, { salt, text }] of stored) this.#remember({ ref, salt, text });
  }

  /** Remembers the parsed value as well: the arguments of a call are read again when it is planned. */
  keepJson(text: string, value: JsonValue): BodyRef {
    const ref = this.keep(text);
    this.#values.set(ref, value);
    return ref;
  }

  keep(text: string): BodyRef {
    const known = this.#refs.get(text);
    if (known !== undefined) return known;
    const ref = this.keepUnique(text);
    this.#refs.set(text, ref);
    return ref;
  }

  /** Without looking for equal text: messages hardly ever repeat, and their refs are not compared. */
  keepUnique(text: string): BodyRef {
    const salt = this.#random(SALT_BYTES);
    const body = { ref: bodyRef(salt, text), salt: hexOfBytes(salt), text };
    this.#bodies.set(body.ref, body);
    this.#unwritten.push(body);
    return body.ref;
  }

  /** Null when it was erased or is not JSON. */
  readJson(ref: BodyRef): JsonValue | null {
    const value = this.#values.get(ref);
    if (value !== undefined) return value;
    const text = this.read(ref);
    const parsed = text === null ? null : parseJson(text);
    return parsed?.ok ? parsed.value : null;
  }

  /** Null when it was erased. */
  read(ref: BodyRef): string | null {
    return this.#bodies.get(ref)?.text ?? null;
  }

  find(ref: BodyRef): StoredBody | null {
    return this.#bodies.get(ref) ?? null;
  }

  takeUnwritten(): readonly StoredBody[] {
    const taken = this.#unwritten;
    this.#unwritten = [];
    return taken;
  }

  #remember(body: StoredBody): void {
    this.#bodies.set(body.ref, body);
    this.#refs.set(body.text, body.ref);
  }
}
