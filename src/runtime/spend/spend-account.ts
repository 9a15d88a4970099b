/**
 * Money and tokens: reserved before the network, settled after it.
 *
 * P1. Where a limit applies, no inference is made without a reservation that every limit allowed. The one for the next
 *     inference rides in the commit that is made anyway, for as much as it is expected to need; when its prompt is known
 *     and needs more, the rest is reserved before anything is sent.
 * P2. A reservation nobody settled (a crash) stays spent: whoever takes the run up again reserves anew, under an epoch
 *     of its own. An inference that was cut off is settled in full: the answer may have been paid for.
 * P3. Without limits nothing is reserved; what was used is still counted when the run ends. So is what a run used before it
 *     was limited, and what it settled while it was is not counted again.
 * P4. Under a limit in dollars a model without a price is not asked, unless its owner calls it free.
 */
import { type Entry, eventsOf } from "../../kernel/journal/entry.ts";
import { costOf } from "../../kernel/vocabulary/model-price.ts";
import type { ConfiguredModel, ModelUsage } from "../ports/model-backend.ts";
import type { SpendAmount, SpendScope, StoredRun, Write } from "../ports/store.ts";

export interface Spender {
  readonly agentId: string;
  readonly model: string;
  /** The job it is done for; null when a person asked. */
  readonly jobId: string | null;
}

export type Reservation = Extract<Write, { readonly type: "reserve-spend" }>;

/** Less than the least reservation: even one of nothing is asked for. */
const NOTHING_GRANTED: SpendAmount = { microusd: -1, tokens: -1 };

export interface BudgetScopes {
  /** What spending counts against on a UTC day. */
  scopesFor(spender: Spender, day: string): readonly SpendScope[];
}

/** What a run itself has used so far; what its children have is on their own account. */
export function usedIn(entries: readonly Entry[]): SpendAmount {
  const used = { microusd: 0, tokens: 0 };
  for (const event of entries.flatMap(eventsOf)) {
    if (!("usage" in event)) continue;
    used.microusd += event.usage.costMicrousd;
    used.tokens += event.usage.inputTokens + event.usage.outputTokens;
  }
  return used;
}

export class SpendAccount {
  /** Whose reservations these are: the run, and this claim of it. */
  readonly #owner: Pick<StoredRun, "runId" | "epoch">;
  readonly #model: ConfiguredModel | null;
  readonly #scopes: readonly SpendScope[];
  readonly #isLimited: boolean;
  /** Limited in dollars, and nobody says what an inference costs. */
  readonly isUnpayable: boolean;
  /** What is known to be reserved, by attempt. After a run parked it is asked for again, and found. */
  readonly #granted = new Map<number, SpendAmount>();
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
    this.isUnpayable = !isPriced && scopes.some(({ limitMicrousd }) => limitMicrousd !== null);
  }

  /** What is to be reserved before this attempt may go on the wire; null where all of it is. */
  reserve(attempt: number, usage: ModelUsage): Reservation | null {
    if (!this.#isLimited) return null;
    const amount = this.amountOf(usage);
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

  /** At the run's end: gives back what was reserved for an inference that never came, counts what was never reserved. */
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
