/**
 * How many links does a text hold? Asked before a message may go out unapproved, so doubt counts as a link.
 *
 * K1. A link is whatever some client would make one of, or a reader could follow: an address with a scheme, a name with
 *     a dot in it, an e-mail address or a handle, an IP address, markup, and a dot that is only written about.
 * K2. It is looked for in what a reader sees: invisible characters are taken out, look-alike forms are made plain.
 */
const LINK = new RegExp(
  [
    // https://…, mailto:x; bounded, so that a long word is not read again from each of its letters
    String.raw`\b[a-z][a-z0-9+.-]{1,30}:(?=\S)`,
    "//",
    // example.org, 10.0.0.1; also "end.Next", which is a doubt. A full stop of other scripts ends a name in Latin letters
    String.raw`[\p{L}\p{N}_-]\s?\.(?=[\p{L}\p{N}])`,
    "。(?=[a-z0-9])",
    String.raw`\bwww\b`,
    // bob@example.org, @bob
    String.raw`@(?=\S)`,
    // example[.]org, example (dot) org, example dot org
    String.raw`[[({]\s*(?:[.。]|dot)\s*[\])}]`,
    String.raw`\bdot\s+(?=[a-z]{2,})`,
    // [here](…), <a …>, [::1]
    String.raw`\]\s*\(`,
    "<(?=[a-z/!])",
    String.raw`\[[0-9a-f]*:[0-9a-f:.]*\]`,
  ].join("|"),
  "giu",
);
const UNSEEN = /[\p{Cf}\p{Mn}\u{115f}\u{1160}\u{3164}\u{ffa0}]/gu;

export function countLinks(text: string): number {
  return text.replace(UNSEEN, "").normalize("NFKC").match(LINK)?.length ?? 0;
}
