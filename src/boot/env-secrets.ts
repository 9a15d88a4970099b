/**
 * The secrets among the values of `.env`: redaction has to know all of them, not only the keys of providers.
 *
 * S1. A value is a secret unless it is plain: a word, a number, a path, an address, a short setting. Behind a name that
 *     says secret (`DB_PASSWORD`) words are one, too.
 * S2. Of a URL only its password and the parts that are not plain: text may well name its host.
 * S3. What is too short to be redacted is left out: it would be found everywhere.
 */
import type { Secret } from "../kernel/redaction/known-secrets.ts";
import { secretProblem } from "../kernel/redaction/secret-encodings.ts";

export function secretsIn(variables: ReadonlyMap<string, string>): readonly Secret[] {
  return [...variables].flatMap(([variable, value]) =>
    secretParts(variable, value)
      .filter((part) => secretProblem(part) !== "value-too-short")
      .map((part, index) => ({ name: index === 0 ? variable : `${variable}.${index + 1}`, value: part })),
  );
}

const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;
const PASSWORD = /^[^/?#\s]*?:([^/?#\s]+)@/;

function secretParts(variable: string, value: string): readonly string[] {
  const [scheme] = SCHEME.exec(value) ?? [];
  if (scheme === undefined) return isSecret(variable, value) ? [value] : [];
  const rest = value.slice(scheme.length);
  const password = PASSWORD.exec(rest)?.[1];
  // One that is too short to be known alone is known with what surrounds it.
  const known = password === undefined || secretProblem(password) === null ? password : rest;
  const others = rest.split(/[/?&=@#:]/).filter((part) => part !== password && !isPlain(part));
  return [...new Set([...(known === undefined ? [] : [known]), ...others])];
}

const SECRET_WORD = /(?:key|token|secret|pass|passw(?:or)?d|pwd|passphrase|pin|credentials?|auth|salt|cookie)s?$/i;
/** `SSH_KEY_PATH` names a file. */
const NAMES_OTHERS =
  /(?:^|_)(?:PATH|FILE|DIR|HOME|URL|HOST|PORT|USER|NAME|ID|MODEL|REGION|VERSION|TZ|LANG|ENV|TYPE|MODE|LEVEL|TTL|TIMEOUT)$/i;

function isSecret(variable: string, value: string): boolean {
  if (/(?:PATH|FILE|DIR|HOME)$/i.test(variable) && /^[~.]{0,2}\//.test(value)) return false;
  if (!isPlain(value)) return true;
  if (NAMES_OTHERS.test(variable)) return false;
  return variable.split("_").some((word) => SECRET_WORD.test(word)) || isPhrase(value);
}

/** Shorter ones are settings, such as `eu-central-1`. */
const SHORTEST_PHRASE = 16;
const SHORTEST_NUMBERED_PHRASE = 13;

/** Several words, which are no path and no address. */
function isPhrase(value: string): boolean {
  if (/[/\\:.@]/.test(value) || !/\p{L}[^\p{L}]+[\p{L}\p{N}]|\p{N}[^\p{N}]+\p{L}/u.test(value)) return false;
  return value.length >= (/\p{N}/u.test(value) ? SHORTEST_NUMBERED_PHRASE : SHORTEST_PHRASE);
}

const LONGEST_WORD = 15;
const LONGEST_NUMBER = 8;
/** Letters and digits mixed, as in `gpt-4o` or `v2.1rc1`: one part, and all together. */
const LONGEST_MIXED_PART = 6;
const MOST_MIXED_CHARS = 8;

function isPlain(value: string): boolean {
  const parts = value.match(/[\p{L}\p{N}]+/gu) ?? [];
  const isMixed = (part: string): boolean => /\p{L}/u.test(part) && /\p{N}/u.test(part);
  const mixed = parts.filter(isMixed);
  if (mixed.some(({ length }) => length > LONGEST_MIXED_PART) || mixed.join("").length > MOST_MIXED_CHARS) return false;
  return parts.every((part) => isMixed(part) || (/\p{N}/u.test(part) ? part.length <= LONGEST_NUMBER : isWord(part)));
}

/** Random letters have few vowels, or change between small and capital ones. */
function isWord(letters: string): boolean {
  if (letters.length < 8) return true;
  const isLatin = /^[a-z]+$/i.test(letters);
  const vowels = letters.match(/[aeiouy]/gi)?.length ?? 0;
  const turns = letters.match(/\p{Ll}\p{Lu}/gu)?.length ?? 0;
  return letters.length <= LONGEST_WORD && turns <= letters.length / 4 && (!isLatin || vowels >= letters.length / 5);
}
