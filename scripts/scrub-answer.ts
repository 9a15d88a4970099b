/**
 * What is told of whoever asked, and when, taken out of an answer's text; its shape, its words and its framing stay.
 *
 * S1. An id keeps its prefix (`call_`, `toolu_`, `chatcmpl-`) and gets a number; the same id gets the same one everywhere.
 *     One that says what it is, such as `fs__read_text:0`, is a server's dialect and stays.
 * S2. A key is looked for as the product looks for it: in any spelling that its redactor knows, in the text as it came and
 *     in what was put together out of it.
 */
import { compileRedactor } from "../src/kernel/redaction/redact.ts";

const ID = /"(?:id|request_id|tool_use_id|tool_call_id|system_fingerprint)"\s*:\s*"([^"\\]+)"/g;
const PREFIX = /^(?:[a-z]+[-_])*/;
const MADE_UP = /^(?=[a-z-]*[A-Z0-9])[A-Za-z0-9-]{8,}$/;
const TIME = /("created(?:_at)?"\s*:\s*)(?:\d{9,}|"[^"\\]*")/g;
const OWNER = /("(?:user|user_id|organization|organization_id|org_id)"\s*:\s*)"[^"\\]+"/g;
/** `data`: of a thought that was encrypted. */
const SEALED = /("(?:signature|thought_signature|encrypted_content|data)"\s*:\s*)"[^"\\]+"/g;

/** Made for one answer, and good for all that quotes it. */
export function scrubberFor(answer: string): (text: string) => string {
  const counts = new Map<string, number>();
  const words = new Map<string, string>();
  for (const [, id = ""] of answer.matchAll(ID)) {
    const [prefix = ""] = PREFIX.exec(id) ?? [];
    if (words.has(id) || !MADE_UP.test(id.slice(prefix.length))) continue;
    const count = (counts.get(prefix) ?? 0) + 1;
    counts.set(prefix, count);
    words.set(id, `${prefix || "id_"}${count}`);
  }
  return (text) => {
    const named = [...words].reduce((body, [id, word]) => body.replaceAll(id, word), text);
    return named
      .replace(TIME, (_, field: string) => `${field}0`)
      .replace(OWNER, (_, field: string) => `${field}"owner"`)
      .replace(SEALED, (_, field: string) => `${field}"c2lnbmVk"`);
  };
}

/** Null where the key is too short, or too long, to be found again. */
export function secretFinder(secret: string): ((texts: readonly string[]) => boolean) | null {
  const name = "key";
  const verdict = compileRedactor({ secrets: [{ name, value: secret }], emails: false, phones: false });
  if (!verdict.ok) return null;
  return (texts) => texts.some((text) => verdict.redactor.redactText(text).found.includes(name));
}

/** Every text in a value, each on its own. */
export function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
