/**
 * Durations as Go writes them: decimal numbers with units, such as `1h30m`, `1.5h` or `500ms`. No sign, and no blanks.
 *
 * Computed in whole nanoseconds, so that no rounding takes a duration over a bound; what is left below a millisecond is cut.
 */
const NANOSECONDS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const PART = /(\d+)(?:\.(\d+))?(ns|us|µs|μs|ms|s|m|h)/y;
const MAX_DIGITS = 18;

/** In milliseconds; null when it is no duration. */
export function parseGoDuration(text: string): number | null {
  let total = 0n;
  PART.lastIndex = 0;
  do {
    const match = PART.exec(text);
    if (match === null) return null;
    const [, whole = "", fraction = "", unit = ""] = match;
    const size = NANOSECONDS[unit] ?? 0n;
    if (whole.length + fraction.length > MAX_DIGITS) return null;
    total += BigInt(whole) * size + (BigInt(fraction || "0") * size) / 10n ** BigInt(fraction.length);
  } while (PART.lastIndex < text.length);
  return Number(total / 1_000_000n);
}
