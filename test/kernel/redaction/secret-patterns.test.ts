import { describe, expect, test } from "vitest";
import { verifies } from "../../requirements.ts";
import { base64, CANARY, redactorFor, utf8Bytes } from "./disguises.ts";

const plain = redactorFor([]);
const strict = redactorFor([{ name: "CANARY", value: CANARY }], { emails: true, phones: true });
const clean = (text: string): string => plain.redactText(text).text;

/** Split so that no scanner takes this file for a leak. */
const join = (...parts: string[]): string => parts.join("");
const A20 = "a1B2c3D4e5F6g7H8i9J0";
const A40 = `${A20}${A20}`;

const FOUND: readonly (readonly [string, string])[] = [
  [join("key sk-", A20, " end"), "key [REDACTED:openai] end"],
  [join("sk-proj-", A40, "_-x."), "[REDACTED:openai]."],
  [join("sk-", "abcdefghijklmno1"), "[REDACTED:openai]"],
  [join("sk-", "AbcdefghijklmnopqrstuvwX"), "[REDACTED:openai]"],
  [join("sk-ant-", "api03-", A40, "-AA"), "[REDACTED:anthropic]"],
  [join("x=sk_live_", "abcdefghijklmnop"), "x=[REDACTED:stripe]"],
  [join("rk_test_", "abcdefghijklmnop"), "[REDACTED:stripe]"],
  [join("(AKIA", "IOSFODNN7EXAMPLE)"), "([REDACTED:aws])"],
  [join("ASIA", "IOSFODNN7EXAMPLE"), "[REDACTED:aws]"],
  ...["ghp_", "gho_", "ghu_", "ghs_", "ghr_"].map((p): [string, string] => [join(p, A20), "[REDACTED:github]"]),
  [join("github_pat_", A20, "_", A20), "[REDACTED:github]"],
  [join("glpat-", A20), "[REDACTED:gitlab]"],
  [join("npm_", A20, "abcdefghij"), "[REDACTED:npm]"],
  [join("hf_", A20, "abcdefghij"), "[REDACTED:huggingface]"],
  ...["a", "b", "c", "d", "e", "p", "r", "s"].map((k): [string, string] => [
    join("xox", k, "-1234567890-a"),
    "[REDACTED:slack]",
  ]),
  [join("xapp-", "1-A0123456-789"), "[REDACTED:slack]"],
  [
    join("https://hooks.slack.com/services/", "T0000/B0000/abcdefgh"),
    "https://hooks.slack.com/services/[REDACTED:slack]",
  ],
  [join("AIza", "SyA-", A20, "abcdefghijk"), "[REDACTED:google]"],
  [join("ya29.", A20, "-x"), "[REDACTED:google]"],
  [join("GOCSPX-", A20), "[REDACTED:google]"],
  [join("123456:", "ABC-DEF1234ghIkl-zyx57W2v1u123ew11"), "[REDACTED:telegram]"],
  [join("/bot123456789012:", "AAcanaryCANARYcanaryCANARYcana", "/x"), "/bot[REDACTED:telegram]/x"],
  [join("eyJhbGciOi", "J9.eyJzdWIi.sig_-9. Then"), "[REDACTED:jwt] Then"],
  [join("eyJhbGciOi", "JkaXIi..abcdefgh.ijkl"), "[REDACTED:jwt]"],
  [join("Authorization: Bearer ", "abcdefghijklmno1"), "Authorization: Bearer [REDACTED:authorization]"],
  [join("authorization: basic ", "dXNlcjpw"), "authorization: basic [REDACTED:authorization]"],
  [join('"Authorization": "Token ', 'abcdefgh"'), '"Authorization": "Token [REDACTED:authorization]"'],
  [join("use bearer  ", "abcdefghijklmno1, ok"), "use bearer  [REDACTED:bearer], ok"],
  [join("postgres://app:", "pw@db/x"), "postgres://app:[REDACTED:url_password]@db/x"],
  [join("redis://:", "p@s:s@host:1"), "redis://:[REDACTED:url_password]@host:1"],
  [join("https://a:", "pässwörd@h"), "https://a:[REDACTED:url_password]@h"],
  ...[
    "api_key",
    "apiKey",
    "API-KEY",
    "secret",
    "client_secret",
    "SECRET_KEY",
    "aws_secret_access_key",
    "access_token",
    "password",
    "passwd",
    "db.pwd",
    "passphrase",
    "AccountKey",
    "private_key",
    "credentials",
  ].map((name): [string, string] => [join(name, "=", "abcdefghijklmn12;"), `${name}=[REDACTED:assignment];`]),
  [join('{"token" : "', 'abcdefghijklmn12"}'), '{"token" : "[REDACTED:assignment]"}'],
  [join('{\\"token\\":\\"', 'abcdefghijklmn12\\"}'), '{\\"token\\":\\"[REDACTED:assignment]\\"}'],
  [join(":password => '", "abcdefghijklmn12'"), ":password => '[REDACTED:assignment]'"],
  [join("?a=b&api_key=", "abcdefghijklmn12&c=d"), "?a=b&api_key=[REDACTED:assignment]&c=d"],
  [join("tool --api-key ", "abcdefghijklmn12 --x"), "tool --api-key [REDACTED:assignment] --x"],
  ["-----BEGIN PRIVATE KEY-----\nMIIE+/=\n-----END PRIVATE KEY-----\nafter", "[REDACTED:private_key]\nafter"],
  [
    "a -----BEGIN RSA PRIVATE KEY-----\r\nProc-Type: 4,ENCRYPTED\r\n\r\nMI-\r\n-----END RSA PRIVATE KEY----- b",
    "a [REDACTED:private_key] b",
  ],
  ["'-----BEGIN OPENSSH PRIVATE KEY-----\\nb3Blb\\n' tail", "'[REDACTED:private_key]' tail"],
  [
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2.0\n\nlQ=\n=a1b2\n-----END PGP PRIVATE KEY BLOCK-----.",
    "[REDACTED:private_key].",
  ],
  // After a written escape a word starts, though its last character is a letter.
  [join("key%3Dsk-", A20), "key%3D[REDACTED:openai]"],
  [join('"a\\nsk-', A20, '"'), '"a\\n[REDACTED:openai]"'],
  [join("\\u003dsk-", A20), "\\u003d[REDACTED:openai]"],
];

