/**
 * Counts the links in a text. It decides whether a message may go out unapproved, so doubtful cases count.
 *
 * A link is whatever a client would turn into one or a reader could follow: a scheme, a name with a dot, an e-mail
 * address or handle, an IP address, markup, and a spelled-out dot. Invisible characters are removed and look-alikes
 * normalized first.
 */
const LINK = new RegExp(
  [
    // https://…, mailto:x; bounded, so that a long word is not scanned again from each letter
    String.raw`\b[a-z][a-z0-9+.-]{1,30}:(?=\S)`,
    "//",
    // example.org, 10.0.0.1; also "end.Next", to be safe. An ideographic full stop can also end a Latin name
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
const INVISIBLE = /[\p{Cf}\p{Mn}\u{115f}\u{1160}\u{3164}\u{ffa0}]/gu;

export function countLinks(text: string): number {
  return text.replace(INVISIBLE, "").normalize("NFKC").match(LINK)?.length ?? 0;
}
