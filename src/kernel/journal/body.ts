/**
 * Bodies hold content. Entries name them by ref only (SHA-256 over salt and bytes), so erasing a body breaks no chain,
 * and without its salt a ref reveals nothing.
 */
import { quote } from "../vocabulary/canonical-json.ts";
import { Defect } from "../vocabulary/defect.ts";
import { hashBytes } from "../vocabulary/hash.ts";
import { asBodyRef, type BodyRef, type Hash } from "../vocabulary/identifiers.ts";
import { bytesOfHex, joinBytes } from "./bytes.ts";
import type { Entry } from "./entry.ts";

export interface Body {
  /** 16 bytes as 32 lower-case hex digits. */
  readonly salt: string;
  readonly text: string;
}

export const SALT_PATTERN = "^[0-9a-f]{32}$";

const UTF8 = new TextEncoder();
/** Most bodies are short: they are encoded here, without a copy of their own. */
const scratch = new Uint8Array(16_384);
const MAX_UTF8_BYTES = 3;

export function bodyRef(salt: Uint8Array, text: string): BodyRef {
  // UTF-8 has no lone surrogates: written as U+FFFD, two texts would share one ref.
  if (!text.isWellFormed()) throw new Defect("body: a text with a lone surrogate");
  if (salt.length + MAX_UTF8_BYTES * text.length > scratch.length) {
    return asBodyRef(hashBytes(joinBytes(salt, UTF8.encode(text))));
  }
  scratch.set(salt);
  const { written } = UTF8.encodeInto(text, scratch.subarray(salt.length));
  return asBodyRef(hashBytes(scratch.subarray(0, salt.length + written)));
}

export function isBodyOf(ref: BodyRef, { salt, text }: Body): boolean {
  return bodyRef(bytesOfHex(salt), text) === ref;
}

export function refsOf(entry: Entry): readonly BodyRef[] {
  return [...new Set([...refsIn(entry.decided), ...refsIn(entry.result)])].sort();
}

/** Every schema of an entry calls a ref `ref` or `…Ref`, and nothing else so. */
function refsIn(value: unknown): readonly BodyRef[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    typeof inner === "string" && /^ref$|Ref$/.test(key) ? [asBodyRef(inner)] : refsIn(inner),
  );
}

export function promptHead(previous: Hash | null, refs: readonly string[]): Hash {
  const before = previous === null ? "null" : `"${previous}"`;
  return hashBytes(`[${before}${refs.map((ref) => `,${quote(ref)}`).join("")}]`);
}
