/** The first line of a text that looks like a secret, by its shape. The secret itself is not part of what is found. */
import type { Redactor } from "../../../kernel/redaction/redact.ts";

export interface FoundSecret {
  readonly line: number;
  readonly kinds: readonly string[];
}

export function findSecret(redactor: Pick<Redactor, "redactText">, text: string): FoundSecret | null {
  const { text: redacted, found } = redactor.redactText(text);
  if (found.length === 0) return null;
  let at = 0;
  while (at < text.length && text[at] === redacted[at]) at += 1;
  return { line: text.slice(0, at).split("\n").length, kinds: found };
}
