/** Small amounts to the hundredth of a cent. */
export function dollars(usd: number): string {
  return `$${usd === 0 || usd >= 1 ? usd.toFixed(2) : usd.toFixed(4).replace(/(\.\d\d)00$/, "$1")}`;
}
