import { createElement } from "react";
import styles from "./argv-boxes.module.css";
import { HostileText } from "./hostile-text.tsx";

/** One box an argument, so that no argument looks like two and none is hidden. */
export function ArgvBoxes({ argv }: { argv: readonly string[] }) {
  const boxes = argv.map((argument) =>
    createElement("li", { className: styles["box"] }, <HostileText text={argument} isDeciding />),
  );
  return createElement("ul", { className: styles["boxes"], "aria-label": "Command and arguments" }, ...boxes);
}
