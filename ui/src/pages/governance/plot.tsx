import { type Dominance, shapeOf } from "./dominance-mark.tsx";
import styles from "./governance.module.css";

export interface Mark {
  /** The run that triggered it. */
  readonly at: number;
  readonly cause: string;
}

interface PlotProps {
  readonly title: string;
  /** Oldest first. */
  readonly points: readonly { readonly id: string; readonly value: number; readonly dominance: Dominance }[];
  /** The values lie between 0 and this; what is above is drawn there. */
  readonly most: number;
  readonly words: (value: number) => string;
  readonly chosen: number;
  readonly marks: readonly Mark[];
}

const WIDTH = 320;
const HEIGHT = 96;
const EDGE = 10;

/** One number of the last runs between its clamps. The line is for the trend; each shape is a run. */
export function Plot({ title, points, most, words, chosen, marks }: PlotProps) {
  const x = (at: number): number => EDGE + (at / Math.max(1, points.length - 1)) * (WIDTH - 2 * EDGE);
  const y = (value: number): number => HEIGHT - EDGE - (Math.min(value, most) / most) * (HEIGHT - 2 * EDGE);
  const line = points.map(({ value }, at) => `${at === 0 ? "M" : "L"}${x(at)} ${y(value)}`).join("");
  const value = points[chosen]?.value ?? 0;
  return (
    <figure className={styles["plot"]}>
      <figcaption className={styles["head"]}>
        <span>{title}</span>
        <span>{words(value)}</span>
      </figcaption>
      <svg
        className={styles["svg"]}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`${title} of the last ${points.length} runs, between 0 and ${most}; the table below has the numbers`}
      >
        <path className={styles["clamp"]} d={`M0 ${y(0)}H${WIDTH}M0 ${y(most)}H${WIDTH}`} />
        {marks.map(({ at, cause }) => (
          <g key={`${at} ${cause}`}>
            <path className={styles["change"]} d={`M${x(at)} 0V${HEIGHT}`} />
            {cause === "rollback" && (
              <text className={styles["rollback"]} x={Math.min(x(at) + 2, WIDTH - 14)} y={10}>
                ↩
              </text>
            )}
          </g>
        ))}
        <path className={styles["line"]} d={line} />
        {points.map(({ id, value: each, dominance }, at) => (
          <path
            key={id}
            className={styles[dominance]}
            d={shapeOf(dominance, x(at), y(each), at === chosen ? 5 : 2.5)}
          />
        ))}
      </svg>
    </figure>
  );
}
