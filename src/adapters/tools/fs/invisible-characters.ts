/**
 * Characters that an approver would not see, or would mistake for others: the one definition for names, commands and
 * texts.
 *
 * Names and commands may hold none of them: controls, format characters, private and unassigned ones, lone surrogates,
 * blank letters, and every space but the plain one. In texts they are counted, and line breaks, tabs and other spaces are
 * allowed.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}\u115f\u1160\u2800\u3164\uffa0]|(?! )\p{Zs}/u;
const INVISIBLE_IN_TEXT = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

export function firstInvisible(text: string): string | undefined {
  return INVISIBLE.exec(text)?.[0];
}

export function countInvisible(text: string): number {
  return text.match(INVISIBLE_IN_TEXT)?.length ?? 0;
}
