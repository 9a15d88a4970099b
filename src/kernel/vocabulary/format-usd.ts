/** Dollars as people read them: to the millionth, which is what is counted. */
export function formatUsd(usd: number): string {
  return `$${usd.toFixed(6).replace(/0{1,4}$/, "")}`;
}
