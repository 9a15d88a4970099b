import type { ReactNode } from "react";
import styles from "./page-frame.module.css";

interface PageFrameProps {
  readonly title: ReactNode;
  /** What the page is for, in a sentence. */
  readonly about?: ReactNode;
  /** Buttons beside the title. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A page that scrolls as a whole: its heading, and its sections one below the other. */
export function PageFrame({ title, about, actions, children }: PageFrameProps) {
  return (
    <div className={styles["page"]}>
      <header className={styles["head"]}>
        <h1>{title}</h1>
        {actions}
      </header>
      {about !== undefined && <p className={styles["about"]}>{about}</p>}
      {children}
    </div>
  );
}
