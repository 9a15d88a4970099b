/**
 * Does a text of the config look like a key or a token (P-1.2)?
 *
 * L1. Whatever redaction would remove from a log is a secret here too, alone or after its key's name.
 * L2. So is a single word that looks random: long, with letters and digits alternating. Paths, model names, dates and
 *     prose do not; a hash does, and does not belong in the config either.
 * L3. A value under a key that names a secret (`apiKey`, `password`, `token` …) is one, whatever it looks like.
 */
import { compileRedactor, type Redactor } from "../../kernel/redaction/redact.ts";
import { Defect } from "../../kernel/vocabulary/defect.ts";

const RANDOM_CHARS = 24;
const RANDOM_RUN = /[A-Za-z0-9]{24,}/g;
const MIN_OF_EACH = 4;
const TURNS_SHARE = 0.4;
const SECRET_NAME =
  /(?:api[_-]?key|access[_-]?key|private[_-]?key|secret|passw(?:or)?d|passphrase|credentials?|(?:^|[_-])token|[a-z]Token)$/i;

let redactor: Redactor | null = null;

export function looksSecret(text: string): boolean {
  return redact(text) !== text || looksRandom(text);
}

/** Is the value of this key a secret, by the key's name or by its own looks? */
export function looksSecretBehind(key: string, value: string): boolean {
  if (value !== "" && SECRET_NAME.test(key)) return true;
  const line = `${key}: "${value}"`;
  return looksSecret(value) || redact(line) !== line;
}

function redact(text: string): string {
  if (redactor === null) {
    const verdict = compileRedactor({ secrets: [], emails: false, phones: false });
    if (!verdict.ok) throw new Defect("redaction refused an empty list of secrets");
    redactor = verdict.redactor;
  }
  return redactor.redactText(text).text;
}

function looksRandom(text: string): boolean {
  if (text.length < RANDOM_CHARS || /[\s/\\]/.test(text)) return false;
  const runs = text.match(RANDOM_RUN) ?? [];
  return runs.some((run) => isMixed(run)) || takesTurns(text);
}

function isMixed(text: string): boolean {
  return text.replace(/[^0-9]/g, "").length >= MIN_OF_EACH && text.replace(/[0-9]/g, "").length >= MIN_OF_EACH;
}

/** In random text, capitals, small letters and digits alternate often. */
function takesTurns(text: string): boolean {
  const kinds = [...text.replace(/[^A-Za-z0-9]/g, "")].map((letter) =>
    /[0-9]/.test(letter) ? "digit" : letter === letter.toLowerCase() ? "small" : "capital",
  );
  const turns = kinds.filter((kind, index) => index > 0 && kind !== kinds[index - 1]).length;
  return kinds.length >= RANDOM_CHARS && turns / kinds.length >= TURNS_SHARE;
}
