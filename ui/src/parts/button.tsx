import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";
import styles from "./button.module.css";
import { classes } from "./classes.ts";

interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "disabled" | "type"> {
  readonly tone?: "plain" | "primary" | "quiet";
  /** Why it cannot be pressed now. It stays in the tab order and says so, unlike a disabled one. */
  readonly blocked?: string | null | undefined;
  /** Only an icon: give it an `aria-label`. */
  readonly square?: boolean;
  readonly submits?: boolean;
  readonly ref?: Ref<HTMLButtonElement>;
  readonly children: ReactNode;
}

export function Button({
  tone = "plain",
  blocked = null,
  square = false,
  submits = false,
  className,
  onClick,
  children,
  ...rest
}: ButtonProps) {
  const isBlocked = blocked !== null;
  return (
    <button
      {...rest}
      type={submits && !isBlocked ? "submit" : "button"}
      aria-disabled={isBlocked || undefined}
      title={blocked ?? rest.title}
      className={classes(styles["button"], styles[tone], square && styles["square"], className)}
      onClick={isBlocked ? undefined : onClick}
    >
      {children}
    </button>
  );
}
