/**
 * Money and tokens of one run: reserved before the network, settled after it.
 *
 * Under a limit, every inference needs a reservation that all limits allow. The next one rides in a commit that is made
 * anyway, for its expected need; if the prompt turns out to need more, the rest is reserved before anything is sent. A
 * reservation that a crash left open stays spent: the next claim of the run reserves again, under its own epoch. An
 * inference that was cut off is settled in full, since it may have been billed.
 *
 * Without limits nothing is reserved, and usage is counted when the run ends. Usage from before a limit applied is counted
 * then too; what was settled is not counted twice. A limit in dollars excludes models that have no price and are not
 * declared free.
 */
import { type Entry, eventsOf } from "../../kernel/journal/entry.ts";
import { usagesOf } from "../../kernel/journal/event.ts";
import type { CallId } from "../../kernel/vocabulary/identifiers.ts";
import { costOf } from "../../kernel/vocabulary/model-price.ts";
import type { ConfiguredModel, ModelUsage } from "../ports/model-backend.ts";
import type { StoredRun, Write } from "../ports/store.ts";
import type { SpendAmount, SpendScope } from "../ports/stored-spend.ts";

export interface Spender {
  readonly agentId: string;
  readonly model: string;
  /** The job that started the run; null for a person's request. */
  readonly jobId: string | null;
}

export type Reservation = Extract<Write, { readonly type: "reserve-spend" }>;

/** Below every amount, so that even a reservation of zero is made. */
const NOTHING_GRANTED: SpendAmount = { microusd: -1, tokens: -1 };

export interface BudgetScopes {
  /** The scopes that spending counts against on a UTC day. */
  scopesFor(spender: Spender, day: string): readonly SpendScope[];
}

/** What a run has used so far, without its children: they have accounts of their own. */
export function usedIn(entries: readonly Entry[]): SpendAmount {
  const used = { microusd: 0, tokens: 0 };
  for (const event of entries.flatMap(eventsOf)) {
    for (const { costMicrousd, inputTokens, outputTokens } of usagesOf(event)) {
      used.microusd += costMicrousd;
      used.tokens += inputTokens + outputTokens;
    }
  }
  return used;
}

export class SpendAccount {
  /** The run, and this claim of it. */
  readonly #owner: Pick<StoredRun, "runId" | "epoch">;
  readonly #model: ConfiguredModel | null;
  readonly #scopes: readonly SpendScope[];
  readonly #isLimited: boolean;
  /** A limit in dollars applies: models without a price cannot be paid. */
  readonly refusesUnpriced: boolean;
  /** The run's own model is such a one. */
  readonly isUnpayable: boolean;
  /** Known reservations, by attempt. A run that parked reserves again, and the store finds the earlier one. */
  readonly #granted = new Map<number, SpendAmount>();
  readonly #summaries = new Map<CallId, { readonly attempt: number; readonly most: SpendAmount }>();
  readonly #usedBefore: SpendAmount;
  #used: SpendAmount;

  constructor(
    { runId, epoch }: Pick<StoredRun, "runId" | "epoch">,
    model: ConfiguredModel | null,
    scopes: readonly SpendScope[],
    usedBefore: SpendAmount,
  ) {
    this.#owner = { runId, epoch };
    this.#usedBefore = usedBefore;
    this.#used = usedBefore;
    this.#model = model;
    this.#scopes = scopes;
    this.#isLimited = scopes.some(({ limitMicrousd, limitTokens }) => limitMicrousd !== null || limitTokens !== null);
    const isPriced = model === null || model.price !== null || model.isFree;
    this.refusesUnpriced = scopes.some(({ limitMicrousd }) => limitMicrousd !== null);
    this.isUnpayable = !isPriced && this.refusesUnpriced;
  }

  /** The reservation this attempt still needs before it may go on the wire; null for none. */
  reserve(attempt: number, usage: ModelUsage): Reservation | null {
    return this.reserveAmount(attempt, this.amountOf(usage));
  }

  /** For a model other than the run's own. */
  reserveAmount(attempt: number, amount: SpendAmount): Reservation | null {
    if (!this.#isLimited) return null;
    const { microusd, tokens } = this.#granted.get(attempt) ?? NOTHING_GRANTED;
    if (amount.microusd <= microusd && amount.tokens <= tokens) return null;
    return { type: "reserve-spend", ...this.#owner, attempt, amount, scopes: this.#scopes };
  }

  grant({ attempt, amount: { microusd, tokens } }: Reservation): void {
    const known = this.#granted.get(attempt) ?? NOTHING_GRANTED;
    this.#granted.set(attempt, {
      microusd: Math.max(known.microusd, microusd),
      tokens: Math.max(known.tokens, tokens),
    });
  }

  settle(attempt: number, used: SpendAmount): readonly Write[] {
    this.#used = { microusd: this.#used.microusd + used.microusd, tokens: this.#used.tokens + used.tokens };
    return this.#isLimited ? [{ type: "settle-spend", ...this.#owner, attempt, amount: used }] : [];
  }

  /** A summarizer is asked about this call's output, for at most this. */
  beginSummary(callId: CallId, attempt: number, most: SpendAmount): void {
    this.#summaries.set(callId, { attempt, most });
  }

  /** The call is over; null: its summarizer was cut off, and may have been billed in full. */
  settleSummary(callId: CallId, used: SpendAmount | null): readonly Write[] {
    const asked = this.#summaries.get(callId);
    if (asked === undefined) return [];
    this.#summaries.delete(callId);
    return this.settle(asked.attempt, used ?? asked.most);
  }

  /** At the run's end: releases the reservation of an inference that was never made, counts unreserved usage. */
  close(): readonly Write[] {
    const release: readonly Write[] = this.#isLimited ? [{ type: "release-spend", ...this.#owner }] : [];
    const unreserved = this.#isLimited ? this.#usedBefore : this.#used;
    if (unreserved.tokens === 0) return release;
    return [...release, { type: "count-spend", runId: this.#owner.runId, amount: this.#used, scopes: this.#scopes }];
  }

  amountOf(usage: ModelUsage): SpendAmount {
    return { microusd: costOf(this.#model?.price ?? null, usage), tokens: usage.inputTokens + usage.outputTokens };
  }
}
