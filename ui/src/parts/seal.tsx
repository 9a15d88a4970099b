import { classes } from "./classes.ts";
import styles from "./seal.module.css";

const TICKS = 7;
const GAP = 12;

const ARCS = Array.from({ length: TICKS }, (_, at) =>
  arc((at * 360) / TICKS + GAP / 2, ((at + 1) * 360) / TICKS - GAP / 2),
);

interface SealProps {
  readonly size?: number;
  /** Ticks that are filled: the states a run has been through. */
  readonly ticks?: number;
  /** Checked by this page: the ring is closed. Colour it with the text colour around. */
  readonly closed?: boolean;
}

/** The mark: a ring of seven ticks, one a state; closed when verified. Decoration: put the words beside it. */
export function Seal({ size = 20, ticks = TICKS, closed = false }: SealProps) {
  return (
    <svg className={styles["seal"]} width={size} height={size} viewBox="0 0 24 24" fill="none" aria-hidden="true">
      {closed ? (
        <circle className={styles["done"]} cx="12" cy="12" r="9" strokeWidth="2.4" />
      ) : (
        ARCS.map((path, at) => (
          <path
            key={path}
            className={classes(styles["tick"], at < ticks && styles["done"])}
            d={path}
            strokeWidth="2.4"
          />
        ))
      )}
      {closed && <circle className={styles["centre"]} cx="12" cy="12" r="3.4" />}
    </svg>
  );
}

function arc(from: number, to: number): string {
  const at = (degrees: number): string => {
    const radians = ((degrees - 90) * Math.PI) / 180;
    return `${(12 + 9 * Math.cos(radians)).toFixed(2)} ${(12 + 9 * Math.sin(radians)).toFixed(2)}`;
  };
  return `M ${at(from)} A 9 9 0 0 1 ${at(to)}`;
}
