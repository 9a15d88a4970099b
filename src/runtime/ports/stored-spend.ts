/** What was spent, and against which budgets it counts. */

export interface SpendAmount {
  readonly microusd: number;
  readonly tokens: number;
}

/** A budget that spending counts against: `run:…`, `agent:…`, `job:…`, `all`; the period is a UTC day, or `ever`. */
export interface SpendScope {
  readonly scope: string;
  readonly period: string;
  readonly limitMicrousd: number | null;
  readonly limitTokens: number | null;
}

export interface SpendTotal extends SpendAmount {
  readonly scope: string;
  readonly period: string;
  /** The part that is reserved for inferences in progress. */
  readonly reserved: SpendAmount;
}
