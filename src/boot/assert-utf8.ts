/**
 * Text from outside the process whose bytes were no UTF-8: whoever started us has put U+FFFD in their place.
 *
 * A text that truly holds U+FFFD looks the same by then, and is refused too: what was meant cannot be known, and a home, a
 * file or a message of another name is worse than none.
 */
import { BootError } from "./boot-error.ts";

const LOST_BYTES = "\u{fffd}";

export function assertNothingLost(name: string, text: string): void {
  if (!text.includes(LOST_BYTES)) return;
  throw new BootError(
    "invalid.request",
    `${name} holds U+FFFD, which stands for bytes that were no UTF-8`,
    "Write it in UTF-8; nothing was done.",
  );
}
