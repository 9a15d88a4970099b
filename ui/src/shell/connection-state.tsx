import { CloudOff } from "lucide-react";
import { connection } from "../data/feed.ts";
import { useSignal } from "../data/signal.ts";
import { classes } from "../parts/classes.ts";
import styles from "./shell.module.css";

/** Live, or as of when what is shown was last current. */
export function ConnectionState() {
  const { state, asOf } = useSignal(connection);
  const isLost = state === "lost";
  return (
    <span className={classes(styles["connection"], isLost && styles["lost"])} role="status">
      {isLost && <CloudOff size={16} aria-hidden="true" />}
      {state === "connecting" ? "Connecting…" : isLost ? lostWords(asOf) : "Live"}
    </span>
  );
}

function lostWords(asOf: number | null): string {
  return asOf === null ? "The gateway does not answer." : `Reconnecting. Shown as of ${timeOfDay(asOf)}.`;
}

function timeOfDay(ms: number): string {
  return new Date(ms).toLocaleTimeString([], { hour12: false });
}
