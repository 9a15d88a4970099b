import { BadgeCheck, CircleAlert, Clock, ShieldAlert } from "lucide-react";
import type { ReactNode } from "react";
import { classes } from "./classes.ts";
import styles from "./tag.module.css";

/** `proof` only for what this browser has checked itself. */
export type Tone = "plain" | "proof" | "wait" | "fail" | "untrusted";

const ICONS = { proof: BadgeCheck, wait: Clock, fail: CircleAlert, untrusted: ShieldAlert } as const;

/** A colour always comes with a shape and a word. */
export function Tag({ tone = "plain", icon, children }: { tone?: Tone; icon?: ReactNode; children: ReactNode }) {
  const Icon = tone === "plain" ? null : ICONS[tone];
  return (
    <span className={classes(styles["tag"], styles[tone])}>
      {icon ?? (Icon !== null && <Icon size={13} aria-hidden="true" />)}
      {children}
    </span>
  );
}
