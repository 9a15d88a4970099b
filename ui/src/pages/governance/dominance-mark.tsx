import styles from "./governance.module.css";

export type Dominance = "GREEN" | "YELLOW" | "RED";

/** A shape each, so that they differ without colour: a circle, a triangle, a square. */
export function shapeOf(dominance: Dominance, x: number, y: number, size: number): string {
  switch (dominance) {
    case "GREEN":
      return `M${x - size} ${y}a${size} ${size} 0 1 0 ${2 * size} 0a${size} ${size} 0 1 0 ${-2 * size} 0`;
    case "YELLOW":
      return `M${x} ${y - size}l${size} ${2 * size}h${-2 * size}z`;
    case "RED":
      return `M${x - size} ${y - size}h${2 * size}v${2 * size}h${-2 * size}z`;
  }
}

export function DominanceMark({ dominance }: { dominance: Dominance }) {
  return (
    <span className={styles["dominance"]}>
      <svg viewBox="0 0 12 12" width={12} height={12} aria-hidden="true">
        <path className={styles[dominance]} d={shapeOf(dominance, 6, 6, 4)} />
      </svg>
      {dominance}
    </span>
  );
}
