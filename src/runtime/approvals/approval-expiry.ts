/**
 * ApprovalExpiry denies questions that were not answered by their deadline. It owns the timer for the earliest deadline, and
 * repeats a sweep that failed.
 */
import type { StoredApproval } from "../ports/store.ts";
import type { RunPorts } from "../run-ports.ts";

const PAGE = 200;
const RETRY_MS = 1_000;

export class ApprovalExpiry {
  readonly #ports: Pick<RunPorts, "store" | "clock">;
  readonly #expire: (approval: StoredApproval, nowMs: number) => Promise<void>;
  #disarm: () => void = () => {};
  #armedFor = Number.POSITIVE_INFINITY;
  #isStopped = false;
  /** A sweep has seen every question; each one asked since has called `watch`. */
  #isComplete = false;

  constructor(
    ports: Pick<RunPorts, "store" | "clock">,
    expire: (approval: StoredApproval, nowMs: number) => Promise<void>,
  ) {
    this.#ports = ports;
    this.#expire = expire;
  }

  /** Known without reading the store. */
  get isNonePending(): boolean {
    return this.#isComplete && this.#armedFor === Number.POSITIVE_INFINITY;
  }

  watch(expiresAtMs: number): void {
    this.#arm(Math.min(this.#armedFor, expiresAtMs));
  }

  /** Denies what has expired, and arms the timer for the next deadline. */
  async sweep(): Promise<void> {
    const { store, clock } = this.#ports;
    // Questions asked during the sweep call `watch` themselves.
    this.#isComplete = false;
    this.#arm(Number.POSITIVE_INFINITY);
    let next = Number.POSITIVE_INFINITY;
    for (let offset = 0; ; ) {
      const page = await store.pendingApprovals({ limit: PAGE, offset });
      for (const approval of page) {
        const nowMs = clock.nowMs();
        if (nowMs < approval.expiresAtMs) {
          next = Math.min(next, approval.expiresAtMs);
          offset += 1;
        } else {
          await this.#expire(approval, nowMs);
        }
      }
      if (page.length < PAGE) break;
    }
    this.watch(next);
    this.#isComplete = true;
  }

  stop(): void {
    this.#isStopped = true;
    this.#disarm();
  }

  #arm(atMs: number): void {
    this.#disarm();
    this.#armedFor = atMs;
    if (!Number.isFinite(atMs) || this.#isStopped) return;
    const { clock } = this.#ports;
    this.#disarm = clock.wake(Math.max(0, atMs - clock.nowMs()), () => {
      // After a failure of the medium the runtime stops us; a busy store can be read again.
      this.sweep().catch(() => this.watch(clock.nowMs() + RETRY_MS));
    });
  }
}
