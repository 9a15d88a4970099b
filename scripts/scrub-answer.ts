/**
 * What is told of whoever asked, and when, taken out of an answer's text; its shape, its words and its framing stay.
 *
 * S1. An id keeps its prefix (`call_`, `toolu_`, `chatcmpl-`) and gets a number; the same id gets the same one everywhere.
 *     One that says what it is, such as `fs__read_text:0`, is a server's dialect and stays.
 */
const ID = /"(?:id|request_id|tool_use_id|tool_call_id|system_fingerprint)"\s*:\s*"([^"\\]+)"/g;
const PREFIX = /^(?:[a-z]+[-_])*/;
const MADE_UP = /^(?=[a-z-]*[A-Z0-9])[A-Za-z0-9-]{8,}$/;
const TIME = /("created(?:_at)?"\s*:\s*)(?:\d{9,}|"[^"\\]*")/g;
const SIGNATURE = /("(?:signature|encrypted_content)"\s*:\s*)"[^"\\]+"/g;

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
      .replace(SIGNATURE, (_, field: string) => `${field}"c2lnbmVk"`);
  };
}

export function holdsSecret(text: string, secret: string): boolean {
  const bytes = Buffer.from(secret);
  const encoded = [bytes.toString("base64").replace(/=+$/, ""), bytes.toString("hex"), encodeURIComponent(secret)];
  return [secret, ...encoded].some((spelling) => text.includes(spelling));
}
