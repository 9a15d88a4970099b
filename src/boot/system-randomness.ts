/** The one source of randomness: the operating system's. */
import { randomBytes } from "node:crypto";
import type { RandomBytes } from "../runtime/ports/randomness.ts";

export const systemRandomness: RandomBytes = (count) => randomBytes(count);