const LEFT: readonly string[] = [
  join("sk-", "abcdefghijklmn1"),
  join("sk-", "toggleable__content-label-arrow"),
  join("sk-", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
  join("sk-", "AbcdefghijklmnopqrstuvX"),
  join("task-", "0123456789abcdef"),
  join("AKIA", "IOSFODNN7EXAMPL"),
  join("xAKIA", "IOSFODNN7EXAMPLE"),
  join("ghp_", "a1B2c3D4e5F6g7H8i9J"),
  "npm_config_registry_with_a_long_name_that_goes_on",
  join("xoxb-", "not-a-token-at-all"),
  join("AIza", "a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6g7"),
  join("12345:", "ABC-DEF1234ghIkl-zyx57W2v1u123ew11"),
  join("1234567890123:", "ABC-DEF1234ghIkl-zyx57W2v1u123ew11"),
  join("123456789:", "AAcanaryCANARYcanaryCANARYcan"),
  "1700000000:3b6c956d0c0ffee0c0ffee0c0ffee0c0ffee0c0f",
  join("eyJhbGci", ".eyJzdWIi"),
  join("eyJhbGciOi", "J9.eyJzdWI"),
  join("eyJhbGciOi", "J9...eyJzdWIi"),
  "Bearer authentication-mechanisms are described below",
  "bearer internationalisation",
  "forbearer abcdefghijklmno1",
  "https://localhost:8080/path and bob@example.com",
  "https://host:@x",
  "see http://a:b c@d",
  "password: correcthorsebatterystaple",
  "apiKey: process.env.OPENAI_API_KEY,",
  "token_count=123456789012345678",
  "max_tokens: 1234567890123456",
  "tokenizer = abcdefghijklmn12",
  "password=abcdefghijklm12",
  "password=abcdefghijklmno1",
  "token:\n  abcdefghijklmn12: x",
  "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
  "-----BEGIN CERTIFICATE-----\nMIIB",
  "---BEGIN PRIVATE KEY---",
  "⟦secret:SOMEBODY_ELSES_NAME_12⟧",
];

describe("secrets known by their shape", () => {
  for (const [text, expected] of FOUND) {
    verifies("P-4.5/secrets", `found: ${text.slice(0, 40)}`, () => {
      expect(clean(text)).toBe(expected);
    });
  }

  test.each(LEFT)("left alone: %s", (text) => {
    expect(plain.redactText(text)).toEqual({ text, found: [] });
  });

  test("each kind is reported once", () => {
    const aws = join("AKIA", "IOSFODNN7EXAMPLE");
    expect(plain.redactText(join(aws, " ghp_", A20, " ", aws))).toEqual({
      text: "[REDACTED:aws] [REDACTED:github] [REDACTED:aws]",
      found: ["aws", "github"],
    });
  });

  test("a PEM block without an end is swallowed up to the first character that cannot be in one", () => {
    expect(clean("-----BEGIN PRIVATE KEY-----\nMIIE and more words; after")).toBe("[REDACTED:private_key]; after");
    expect(clean("-----BEGIN PRIVATE KEY-----\nMI--END--IE\n------END X-----more")).toBe("[REDACTED:private_key]more");
  });
});

describe("e-mail addresses and phone numbers", () => {
  const MAILS: readonly (readonly [string, string])[] = [
    ["write to bob.smith+x@mail.example.com.", "write to [REDACTED:email]."],
    ["<a@b.co>", "<[REDACTED:email]>"],
    ["a@b.co,c@d.org", "[REDACTED:email],[REDACTED:email]"],
    ["x@a.b.museum/path", "[REDACTED:email]/path"],
    [`${"l".repeat(64)}@b.co`, "[REDACTED:email]"],
  ];
  const PHONES: readonly (readonly [string, string])[] = [
    ["call +49 30 1234567 now", "call [REDACTED:phone] now"],
    ["tel:+14155550123", "tel:[REDACTED:phone]"],
    ["(+44 (20) 7946-0958)", "([REDACTED:phone])"],
    ["0049 30 1234567", "[REDACTED:phone]"],
    ["(555) 123-4567", "[REDACTED:phone]"],
    ["555-123-4567.", "[REDACTED:phone]."],
    ["1 555.123.4567", "[REDACTED:phone]"],
    ["+1234567890123456", "[REDACTED:phone]6"],
  ];
  const NEITHER = [
    "lodash@4.17.21",
    "@scope/name",
    "a@b",
    "a@.co",
    "me@localhost",
    `${"l".repeat(65)}@b.co`,
    "2024-01-15 10:30:00",
    "192.168.100.200",
    "v1.555.123.4567",
    "+123 456",
    "1+12345678",
    "555-123-45678",
    "5551234567",
    "0000000000",
    "1.234.567.890,00",
  ];

  for (const [text, expected] of [...MAILS, ...PHONES]) {
    verifies("P-4.5/contacts", `redacted when configured, else left alone: ${text.slice(0, 30)}`, () => {
      expect(strict.redactText(text).text).toBe(expected);
      expect(plain.redactText(text).text).toBe(text);
    });
  }

  test.each(MAILS)("e-mail alone: %s", (text, expected) => {
    expect(redactorFor([], { emails: true }).redactText(text).text).toBe(expected);
    expect(redactorFor([], { phones: true }).redactText(text).text).toBe(text);
  });

  test.each(NEITHER)("neither: %s", (text) => {
    expect(strict.redactText(text).text).toBe(text);
  });
});

describe("benign text", () => {
  /** A small generator of our own: the same lines in every run. */
  function* numbers(): Generator<number, never> {
    let state = 42;
    for (;;) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      yield state / 2 ** 32;
    }
  }
  const source = numbers();
  const below = (limit: number): number => Math.floor(source.next().value * limit);
  const pick = (choices: readonly string[]): string => choices[below(choices.length)] as string;
  const some = (length: number, alphabet: string): string =>
    Array.from({ length }, () => alphabet[below(alphabet.length)]).join("");
  const hexDigits = (length: number): string => some(length, "0123456789abcdef");
  const uuid = (): string => [8, 4, 4, 4, 12].map(hexDigits).join("-");
  const WORDS =
    "the token of a user is read when password reset mails arrive bearer secret service key value basic risk desk task commit hash session author author build cache release index".split(
      " ",
    );
  const sentence = (): string => Array.from({ length: 4 + below(12) }, () => pick(WORDS)).join(" ");
  const identifier = (): string =>
    `${pick(WORDS)}${pick(["", "Of", "For", "With"])}${pick(["User", "Token", "Key", "Secret", "List"])}`;

  const HASHES: readonly (() => string)[] = [
    () => `commit ${hexDigits(40)}`,
    () => `${hexDigits(7)} ${sentence()}`,
    () => `index ${hexDigits(7)}..${hexDigits(7)} 100644`,
    () => `sha256:${hexDigits(64)}  ${pick(WORDS)}.tar.gz`,
    () => `${hexDigits(64)}`,
    () => `etag: "${hexDigits(32)}"`,
    () => `id=${uuid()} status=ok`,
    () => `{"id":"${uuid()}","parent":"${uuid().toUpperCase()}"}`,
    () => `${1_700_000_000 + below(1e8)}:${hexDigits(40)}`,
  ];
  const OTHER: readonly (() => string)[] = [
    sentence,
    () => `The ${pick(WORDS)}: ${sentence()}.`,
    () => `data:text/plain;base64,${base64(utf8Bytes(sentence()))}`,
    () => base64(utf8Bytes(JSON.stringify({ text: sentence(), n: below(1e6) }))),
    () => `"integrity": "sha512-${base64(Array.from({ length: 64 }, () => below(256)))}",`,
    () => `const ${identifier()} = await ${identifier()}(${pick(WORDS)}, { ${pick(WORDS)}: ${below(1e9)} });`,
    () => `  apiKey: process.env.${pick(["OPENAI_API_KEY", "TOKEN_2", "SECRET"])},`,
    () => `if (token === ${identifier()}) return password.${identifier()}[${below(100)}];`,
    () => `export type ${identifier()} = { token: string; secret: readonly string[] };`,
    () =>
      `2026-0${1 + below(9)}-1${below(9)}T10:${10 + below(49)}:00.${below(1000)}Z INFO ${sentence()} took ${below(1e5)} ms`,
    () =>
      `GET https://${pick(WORDS)}.example.com:8443/${pick(WORDS)}/${uuid()}?page=${below(100)}&sort=${pick(WORDS)} 200`,
    () => `"${pick(WORDS)}-${pick(WORDS)}": "^${below(20)}.${below(20)}.${below(20)}",`,
    () => `<div class="sk-${pick(WORDS)}-${pick(WORDS)}-${pick(WORDS)}">${sentence()}</div>`,
    () => `at ${identifier()} (/home/${pick(WORDS)}/src/${identifier()}.ts:${below(999)}:${below(99)})`,
    () => `max_tokens=${below(100_000)} prompt_tokens=${below(100_000)} token_type=${pick(WORDS)}`,
    () => `password must have ${below(20)} characters, token expires in ${below(1e6)} seconds`,
    () => `${some(20, "0123456789")} ${some(12, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")}`,
    () =>
      `-rw-r--r-- 1 root root ${below(1e7)} Jan ${1 + below(28)} 10:${10 + below(49)} ${identifier()}_${hexDigits(8)}.log`,
  ];
  const redacted = (lines: readonly string[]): readonly string[] =>
    lines.filter((line) => strict.redactText(line).text !== line);

  verifies("P-4.5", "no git hash, digest or UUID is redacted among 2,000 lines", () => {
    const lines = Array.from({ length: 2_000 }, (_, at) => (HASHES[at % HASHES.length] as () => string)());
    expect(redacted(lines)).toEqual([]);
  });

  verifies(
    "P-4.5",
    "at most one in a hundred of 8,000 other benign lines is redacted",
    () => {
      const lines = Array.from({ length: 8_000 }, (_, at) => (OTHER[at % OTHER.length] as () => string)());
      expect(redacted(lines).length).toBeLessThanOrEqual(80);
    },
    60_000,
  );
});
