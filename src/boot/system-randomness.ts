/**
 * The one source of randomness: the operating system's, drawn 4 kB at a time, since a system call costs the same for one
 * byte as for thousands and every body of a run needs a salt. Bytes that were given are wiped.
 */
import { randomFillSync } from "node:crypto";
import type { RandomBytes } from "../runtime/ports/randomness.ts";

const DRAWN_BYTES = 4096;

let drawn = new Uint8Array(0);
let given = 0;

export const systemRandomness: RandomBytes = (count) => {
  if (count > DRAWN_BYTES) return randomFillSync(new Uint8Array(count));
  if (given + count > drawn.length) {
    drawn = randomFillSync(new Uint8Array(DRAWN_BYTES));
    given = 0;
  }
  const bytes = drawn.slice(given, given + count);
  drawn.fill(0, given, given + count);
  given += count;
  return bytes;
};
