/**
 * Counts wrong tokens by the address they come from.
 *
 * After ten of them an address has to wait before another wrong one is answered with anything but a 429, twice as long
 * each time. The right token is never held up: otherwise any program on this machine could lock the operator out. So what
 * stops guessing is the length of a token; this stops clients that go on with an old one, and programs that try a list.
 */
import { isIPv6 } from "node:net";
import type { Clock } from "../../runtime/ports/clock.ts";

const FREE = 10;
const FIRST_WAIT_MS = 1_000;
const MAX_WAIT_MS = 60_000;
const FORGET_AFTER_MS = 600_000;
const MAX_ADDRESSES = 1_000;

interface Record {
  readonly count: number;
  readonly lastMs: number;
  readonly waitUntilMs: number;
}

export class WrongTokens {
  /** The one that was wrong longest ago comes first. */
  readonly #byAddress = new Map<string, Record>();
  readonly #clock: Pick<Clock, "monotonicMs">;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** Counts one; returns how long this address has to wait, 0 if it need not. One that comes too early is not counted. */
  add(address: string | undefined): number {
    const nowMs = this.#clock.monotonicMs();
    const key = networkOf(address ?? "");
    const known = this.#byAddress.get(key);
    if (known !== undefined && known.waitUntilMs > nowMs) return known.waitUntilMs - nowMs;
    const isRecent = known !== undefined && nowMs - known.lastMs < FORGET_AFTER_MS;
    const count = isRecent ? known.count + 1 : 1;
    const waitMs = count < FREE ? 0 : Math.min(FIRST_WAIT_MS * 2 ** (count - FREE), MAX_WAIT_MS);
    this.#byAddress.delete(key);
    this.#byAddress.set(key, { count, lastMs: nowMs, waitUntilMs: nowMs + waitMs });
    const [oldest = ""] = this.#byAddress.keys();
    if (this.#byAddress.size > MAX_ADDRESSES) this.#byAddress.delete(oldest);
    return 0;
  }
}

/** All of 127.0.0.0/8 is this machine, which any program on it may send from. */
const LOOPBACK = "127.0.0.0/8";

/** An IPv6 host has 2^64 addresses of its own: they count as one. */
export function networkOf(address: string): string {
  const [text = ""] = address.replace(/^::ffff:(?=[0-9.]+$)/, "").split("%");
  if (!isIPv6(text)) return text.startsWith("127.") ? LOOPBACK : text;
  const [before = [], after] = text.split("::").map((half) => half.split(":").filter((group) => group !== ""));
  const groups =
    after === undefined ? before : [...before, ...Array(8 - before.length - after.length).fill("0"), ...after];
  return groups.slice(0, 4).join(":");
}
