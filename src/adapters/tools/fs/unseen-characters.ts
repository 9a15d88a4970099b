/** How many characters of a text an approver would not see, or would see as something else. */
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

export function countUnseen(text: string): number {
  return text.match(UNSEEN)?.length ?? 0;
}
