/** Secrets for tests, every disguise they come in, and texts that hold them. */
import fc from "fast-check";
import { compileRedactor, type RedactionConfig, type Redactor } from "../../../src/kernel/redaction/redact.ts";

export const CANARY = "sk-test-CANARY0123456789abcdef0123456789abcdef";

export function redactorFor(
  secrets: RedactionConfig["secrets"],
  options: Partial<Omit<RedactionConfig, "secrets">> = {},
): Redactor {
  const verdict = compileRedactor({ secrets, emails: false, phones: false, ...options });
  if (!verdict.ok) throw new Error(`${verdict.reason} at ${verdict.index}`);
  return verdict.redactor;
}

export const utf8Bytes = (text: string): number[] => [...new TextEncoder().encode(text)];
export const utf16Bytes = (text: string, bigEndian: boolean): number[] =>
  Array.from({ length: text.length }, (_, at) => text.charCodeAt(at)).flatMap((unit) =>
    bigEndian ? [unit >> 8, unit & 0xff] : [unit & 0xff, unit >> 8],
  );
export const asLatin1 = (bytes: readonly number[]): string => String.fromCharCode(...bytes);
export const base64 = (bytes: readonly number[]): string => btoa(asLatin1(bytes));
export const base64url = (bytes: readonly number[]): string =>
  base64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
export const hex = (bytes: readonly number[]): string =>
  bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
const base32 = (bytes: readonly number[]): string => {
  const bits = bytes.map((byte) => byte.toString(2).padStart(8, "0")).join("");
  const digits = bits.match(/.{1,5}/g) ?? [];
  return digits.map((digit) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[Number.parseInt(digit.padEnd(5, "0"), 2)]).join("");
};
const unitEscape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
const units = (text: string): string[] => text.split("");

/** Ways to write one ASCII character as an escape. */
export const ESCAPES_OF_ONE: readonly ((character: string) => string)[] = [
  (character) => `%${hex(utf8Bytes(character))}`,
  (character) => `%25${hex(utf8Bytes(character)).toUpperCase()}`,
  unitEscape,
  (character) => `\\${unitEscape(character)}`,
  (character) => `\\x${hex(utf8Bytes(character))}`,
  (character) => `\\u{${hex(utf8Bytes(character))}}`,
  (character) => `&#${character.charCodeAt(0)};`,
  (character) => `&#x${hex(utf8Bytes(character))};`,
];

/** Disguises that hide every character: nothing of them may stay. */
export const WHOLE_DISGUISES: Readonly<Record<string, (value: string) => string>> = {
  "hex, lower case": (value) => hex(utf8Bytes(value)),
  "hex, upper case": (value) => hex(utf8Bytes(value)).toUpperCase(),
  "hex, mixed case": (value) =>
    hex(utf8Bytes(value)).replace(/[a-f]/g, (d, at: number) => (at % 3 ? d : d.toUpperCase())),
  "hex, with colons": (value) =>
    utf8Bytes(value)
      .map((byte) => hex([byte]))
      .join(":"),
  "hex, in lines": (value) => hex(utf8Bytes(value)).replace(/.{7}(?!$)/g, "$&\r\n    "),
  "hex of UTF-16": (value) => hex(utf16Bytes(value, false)).replace(/(00)$/, ""),
  "percent, all bytes": (value) =>
    utf8Bytes(value)
      .map((byte) => `%${hex([byte])}`)
      .join(""),
  "percent, upper case": (value) =>
    utf8Bytes(value)
      .map((byte) => `%${hex([byte]).toUpperCase()}`)
      .join(""),
  "percent, every other": (value) =>
    [...value]
      .map((c, at) =>
        at % 2
          ? encodeURIComponent(c)
          : utf8Bytes(c)
              .map((byte) => `%${hex([byte])}`)
              .join(""),
      )
      .join(""),
  "percent, twice": (value) =>
    utf8Bytes(value)
      .map((byte) => `%25${hex([byte])}`)
      .join(""),
  "JSON escapes, all": (value) => units(value).map(unitEscape).join(""),
  "JSON escapes, first": (value) => unitEscape(value) + value.slice(1),
  "JSON escapes, every third": (value) =>
    units(value)
      .map((c, at) => (at % 3 ? c : unitEscape(c)))
      .join(""),
  "JSON escapes, twice": (value) =>
    units(value)
      .map((c) => `\\${unitEscape(c)}`)
      .join(""),
  "\\x escapes": (value) =>
    utf8Bytes(value).every((byte) => byte < 128)
      ? units(value)
          .map((c) => `\\x${hex(utf8Bytes(c))}`)
          .join("")
      : units(value).map(unitEscape).join(""),
  "\\u{} escapes": (value) =>
    units(value)
      .map((c) => `\\u{${c.charCodeAt(0).toString(16)}}`)
      .join(""),
  "HTML entities": (value) =>
    units(value)
      .map((c, at) => (at % 2 ? `&#${c.charCodeAt(0)};` : `&#x${c.charCodeAt(0).toString(16)};`))
      .join(""),
  "spaced out": (value) => units(value).join(" "),
  "zero-width spaces": (value) => units(value).join("\u200b"),
  "soft hyphens and a BOM": (value) => units(value).join("\u00ad\ufeff"),
  "broken lines": (value) => value.replace(/.{5}(?!$)/gsu, "$&\r\n  "),
  "byte array": (value) => utf8Bytes(value).join(","),
};

