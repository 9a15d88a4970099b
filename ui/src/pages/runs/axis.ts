/** Where entries stand on the run's axis of active time. A wait for a person is a gap of its own, whatever it took. */
import type { EntryRow } from "../../verify/entry-row.ts";

/** In hundredths of the axis. */
export interface Bar {
  readonly left: number;
  readonly width: number;
  /** Before the bar; null: it did not wait. */
  readonly gap: { readonly left: number; readonly width: number } | null;
}

/** Of the axis; many gaps share a third of it. */
const GAP = 12;
const ALL_GAPS = 33;

export function barsOf(rows: readonly EntryRow[]): readonly Bar[] {
  const waits = rows.filter(({ parkedMs }) => parkedMs > 0);
  const gap = Math.min(GAP, ALL_GAPS / Math.max(1, waits.length));
  const activeMs = Math.max(1, rows.at(-1)?.endMs ?? 1);
  const perMs = (100 - gap * waits.length) / activeMs;
  let gapsBefore = 0;
  // Calls are observed later than dispatched: a gap between the two is within the bar.
  const gapsAt: { readonly ms: number; readonly before: number }[] = [];
  return rows.map(({ kind, startMs, endMs, parkedMs }) => {
    const hasGap = parkedMs > 0;
    const own = gapsBefore;
    if (hasGap) {
      gapsBefore += 1;
      gapsAt.push({ ms: startMs, before: gapsBefore });
    }
    const dispatchedAfter = kind === "OBSERVE" ? (gapsAt.findLast(({ ms }) => ms <= startMs)?.before ?? 0) : own;
    const gapLeft = startMs * perMs + own * gap;
    const left = hasGap ? gapLeft + gap : startMs * perMs + dispatchedAfter * gap;
    const right = endMs * perMs + gapsBefore * gap;
    return { left, width: Math.max(0, right - left), gap: hasGap ? { left: gapLeft, width: gap } : null };
  });
}
