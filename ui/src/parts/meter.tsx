import styles from "./meter.module.css";

interface MeterProps {
  readonly label: string;
  readonly spent: number;
  /** Reserved for what is under way: drawn as stripes behind what is spent. */
  readonly held?: number;
  readonly limit: number;
  /** What it says in words, with units. */
  readonly text: string;
}

/** Spent, held and limit in one bar. */
export function Meter({ label, spent, held = 0, limit, text }: MeterProps) {
  const share = (part: number): string => `${limit <= 0 ? 0 : Math.min(100, Math.max(0, (part / limit) * 100))}%`;
  return (
    <span
      className={styles["meter"]}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={limit}
      aria-valuenow={Math.min(limit, spent + held)}
      aria-valuetext={text}
      title={text}
    >
      <span className={styles["spent"]} style={{ width: share(spent) }} />
      <span className={styles["held"]} style={{ width: share(held) }} />
    </span>
  );
}
