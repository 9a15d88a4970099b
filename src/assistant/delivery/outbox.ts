/**
 * Outbox delivers what waits for channels. Each channel is served by itself, its messages in order.
 *
 * D1. That an attempt begins is durable before it does. After a crash the message is ambiguous: it may have gone out.
 * D2. Nothing that may have gone out is sent again by itself, unless the channel drops repeats of one key.
 * D3. What was not sent is tried again, later and later; after the last attempt it has failed, and says why.
 * D4. While a recipient's message waits to be tried again, later ones to the same recipient wait behind it.
 * D5. A row is believed as far as ledger and journal vouch for it (row-agreement.ts); otherwise it is not sent, and has failed.
 *     So what was sent stays sent, whatever another program writes into its row.
 */
import { type Channel, ChannelError } from "../../runtime/ports/channel.ts";
import { type Clock, timestampOf } from "../../runtime/ports/clock.ts";
import { type Store, StoreError } from "../../runtime/ports/store.ts";
import type { OutboxRow, OutboxState } from "../../runtime/ports/stored-delivery.ts";
import type { MailApprovals } from "./mail-approvals.ts";
import { CHANGED, findDisagreement } from "./row-agreement.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
/** Before each further attempt. */
const BACKOFF_MS = [5 * SECOND_MS, 30 * SECOND_MS, 2 * MINUTE_MS, 10 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS] as const;
const PAGE = { limit: 100, offset: 0 } as const;
const INTERRUPTED = "Surety was interrupted while it was being sent.";

export interface OutboxParts {
  readonly store: Store;
  readonly clock: Pick<Clock, "nowMs" | "wake">;
  readonly channels: () => readonly Channel[];
  readonly mailApprovals: MailApprovals;
  readonly onSent: (row: OutboxRow) => void;
  readonly onDefect: (error: unknown) => void;
}

export class Outbox {
  readonly #parts: OutboxParts;
  readonly #stopping = new AbortController();
  /** Channels being served; the value says whether something came meanwhile. */
  readonly #serving = new Map<string, { again: boolean; readonly ended: Promise<void> }>();
  readonly #timers = new Map<string, () => void>();
  /** Channels of which this process knows what was under way before it. */
  readonly #settled = new Set<string>();
  #isOpen = false;

  constructor(parts: OutboxParts) {
    this.#parts = parts;
  }

