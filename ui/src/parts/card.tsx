import type { ReactNode } from "react";
import styles from "./card.module.css";

/** A section with a heading. `aside` stands at the end of the heading's line. */
export function Card({ title, aside, children }: { title?: ReactNode; aside?: ReactNode; children: ReactNode }) {
  return (
    <section className={styles["card"]}>
      {title !== undefined && (
        <header className={styles["head"]}>
          <h2>{title}</h2>
          {aside}
        </header>
      )}
      <div className={styles["body"]}>{children}</div>
    </section>
  );
}
