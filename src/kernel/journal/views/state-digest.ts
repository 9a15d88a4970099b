/** The state digest (M-D, M-P3): equal digests mean that interface and runtime speak of the same state of the same run. */
import { hashCanonical } from "../../vocabulary/hash.ts";
import type { Hash } from "../../vocabulary/identifiers.ts";
import { toWire } from "../../vocabulary/wire-case.ts";
import type { RunSnapshot } from "./run-snapshot.ts";

export function digestOf(snapshot: RunSnapshot): Hash {
  return hashCanonical(toWire(snapshot));
}