  /** First of all, what was being sent when the last process ended. Called again when the channels have changed. */
  async start(): Promise<void> {
    for (const { name, idempotency } of this.#parts.channels()) {
      if (this.#settled.has(name)) continue;
      this.#settled.add(name);
      for (let offset = 0; ; offset += PAGE.limit) {
        const rows = await this.#parts.store.openOutbox(name, { ...PAGE, offset });
        const begun = rows.filter(({ state }) => state === "sending");
        for (const row of begun) {
          if (row.isForged) await this.#move(row, "failed", CHANGED);
          else await this.#move(row, idempotency === "keyed" ? "waiting" : "ambiguous", { problem: INTERRUPTED });
        }
        // Those that became ambiguous or failed are no longer listed.
        offset -= begun.filter(({ isForged }) => isForged || idempotency === "opaque").length;
        if (rows.length < PAGE.limit) break;
      }
    }
    this.#isOpen = true;
    this.wake();
  }

  /** Something may have to be sent. */
  wake(): void {
    if (this.#isOpen) for (const { name } of this.#parts.channels()) this.#serve(name);
  }

  /** A message under way is waited for; then it is stopped, and becomes ambiguous. */
  async stop(graceMs: number): Promise<void> {
    this.#isOpen = false;
    for (const disarm of this.#timers.values()) disarm();
    const cancel = this.#parts.clock.wake(graceMs, () => this.#stopping.abort());
    await Promise.all([...this.#serving.values()].map(({ ended }) => ended));
    cancel();
  }

  #serve(name: string): void {
    const serving = this.#serving.get(name);
    if (serving !== undefined) {
      serving.again = true;
      return;
    }
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const state = { again: false, ended };
    this.#serving.set(name, state);
    this.#drain(name)
      .catch((error: unknown) => {
        // A failing store is the runtime's to report; the next start begins again from what is stored.
        if (!(error instanceof StoreError)) this.#parts.onDefect(error);
      })
      .then(() => {
        this.#serving.delete(name);
        resolve();
        if (state.again && this.#isOpen) this.#serve(name);
      });
  }

  async #drain(name: string): Promise<void> {
    for (let next = await this.#next(name); next !== null; next = await this.#next(name)) {
      const channel = this.#parts.channels().find((each) => each.name === name);
      if (channel === undefined) return;
      await this.#attempt(channel, next);
    }
  }

  /** The first message that may be sent now. Arms the timer for the first that may be sent later. */
  async #next(name: string): Promise<OutboxRow | null> {
    if (!this.#isOpen) return null;
    const { store, clock, mailApprovals } = this.#parts;
    const nowMs = clock.nowMs();
    const behind = new Set<string>();
    let earliestMs = Number.POSITIVE_INFINITY;
    for (const row of await store.openOutbox(name, PAGE)) {
      if (row.isForged) {
        await this.#move(row, "failed", CHANGED);
        continue;
      }
      if (row.state === "waiting_approval" && !(await this.#isApproved(row, mailApprovals))) continue;
      const { address, type } = row.recipient;
      const recipient = `${type} ${address}`;
      if (row.state !== "sending" && row.nextAtMs <= nowMs && !behind.has(recipient))
        return { ...row, state: "waiting" };
      behind.add(recipient);
      if (row.state === "waiting") earliestMs = Math.min(earliestMs, row.nextAtMs);
    }
    this.#timers.get(name)?.();
    if (Number.isFinite(earliestMs)) {
      this.#timers.set(
        name,
        clock.wake(Math.max(SECOND_MS, earliestMs - nowMs), () => this.wake()),
      );
    }
    return null;
  }

  async #isApproved(row: OutboxRow, approvals: MailApprovals): Promise<boolean> {
    const verdict = await approvals.verdictOn(row);
    if (verdict.is === "denied") await this.#move(row, "failed", { problem: verdict.why });
    if (verdict.is !== "allowed") return false;
    await this.#move(row, "waiting", {}, [verdict.consume]);
    return true;
  }

  async #attempt(channel: Channel, row: OutboxRow): Promise<void> {
    const { store, onSent, onDefect } = this.#parts;
    const { recipient, text, id } = row;
    const disagreement = await findDisagreement(store, row, channel.channelClass);
    if (disagreement !== null) {
      await this.#move(row, "failed", { problem: disagreement.problem });
      return;
    }
    await this.#move(row, "sending");
    const begun = { ...row, state: "sending", attempts: row.attempts + 1 } as const;
    try {
      const message = { recipient, text: text ?? "", templateId: null, attachments: [], idempotencyKey: id };
      await channel.send(message, this.#stopping.signal);
    } catch (error) {
      if (!(error instanceof ChannelError)) onDefect(error);
      await this.#failed(channel, begun, error);
      return;
    }
    await this.#move(begun, "sent");
    onSent(begun);
  }

  async #failed({ idempotency }: Channel, row: OutboxRow, error: unknown): Promise<void> {
    const isOurs = error instanceof ChannelError;
    const problem = isOurs ? error.message : "Sending failed with a defect; see the log.";
    const code = isOurs ? error.code : "channel.unknown";
    const mayRepeat = code === "channel.unavailable" || (code === "channel.unknown" && idempotency === "keyed");
    const pauseMs = BACKOFF_MS[row.attempts - 1];
    if (mayRepeat && pauseMs !== undefined) {
      await this.#move(row, "waiting", { problem, nextAtMs: this.#parts.clock.nowMs() + pauseMs });
    } else {
      await this.#move(row, code === "channel.unknown" ? "ambiguous" : "failed", { problem });
    }
  }

  async #move(
    { id, state: from }: OutboxRow,
    to: OutboxState,
    { nextAtMs = 0, problem = null }: { readonly nextAtMs?: number; readonly problem?: string | null } = {},
    also: Parameters<Store["commit"]>[0] = [],
  ): Promise<void> {
    const { store, clock } = this.#parts;
    const at = timestampOf(clock.nowMs());
    await store.commit([...also, { type: "move-outbox", id, from, to, nextAtMs, problem, at }], "barrier");
  }
}
