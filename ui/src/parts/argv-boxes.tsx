import { HostileText } from "./hostile-text.tsx";
import styles from "./argv-boxes.module.css";

/** One box an argument, so that no argument looks like two and none is hidden. */
export function ArgvBoxes({ argv }: { argv: readonly string[] }) {
  return (
    <ul className={styles["boxes"]} aria-label="Command and arguments">
      {argv.map((argument, at) => (
        <li key={`${at}-${argument.slice(0, 32)}`} className={styles["box"]}>
          <HostileText text={argument} />
        </li>
      ))}
    </ul>
  );
}
