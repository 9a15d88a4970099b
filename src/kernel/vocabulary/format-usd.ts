/** Dollars for display, exact to the millionth. */
export function formatUsd(usd: number): string {
  return `$${usd.toFixed(6).replace(/0{1,4}$/, "")}`;
}

/** The cost of these tokens, or that the model has no price. */
export function formatCost(tokens: number, usd: number, isPriced: boolean): string {
  if (isPriced || tokens === 0) return formatUsd(usd);
  // A run without a price may have delegated to a model with one.
  return usd === 0 ? "price unknown" : `${formatUsd(usd)} and more, price unknown`;
}
