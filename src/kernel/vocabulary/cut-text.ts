/** Texts cut by code points, as the caps of O-6.1 count them. */
const CUT = "…";

/** At most `maxChars` code points, the mark included. */
export function cutText(text: string, maxChars: number): string {
  // Most texts are short: code units are never fewer than code points.
  if (text.length <= maxChars) return text;
  const points = [...text];
  return points.length <= maxChars ? text : `${points.slice(0, maxChars - 1).join("")}${CUT}`;
}

export function countChars(text: string): number {
  let points = 0;
  for (const _ of text) points += 1;
  return points;
}
