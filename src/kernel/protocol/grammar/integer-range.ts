/** Whole numbers between two bounds, as an expression of GBNF. Without leading zeros, and without -0. */

/** JavaScript and JSON readers hold all integers of up to 15 digits. */
export const LARGEST = 999_999_999_999_999;

export function integerBetween(least: number, most: number): string {
  const from = Math.max(Math.ceil(least), -LARGEST);
  const to = Math.min(Math.floor(most), LARGEST);
  const negative = from < 0 ? [`"-" (${naturalBetween(Math.max(1, -to), -from)})`] : [];
  const natural = to >= 0 ? [naturalBetween(Math.max(0, from), to)] : [];
  return [...negative, ...natural].join(" | ");
}

function naturalBetween(from: number, to: number): string {
  const parts: string[] = [];
  for (let low = from; low <= to; ) {
    const digits = String(low).length;
    const high = Math.min(to, 10 ** digits - 1);
    parts.push(sameLength(String(low), String(high)));
    low = high + 1;
  }
  return parts.join(" | ");
}

/** Both have as many digits. */
function sameLength(from: string, to: string): string {
  if (from === to) return from === "" ? '""' : `"${from}"`;
  const [low = "", high = ""] = [from[0], to[0]];
  const [lower, upper] = [from.slice(1), to.slice(1)];
  if (low === high) return `"${low}" (${sameLength(lower, upper)})`;
  const isFromWhole = /^0*$/.test(lower);
  const isToWhole = /^9*$/.test(upper);
  const first = isFromWhole ? Number(low) : Number(low) + 1;
  const last = isToWhole ? Number(high) : Number(high) - 1;
  return [
    ...(isFromWhole ? [] : [`"${low}" (${sameLength(lower, "9".repeat(lower.length))})`]),
    ...(first > last ? [] : [`[${first}-${last}]${anyDigits(lower.length)}`]),
    ...(isToWhole ? [] : [`"${high}" (${sameLength("0".repeat(upper.length), upper)})`]),
  ].join(" | ");
}

function anyDigits(count: number): string {
  return count === 0 ? "" : ` [0-9]{${count}}`;
}
