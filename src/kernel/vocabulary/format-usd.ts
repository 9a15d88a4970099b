/** Dollars for display, exact to the millionth. */
export function formatUsd(usd: number): string {
  return `$${usd.toFixed(6).replace(/0{1,4}$/, "")}`;
}

interface Cost {
  readonly cost_usd: number | null;
  readonly known_cost_usd?: number;
  readonly is_estimate?: true;
}

/** The cost of a run, or that its model has no price; and whether it is an estimate. */
export function formatCost({ cost_usd: usd, known_cost_usd: known, is_estimate: isEstimate }: Cost): string {
  const estimate = isEstimate ? " (an estimate: some usage was not reported)" : "";
  if (usd !== null) return `${formatUsd(usd)}${estimate}`;
  // A run without a price may have delegated to a model with one.
  return `${known === undefined ? "" : `${formatUsd(known)} and more, `}price unknown${estimate}`;
}
