import styles from "./skeleton.module.css";

const WIDTHS = ["72%", "48%", "60%", "34%"];

/** Grey bars where text will be; they show after 150 ms, so that what comes at once does not flash. */
export function Skeleton({ rows = 3, label = "Loading" }: { rows?: number; label?: string }) {
  return (
    <div role="status">
      <span className="out-of-sight">{label}</span>
      {Array.from({ length: rows }, (_, at) => (
        <span key={`bar-${at + 1}`} className={styles["bar"]} style={{ width: WIDTHS[at % WIDTHS.length] }} />
      ))}
    </div>
  );
}
