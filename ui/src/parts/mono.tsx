import type { ReactNode } from "react";
import styles from "./mono.module.css";

/** A fact: an id, a hash, a command, a state. */
export function Mono({ title, children }: { title?: string; children: ReactNode }) {
  return (
    <span className={styles["mono"]} title={title}>
      {children}
    </span>
  );
}

/** The first digits, in groups of four; all of it on hover and for copying. */
export function Hash({ value, digits = 8 }: { value: string; digits?: number }) {
  const bare = value.replace(/^sha256:/, "");
  return <Mono title={value}>{bare.slice(0, digits).replaceAll(/(.{4})(?=.)/g, "$1 ")}</Mono>;
}

/** The end of an id is what differs. */
export function ShortId({ id }: { id: string }) {
  return <Mono title={id}>{id.slice(-6)}</Mono>;
}