/** What remains of Base64 and base32 at the edges: a digit that also holds a neighbour's bits, and padding. */
export const DIGIT_DISGUISES: Readonly<Record<string, (value: string) => string>> = {
  base64: (value) => base64(utf8Bytes(value)),
  "base64 after 1 byte": (value) => base64(utf8Bytes(`:${value}`)),
  "base64 after 2 bytes": (value) => base64(utf8Bytes(`::${value}`)),
  base64url: (value) => base64url(utf8Bytes(value)),
  "base64url after 1 byte": (value) => base64url(utf8Bytes(`:${value}`)),
  "base64url after 2 bytes": (value) => base64url(utf8Bytes(`::${value}`)),
  "base64 in lines": (value) => base64(utf8Bytes(value)).replace(/.{4}/g, "$&\r\n"),
  "base64, slashes escaped": (value) => base64(utf8Bytes(value)).replaceAll("/", "\\/"),
  "base64, percent-encoded": (value) => encodeURIComponent(base64(utf8Bytes(value))),
  "base64 of UTF-16, little-endian": (value) => base64(utf16Bytes(value, false)),
  "base64 of UTF-16, big-endian": (value) => base64(utf16Bytes(value, true)),
  "base64 in UTF-16": (value) => units(base64(utf8Bytes(value))).join("\0"),
  base32: (value) => base32(utf8Bytes(value)),
  "base32 in a host name": (value) =>
    base32(utf8Bytes(`:${value}`))
      .toLowerCase()
      .replace(/.{9}/g, "$&."),
};

/** ASCII without white space, the starts of escapes, and the brackets that tests put around it. */
export const anyValue = fc
  .array(fc.constantFrom(..."ABCXYZabcxyz0123456789-_+/=.:!$#"), { minLength: 8, maxLength: 40 })
  .map((characters) => characters.join(""));

/** All ways of cutting, as the chunks. */
export const anyCuts = fc.array(fc.nat(1_000_000), { maxLength: 12 });
export function cutAt(text: string, cuts: readonly number[]): readonly string[] {
  const places = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, index) => text.slice(from, places[index] ?? text.length));
}

const disguised = fc
  .tuple(fc.constantFrom(...Object.values(WHOLE_DISGUISES), ...Object.values(DIGIT_DISGUISES)), fc.nat(30), fc.nat(60))
  .map(
    ([disguise, from, length]) =>
      (value: string) =>
        disguise(value.slice(from % value.length).slice(0, length + 1)),
  );

const LOOSE_PARTS = [
  "The quick brown fox ",
  "token",
  "=",
  ": ",
  " ",
  "\n",
  "sk-",
  "sk-ant-api03-Zz9",
  "0123456789abcdef",
  "AKIA",
  "IOSFODNN7EXAMPLE",
  "eyJhbGciOiJIUzI1NiJ9",
  ".",
  "..",
  "eyJzdWIiOiIxMjM0In0",
  "Bearer ",
  "bearer\t",
  "Authorization: Basic ",
  "dXNlcjpwYXNz",
  'password="',
  "hunter2hunter2hunter2",
  "https://user:",
  "p@ss",
  "@host.example/",
  "123456789",
  ":AAcanaryCANARYcanaryCANARYcanaryCAN",
  "%",
  "%4",
  "%41",
  "\\",
  "\\u",
  "\\u00",
  "&#",
  "&amp;",
  "[",
  "[REDACTED:",
  "[REDACTED:openai]",
  "[REDACTED:A]",
  "⟦secret:",
  "⟦secret:A⟧",
  "⟧",
  "]",
  "-----",
  "-----BEGIN RSA PRIVATE KEY-----\n",
  "MIIEpAIBAAKCAQEA",
  "-----END RSA PRIVATE KEY-----",
  "bob@example.com",
  "@",
  "+49 30 123",
  "4567890",
  "(555) 123-4567",
  "\u0000",
  "\u200b",
  "é",
  "😀",
  "\ud83d",
  "xoxb-1234567890-abc",
  "ghp_0123456789abcdefghij0123456789abcdef",
  "AIza",
  "hooks.slack.com/services/T0/B0/abcdefghijklmnop",
];

/** Texts with planted secrets, whole or in part, plain or disguised, between pieces that patterns care about. */
export const textsWith = (values: readonly string[]): fc.Arbitrary<string> => {
  const value = fc.constantFrom(...values);
  const part = fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...LOOSE_PARTS) },
    { weight: 2, arbitrary: value },
    { weight: 2, arbitrary: fc.tuple(value, disguised).map(([secret, disguise]) => disguise(secret)) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(value, fc.nat(40), fc.nat(40))
        .map(([secret, a, b]) => secret.slice(Math.min(a, b), Math.max(a, b))),
    },
    { weight: 1, arbitrary: fc.string({ maxLength: 8 }) },
  );
  return fc.array(part, { maxLength: 14 }).map((parts) => parts.join(""));
};

/** Every run of `length` characters of a text. */
export function runsOf(text: string, length: number): readonly string[] {
  return Array.from({ length: Math.max(0, text.length - length + 1) }, (_, at) => text.slice(at, at + length));
}
