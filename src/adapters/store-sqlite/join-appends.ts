/**
 * Two commits of one run as one: what a run appends lazily goes into the row of what it appends next, so that a turn is
 * one row and one savepoint.
 *
 * J1. Only where the earlier commit is nothing but entries, and the later begins with those that follow them.
 * J2. They stand or fall together. That takes nothing from anybody: until it is synced, a lazy commit may be lost.
 */
import type { Write } from "../../runtime/ports/store.ts";
import type { WriteOf } from "./write-of.ts";

/** Null when they stay two. */
export function joinAppends(earlier: readonly Write[], later: readonly Write[]): readonly Write[] | null {
  const [first, ...more] = earlier;
  const [second, ...rest] = later;
  if (first?.type !== "append-entries" || second?.type !== "append-entries" || more.length > 0) return null;
  if (!goesOn(first, second)) return null;
  const { lines, bodies } = first;
  return [
    { ...first, lines: [...lines, ...second.lines], bodies: [...bodies, ...second.bodies], head: second.head },
    ...rest,
  ];
}

function goesOn({ runId, epoch, after, lines, head }: Append, next: Append): boolean {
  return (
    next.runId === runId &&
    next.epoch === epoch &&
    next.after.seq === after.seq + lines.length &&
    next.after.hash === head
  );
}

type Append = WriteOf<"append-entries">;
