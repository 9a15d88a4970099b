import { useEffect } from "react";
import { createSignal, useSignal } from "../data/signal.ts";
import styles from "./announcer.module.css";

const SHOWN_MS = 4_000;

interface Announcement {
  readonly text: string;
  readonly isShown: boolean;
}

const current = createSignal<Announcement | null>(null);

/** Says it to screen readers, and shows it for a moment. */
export function announce(text: string): void {
  current.set({ text, isShown: true });
}

/** To screen readers only: for what others see happen. */
export function announceQuietly(text: string): void {
  current.set({ text, isShown: false });
}

/** Once a page. Focus stays where it is. */
export function Announcer() {
  const said = useSignal(current);
  useEffect(() => {
    if (said === null) return;
    const timer = setTimeout(() => current.set(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [said]);
  return (
    <div className={styles["place"]} role="status" aria-live="polite">
      {said !== null && <div className={said.isShown ? styles["toast"] : "out-of-sight"}>{said.text}</div>}
    </div>
  );
}
