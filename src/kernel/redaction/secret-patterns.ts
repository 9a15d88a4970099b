/**
 * The second stage's rules: secrets that were not loaded, recognised by their shape. A match is replaced for good.
 *
 * P1. Each rule looks ahead through `look-ahead.ts` and behind at no more than CONTEXT_CHARS of what
 *     has been released, markers included.
 * P2. No rule looks at the text after its match, except for digits, after which no rule starts: a neighbour that becomes a
 *     marker must not change the answer.
 * P3. Every rule has a sign, which is much easier to find than its matches: `pattern-filter.ts` looks for it first.
 * P4. Bare hexadecimal, UUIDs and Base64 match no rule: without a prefix or a name nothing tells them from a hash.
 */
import {
  atLeast,
  type CharacterClass,
  characterClass,
  isIn,
  looksRandom,
  MAX_RUN_CHARS,
  ofBothCases,
  type RunRule,
  withDigits,
} from "./character-run.ts";
import { type LookAhead, MORE, NONE } from "./look-ahead.ts";

export const CONTEXT_CHARS = 192;

/** Swallows text after a match: from a state and a character to the next state, or one of these. */
export type Swallow = (state: number, code: number) => number;
export const SWALLOWED_BEFORE = -1;
const SWALLOWED_WITH = -2;

/**
 * A literal near a match: the match starts at least `nearest` and at most `farthest` characters after the literal does.
 * Literals are read without regard to case, and a digit matches any digit.
 */
export interface Clue {
  readonly literal: string;
  readonly nearest: number;
  readonly farthest: number;
}

export interface SecretPattern {
  readonly kind: string;
  /** A text in which the rule matches holds one of these clues, or what this expression matches. */
  readonly sign: readonly Clue[] | RegExp;
  /** The characters a match can start with. */
  readonly first: CharacterClass;
  /** The characters a match can come after; the start of the text counts as a space. */
  readonly after: CharacterClass;
  /** May a match come after this? Asked last, since most places have failed by then. */
  mayFollow(context: string): boolean;
  match(ahead: LookAhead, at: number): number;
  readonly swallow: Swallow;
}

const ANY = characterClass("^", true);
const ALNUM = characterClass("A-Za-z0-9");
const WORD = characterClass("A-Za-z0-9_");
const DASHED = characterClass("A-Za-z0-9_-");
const DOTTED = characterClass("A-Za-z0-9_.-");
const DIGIT = characterClass("0-9");
const DOT = characterClass(".");
const CREDENTIAL = characterClass("A-Za-z0-9._~+/=-");
const PATH = characterClass("A-Za-z0-9/");
const ASSIGNED = characterClass("A-Za-z0-9_./+=~:!@#$%^*?|-");
const PASSWORD = characterClass("^\\s/?#\"'<>", true);
const IN_LOCAL_PART = "A-Za-z0-9._%+-";
const LOCAL_PART = characterClass(IN_LOCAL_PART);
const IN_DOMAIN = "A-Za-z0-9.-";
const DOMAIN = characterClass(IN_DOMAIN);
const PHONE = characterClass("0-9 ().-");
/** Eight digits, which all forms have. */
const PHONE_SIGN = /[0-9](?:[ ().-]{0,3}[0-9]){7}/;
const PEM_LABEL = characterClass("A-Z0-9 ");
const PEM_BODY = characterClass("A-Za-z0-9+/=\\s\\\\:,._@()<>-");

