/** Dollars as people read them: to the millionth, which is what is counted. */
export function formatUsd(usd: number): string {
  return `$${usd.toFixed(6).replace(/0{1,4}$/, "")}`;
}

/** What so many tokens cost; where nobody named the price of a model, that is said, and no sum is made up. */
export function formatCost(tokens: number, usd: number, isPriced: boolean): string {
  if (isPriced || tokens === 0) return formatUsd(usd);
  // A run without a price may have delegated to a model with one.
  return usd === 0 ? "price unknown" : `${formatUsd(usd)} and more, price unknown`;
}
