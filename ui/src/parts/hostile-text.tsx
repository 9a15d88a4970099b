import { visiblePieces } from "./visible-text.ts";
import styles from "./hostile-text.module.css";

/** Text of others: what would hide in it is shown as a mark, and its direction stays inside. */
export function HostileText({ text }: { text: string }) {
  const pieces = visiblePieces(text);
  return (
    <bdi>
      {pieces.map(({ text: part, isMark }, at) =>
        isMark ? (
          <span key={`${at}-mark`} className={styles["mark"]} title="a character that cannot be seen">
            {part}
          </span>
        ) : (
          part
        ),
      )}
    </bdi>
  );
}
