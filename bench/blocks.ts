/**
 * A measurement beside its baseline: blocks of baseline, subject, baseline again, one after another, so that a noisy
 * machine disturbs both alike. The two baselines of a block tell how far a measurement strays from itself.
 */
export type Measure<Figure> = () => Promise<Figure> | Figure;

export interface Block<Figure> {
  readonly subject: Figure;
  readonly baseline: Figure;
  readonly again: Figure;
}

export async function measureBlocks<Figure>(
  blocks: number,
  subject: Measure<Figure>,
  baseline: Measure<Figure>,
): Promise<readonly Block<Figure>[]> {
  // Code that has not been compiled yet measures the compiler.
  await baseline();
  await subject();
  const measured: Block<Figure>[] = [];
  for (let block = 0; block < blocks; block += 1) {
    const first = await baseline();
    const middle = await subject();
    measured.push({ subject: middle, baseline: first, again: await baseline() });
  }
  return measured;
}

export interface Ratio {
  readonly value: number;
  readonly spread: number;
}

/** Subject ÷ baseline, the median over the blocks; its spread is that of a baseline over its own repeat. */
export function ratioOf(blocks: readonly Block<number>[]): Ratio {
  const value = median(blocks.map(({ subject, baseline, again }) => subject / ((baseline + again) / 2)));
  return { value, spread: value * median(blocks.map(({ baseline, again }) => Math.abs(again / baseline - 1))) };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

export async function elapsedMs(work: () => Promise<unknown> | unknown): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
