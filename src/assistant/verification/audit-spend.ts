/**
 * The totals that budgets are measured against are at least what the journals of ended runs used that day. They may be more: a
 * crash leaves reservations spent, and corrections have no run.
 */
import type { Entry } from "../../kernel/journal/entry.ts";
import type { Store, StoredRun } from "../../runtime/ports/store.ts";
import type { SpendAmount } from "../../runtime/ports/stored-spend.ts";
import { usedIn } from "../../runtime/spend/spend-account.ts";

export interface SpendFinding {
  readonly code: "spend.understated";
  readonly scope: string;
  readonly period: string;
  readonly ledgerSeq: null;
}

export class SpendAudit {
  readonly #used = new Map<string, Map<string, SpendAmount>>();

  /** Leaves out runs that went past midnight, since a journal does not say what counted against which day. */
  add(run: StoredRun, entries: readonly Entry[]): void {
    const day = run.createdAt.slice(0, 10);
    if (run.endedAt?.slice(0, 10) !== day || entries.at(-1)?.kind !== "TERMINATE") return;
    const { microusd, tokens } = usedIn(entries);
    const ofDay = this.#used.get(day) ?? new Map<string, SpendAmount>();
    this.#used.set(day, ofDay);
    for (const scope of ["all", `agent:${run.agentId}`, `model:${run.model}`]) {
      const before = ofDay.get(scope) ?? { microusd: 0, tokens: 0 };
      ofDay.set(scope, { microusd: before.microusd + microusd, tokens: before.tokens + tokens });
    }
  }

  async findings(store: Pick<Store, "spendTotals">): Promise<readonly SpendFinding[]> {
    const found: SpendFinding[] = [];
    for (const [period, ofDay] of this.#used) {
      const totals = new Map((await store.spendTotals(period)).map((total) => [total.scope, total]));
      for (const [scope, used] of ofDay) {
        const total = totals.get(scope) ?? { microusd: 0, tokens: 0 };
        if (total.microusd >= used.microusd && total.tokens >= used.tokens) continue;
        found.push({ code: "spend.understated", scope, period, ledgerSeq: null });
      }
    }
    return found;
  }
}
