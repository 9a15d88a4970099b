import { useEffect, useState } from "react";
import { classes } from "./classes.ts";
import { HostileText } from "./hostile-text.tsx";
import styles from "./line-diff.module.css";

export interface DiffLine {
  readonly kind: "added" | "removed" | "same";
  readonly text: string;
}

/** Texts that differ in more lines are shown one after the other: finding what they share would hold up the page. */
const MAX_DIFFERENCES = 4_000;
/** Equal lines that stay around a change. */
const CONTEXT = 2;
const ELEMENTS = { added: "ins", removed: "del", same: "div" } as const;

interface LineDiffProps {
  readonly label: string;
  readonly before: string;
  readonly after: string;
}

/** Two texts line by line: what goes is struck out, what comes is marked. Equal lines far from a change are counted. */
export function LineDiff({ label, before, after }: LineDiffProps) {
  const lines = useLineDiff(before, after);
  return (
    <section className={styles["diff"]} aria-label={label} tabIndex={0}>
      <DiffRows lines={lines ?? []} />
    </section>
  );
}

/** Null: not compared yet, or `before` is. */
export function useLineDiff(before: string | null, after: string): readonly DiffLine[] | null {
  const [lines, setLines] = useState<readonly DiffLine[] | null>(null);
  useEffect(() => {
    let isWanted = true;
    setLines(null);
    if (before === null) return;
    import("diff").then(({ diffLines }) => {
      const whole = [
        { value: before, removed: true },
        { value: after, added: true },
      ];
      if (isWanted) setLines(linesOf(diffLines(before, after, { maxEditLength: MAX_DIFFERENCES }) ?? whole));
    });
    return () => {
      isWanted = false;
    };
  }, [before, after]);
  return lines;
}

export function DiffRows({ lines }: { lines: readonly DiffLine[] }) {
  return folded(lines).map(({ at, line, count }) => {
    if (line === null) {
      return (
        <div key={at} className={styles["folded"]}>
          {count} {count === 1 ? "line" : "lines"} unchanged
        </div>
      );
    }
    const Element = ELEMENTS[line.kind];
    return (
      <Element key={at} className={classes(styles["line"], styles[line.kind])}>
        <span className={styles["text"]}>
          <HostileText text={line.text} isDeciding />
        </span>
      </Element>
    );
  });
}

interface Part {
  readonly value: string;
  readonly added?: boolean;
  readonly removed?: boolean;
}

function linesOf(parts: readonly Part[]): readonly DiffLine[] {
  return parts.flatMap(({ value, added, removed }) => {
    const kind = added === true ? "added" : removed === true ? "removed" : "same";
    return value
      .replace(/\n$/, "")
      .split("\n")
      .map((text): DiffLine => ({ kind, text }));
  });
}

interface Row {
  readonly at: number;
  /** Null: equal lines that are only counted. */
  readonly line: DiffLine | null;
  readonly count: number;
}

function folded(lines: readonly DiffLine[]): readonly Row[] {
  const isNear = (at: number): boolean =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(({ kind }) => kind !== "same");
  const rows: Row[] = [];
  for (const [at, line] of lines.entries()) {
    const last = rows.at(-1);
    if (isNear(at)) rows.push({ at, line, count: 1 });
    else if (last?.line === null) rows[rows.length - 1] = { ...last, count: last.count + 1 };
    else rows.push({ at, line: null, count: 1 });
  }
  return rows;
}
