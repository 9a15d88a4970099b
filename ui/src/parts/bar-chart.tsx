import styles from "./bar-chart.module.css";
import { Table } from "./table.tsx";

interface Bar {
  readonly name: string;
  readonly value: number;
}

interface BarChartProps {
  readonly label: string;
  /** From left to right. */
  readonly bars: readonly Bar[];
  readonly words: (value: number) => string;
}

const HEIGHT = 96;
/** What is more than nothing is seen. */
const LEAST = 2;

/** Values side by side over one axis; the same as a table, for those who want the numbers. */
export function BarChart({ label, bars, words }: BarChartProps) {
  const most = Math.max(0, ...bars.map(({ value }) => value));
  const width = 1_000 / Math.max(1, bars.length);
  const height = (value: number): number => (value <= 0 ? 0 : Math.max(LEAST, (value / most) * (HEIGHT - 4)));
  return (
    <figure className={styles["chart"]}>
      <figcaption className={styles["head"]}>
        <span>{label}</span>
        <span>most {words(most)}</span>
      </figcaption>
      <svg
        className={styles["svg"]}
        viewBox={`0 0 1000 ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${label}, ${bars.length} bars, most ${words(most)}; the table below has the numbers`}
      >
        {bars.map(({ name, value }, at) => (
          <rect
            key={name}
            className={styles["bar"]}
            x={at * width + width * 0.15}
            y={HEIGHT - height(value)}
            width={width * 0.7}
            height={height(value)}
          >
            <title>
              {name}: {words(value)}
            </title>
          </rect>
        ))}
      </svg>
      <div className={styles["head"]} aria-hidden="true">
        <span>{bars[0]?.name}</span>
        <span>{bars.at(-1)?.name}</span>
      </div>
      <details>
        <summary>As a table</summary>
        <div className={styles["table"]} tabIndex={0} role="region" aria-label={`${label}, the numbers`}>
          <Table
            label={label}
            rows={bars.toReversed()}
            keyOf={({ name }) => name}
            columns={[
              { title: "Day", draw: ({ name }) => name },
              { title: label, kind: "number", draw: ({ value }) => words(value) },
            ]}
          />
        </div>
      </details>
    </figure>
  );
}
