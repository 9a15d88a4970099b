/**
 * Characters that an approver would not see, or would see as something else: the one definition for names, commands and
 * texts.
 *
 * C1. In a name or a command none has a place: controls, format characters, private and unassigned ones, halves of a
 *     character, letters that are drawn as nothing, and every space but the plain one. A tab is for the caller to judge.
 * C2. In a text they are counted, not refused, and there line breaks, tabs and other spaces belong.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}\u115f\u1160\u2800\u3164\uffa0]|(?! )\p{Zs}/u;
const UNSEEN_IN_TEXT = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** The first one of a name or a command. */
export function firstUnseen(text: string): string | undefined {
  return UNSEEN.exec(text)?.[0];
}

export function countUnseen(text: string): number {
  return text.match(UNSEEN_IN_TEXT)?.length ?? 0;
}