const prefixed: readonly (readonly [string, readonly string[], RunRule])[] = [
  ["surety", ["surety_"], atLeast(DASHED, 40)],
  ["anthropic", ["sk-ant-"], looksRandom(DASHED, 16)],
  ["openai", ["sk-"], looksRandom(DASHED, 16)],
  ["stripe", ["sk_live_", "sk_test_", "rk_live_", "rk_test_"], atLeast(ALNUM, 16)],
  ["aws", ["AKIA", "ASIA", "ABIA", "ACCA"], atLeast(characterClass("A-Z0-9"), 16)],
  ["github", ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], atLeast(ALNUM, 20)],
  ["github", ["github_pat_"], atLeast(WORD, 20)],
  ["gitlab", ["glpat-"], atLeast(DASHED, 20)],
  ["npm", ["npm_"], atLeast(ALNUM, 30)],
  ["huggingface", ["hf_"], atLeast(ALNUM, 30)],
  ["slack", ["xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxp-", "xoxr-", "xoxs-", "xapp-"], looksRandom(DASHED, 10)],
  ["google", ["AIza"], atLeast(DASHED, 35)],
  ["google", ["ya29.", "GOCSPX-"], atLeast(DASHED, 20)],
];

/** Names of secrets, each with a word that is part of it. */
const NAMED_SECRETS: readonly (readonly [string, string])[] = [
  ["key", "api[_-]?key"],
  ["secret", "secret(?:[_-]?(?:access[_-]?)?key)?"],
  ["token", "token"],
  ["passw", "passw(?:or)?d"],
  ["passphrase", "passphrase"],
  ["pwd", "pwd"],
  ["key", "(?:access|account|auth|private)[_-]?key"],
  ["credential", "credentials?"],
];
const SECRET_NAMES = NAMED_SECRETS.map(([, name]) => name).join("|");
const ASSIGNMENT = new RegExp(
  `(?<!⟦)(?:${SECRET_NAMES})\\\\{0,4}["'\`]?[ \\t]{0,8}(?:=>|:=|[:=])[ \\t]{0,8}\\\\{0,4}["'\`]?$`,
  "i",
);
const OPTION = new RegExp(`-(?:${SECRET_NAMES}) {1,3}["']?$`, "i");
const SCHEME = /(?:^|[^a-z0-9])bearer[ \t]{1,4}$/i;
const AUTHORIZATION =
  /authorization\\{0,4}["'`]?[ \t]{0,8}[:=][ \t]{0,8}\\{0,4}["'`]?(?:basic|bearer|token|digest)[ \t]{1,4}$/i;
const USER_INFO = /:\/\/[^\s/@:?#"'<>]{0,128}:$/;
const SLACK_HOOK = "hooks.slack.com/services/";
/** At most so many characters between a word of the expressions above and the value. */
const MAX_LEAD_CHARS = 40;
const MAX_USER_INFO_CHARS = 3 + 128 + 1;
/** The last character of a written escape is not part of the word after it. */
const ESCAPED_END = /(?:%[0-9a-f]{2}|\\[nrtbf]|\\u[0-9a-f]{4})$/i;

const BLANK = characterClass(" \t");
const COLON = characterClass(":");

export const SECRET_PATTERNS: readonly SecretPattern[] = [
  ...prefixed.flatMap(([kind, prefixes, rule]) => prefixes.map((prefix) => afterPrefix(kind, prefix, rule))),
  {
    kind: "jwt",
    sign: [{ literal: "eyJ", nearest: 0, farthest: 0 }],
    first: characterClass("e"),
    after: ANY,
    mayFollow: startsWord,
    match: matchJwt,
    swallow: runOf(DOTTED),
  },
  {
    kind: "telegram",
    // The last two digits of an id of 6 to 12.
    sign: [{ literal: "00:", nearest: 2 - 12, farthest: 2 - 6 }],
    first: DIGIT,
    after: characterClass("^0-9", true),
    mayFollow: () => true,
    match: matchTelegram,
    swallow: runOf(DASHED),
  },
  {
    kind: "private_key",
    sign: [{ literal: "-----BEGIN ", nearest: 0, farthest: 0 }],
    first: characterClass("-"),
    after: ANY,
    mayFollow: () => true,
    match: matchPemHeader,
    swallow: swallowPem,
  },
  afterContext("slack", [SLACK_HOOK], characterClass("/"), endsInSlackHook, atLeast(PATH, 20)),
  afterContext("authorization", ["authorization"], BLANK, endsInAuthorization, atLeast(CREDENTIAL, 8)),
  afterContext("bearer", ["bearer"], BLANK, endsInScheme, looksRandom(CREDENTIAL, 16)),
  {
    kind: "url_password",
    sign: [{ literal: "://", nearest: 0, farthest: MAX_USER_INFO_CHARS }],
    first: PASSWORD,
    after: COLON,
    mayFollow: (context) => USER_INFO.test(context),
    match: matchUrlPassword,
    swallow: () => SWALLOWED_BEFORE,
  },
  afterContext(
    "assignment",
    [...new Set(NAMED_SECRETS.map(([word]) => word))],
    characterClass("=:>\"'` \\t"),
    endsInName,
    withDigits(ASSIGNED, 16, 2),
  ),
];

export const EMAIL_PATTERNS: readonly SecretPattern[] = [
  {
    kind: "email",
    sign: new RegExp(`[${IN_LOCAL_PART}]@[${IN_DOMAIN}]*\\.[A-Za-z]{2}`),
    first: LOCAL_PART,
    after: characterClass("^A-Za-z0-9._%+-", true),
    mayFollow: () => true,
    match: matchEmail,
    swallow: () => SWALLOWED_BEFORE,
  },
];

/** International numbers, and the North American form. Other national forms look like dates and are left alone. */
export const PHONE_PATTERNS: readonly SecretPattern[] = [
  phone(characterClass("+"), characterClass("^A-Za-z0-9_+", true), /^\+ ?\(?[1-9](?:[ ().-]{0,2}[0-9]){7,14}/),
  phone(characterClass("0"), characterClass("^A-Za-z0-9_+.:/-", true), /^00 ?[1-9](?:[ ().-]{0,2}[0-9]){7,14}/),
  phone(
    characterClass("(1-9"),
    characterClass("^A-Za-z0-9_+.:/-", true),
    /^(?:1[ .-])?(?:\([0-9]{3}\) ?|[0-9]{3}[ .-])[0-9]{3}[ .-][0-9]{4}(?![0-9])/,
  ),
];

export const PATTERN_KINDS: readonly string[] = [
  ...new Set([...SECRET_PATTERNS, ...EMAIL_PATTERNS, ...PHONE_PATTERNS].map(({ kind }) => kind)),
];

function runOf(set: CharacterClass): Swallow {
  return (_, code) => (isIn(set, code) ? 0 : SWALLOWED_BEFORE);
}

function endsInSlackHook(context: string): boolean {
  return context.endsWith(SLACK_HOOK);
}

function endsInAuthorization(context: string): boolean {
  return AUTHORIZATION.test(context);
}

function endsInScheme(context: string): boolean {
  return SCHEME.test(context);
}

function endsInName(context: string): boolean {
  return ASSIGNMENT.test(context) || OPTION.test(context);
}

function startsWord(context: string): boolean {
  return !/[A-Za-z0-9]$/.test(context) || ESCAPED_END.test(context);
}

function afterPrefix(kind: string, prefix: string, rule: RunRule): SecretPattern {
  return {
    kind,
    sign: [{ literal: prefix, nearest: 0, farthest: 0 }],
    first: characterClass(prefix.charAt(0)),
    after: ANY,
    mayFollow: startsWord,
    match: (ahead, at) => {
      const from = ahead.readLiteral(at, prefix);
      return from <= NONE ? from : ahead.readUntilEnough(from, rule);
    },
    swallow: runOf(rule.set),
  };
}

function afterContext(
  kind: string,
  words: readonly string[],
  after: CharacterClass,
  mayFollow: (context: string) => boolean,
  rule: RunRule,
): SecretPattern {
  return {
    kind,
    sign: words.map((literal) => ({ literal, nearest: literal.length, farthest: literal.length + MAX_LEAD_CHARS })),
    first: rule.set,
    after,
    mayFollow,
    match: (ahead, at) => ahead.readUntilEnough(at, rule),
    swallow: runOf(rule.set),
  };
}

const JWT_PAYLOAD = atLeast(DASHED, 8);
const TELEGRAM_KEY = ofBothCases(DASHED, 30);

/** `eyJ…` (an encoded `{"`), a dot or two, and at least eight more characters. */
function matchJwt(ahead: LookAhead, at: number): number {
  const from = ahead.readLiteral(at, "eyJ");
  if (from <= NONE) return from;
  const header = ahead.readRun(from, DASHED, MAX_RUN_CHARS);
  if (header === MORE) return MORE;
  if (header - from < 8) return NONE;
  const dots = ahead.readRun(header, DOT, 2);
  if (dots === MORE) return MORE;
  return dots === header ? NONE : ahead.readUntilEnough(dots, JWT_PAYLOAD);
}

/** `123456789:AA…`; digests after a number are of one case. */
function matchTelegram(ahead: LookAhead, at: number): number {
  const id = ahead.readRun(at, DIGIT, 13);
  if (id === MORE) return MORE;
  if (id - at < 6 || id - at > 12) return NONE;
  const from = ahead.readLiteral(id, ":");
  return from <= NONE ? from : ahead.readUntilEnough(from, TELEGRAM_KEY);
}

function matchPemHeader(ahead: LookAhead, at: number): number {
  const from = ahead.readLiteral(at, "-----BEGIN ");
  if (from <= NONE) return from;
  const label = ahead.readRun(from, PEM_LABEL, 64);
  if (label === MORE) return MORE;
  return ahead.text.slice(from, label).includes("PRIVATE KEY") ? ahead.readLiteral(label, "-----") : NONE;
}

/**
 * Everything a PEM or armour block may hold, through its END line. States 0 to 4 count dashes in the body,
 * 5 is the END line's label, 6 to 9 count the dashes after it.
 */
function swallowPem(state: number, code: number): number {
  if (code === 0x2d) return state === 9 ? SWALLOWED_WITH : state + 1;
  if (state >= 5 && isIn(PEM_LABEL, code)) return 5;
  return isIn(PEM_BODY, code) ? 0 : SWALLOWED_BEFORE;
}

/** Up to the last `@` before the host, since passwords are not always encoded as they should be. */
function matchUrlPassword(ahead: LookAhead, at: number): number {
  const end = ahead.readRun(at, PASSWORD, MAX_RUN_CHARS);
  if (end === MORE) return MORE;
  const length = ahead.text.slice(at, end).lastIndexOf("@");
  return length > 0 ? at + length : NONE;
}

function matchEmail(ahead: LookAhead, at: number): number {
  const local = ahead.readRun(at, LOCAL_PART, 64);
  if (local === MORE) return MORE;
  const from = ahead.readLiteral(local, "@");
  if (from <= NONE) return from;
  const end = ahead.readRun(from, DOMAIN, 255);
  if (end === MORE) return MORE;
  const domains = [...ahead.text.slice(from, end).matchAll(/\.[A-Za-z]{2,}/g)];
  const last = domains.at(-1);
  return last === undefined || last.index === 0 ? NONE : from + last.index + last[0].length;
}

function phone(first: CharacterClass, after: CharacterClass, form: RegExp): SecretPattern {
  return {
    kind: "phone",
    sign: PHONE_SIGN,
    first,
    after,
    mayFollow: () => true,
    match: (ahead, at) => {
      const end = ahead.readRun(at + 1, PHONE, 32);
      if (end === MORE) return MORE;
      const match = form.exec(ahead.text.slice(at, end));
      return match === null ? NONE : at + match[0].length;
    },
    swallow: () => SWALLOWED_BEFORE,
  };
}
