import styles from "./skeleton.module.css";

const WIDTHS = ["72%", "48%", "60%", "34%", "66%", "52%"];

/** Grey bars where text will be; they show after 150 ms, so that what comes at once does not flash. */
export function Skeleton({ rows = 3, label = "Loading" }: { rows?: number; label?: string }) {
  return (
    <div role="status">
      <span className="out-of-sight">{label}</span>
      {WIDTHS.slice(0, rows).map((width) => (
        <span key={width} className={styles["bar"]} style={{ width }} />
      ))}
    </div>
  );
}
