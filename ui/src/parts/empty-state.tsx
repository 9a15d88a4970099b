import type { ReactNode } from "react";
import styles from "./empty-state.module.css";

/** One sentence, and an action. */
export function EmptyState({ sentence, children }: { sentence: string; children?: ReactNode }) {
  return (
    <div className={styles["empty"]}>
      <p>{sentence}</p>
      {children}
    </div>
  );
}
