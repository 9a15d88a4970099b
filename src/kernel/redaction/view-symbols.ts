/**
 * The digits of several views in one alphabet of symbols, so that one filter stands for all of them.
 *
 * Y1. Bytes that some view takes for the same digit are the same symbol.
 * Y2. What some view passes over is left out, and so is every byte that is the same symbol.
 * So digits that stand in a row in a view are symbols in a row, but for those left out of text and needle alike.
 */
import { LEFT_OUT, MAX_SYMBOL } from "./gram-set.ts";
import { SKIPPED } from "./secret-encodings.ts";

/** Letters and digits come first, and so have symbols of their own; there are more bytes than symbols. */
const FIRST_BYTE = 0x30;

/** By byte. Each reading says what a byte means in one view. */
export function symbolsOf(readings: readonly (readonly number[])[]): Uint8Array {
  const leaders = leadersOf(readings);
  const isLeft = new Set(readings.flatMap((reading) => leaders.filter((_, byte) => reading[byte] === SKIPPED)));
  const symbols = new Uint8Array(256);
  let count = 0;
  for (let turn = 0; turn < 256; turn += 1) {
    const byte = (FIRST_BYTE + turn) % 256;
    const leader = leaders[byte] as number;
    if (isLeft.has(leader)) continue;
    if (symbols[leader] === LEFT_OUT) {
      symbols[leader] = 1 + (count % MAX_SYMBOL);
      count += 1;
    }
    symbols[byte] = symbols[leader] as number;
  }
  return symbols;
}

/** The symbols of a view's digits. */
export function symbolOfDigit(reading: readonly number[], symbols: Uint8Array): (digit: number) => number {
  const ofDigit = new Uint8Array(256);
  for (let byte = 0; byte < 256; byte += 1) {
    const digit = reading[byte] as number;
    if (digit >= 0) ofDigit[digit] = symbols[byte] as number;
  }
  return (digit) => ofDigit[digit] as number;
}

/** For each byte one that is the same symbol, the same for all of them. */
function leadersOf(readings: readonly (readonly number[])[]): readonly number[] {
  const above = Array.from({ length: 256 }, (_, byte) => byte);
  const leaderOf = (byte: number): number => {
    let leader = byte;
    while (above[leader] !== leader) leader = above[leader] as number;
    return leader;
  };
  for (const reading of readings) {
    const firstOf = new Map<number, number>();
    for (let byte = 0; byte < 256; byte += 1) {
      const digit = reading[byte] as number;
      if (digit < 0) continue;
      above[leaderOf(byte)] = leaderOf(firstOf.get(digit) ?? byte);
      if (!firstOf.has(digit)) firstOf.set(digit, byte);
    }
  }
  return above.map((_, byte) => leaderOf(byte));
}
