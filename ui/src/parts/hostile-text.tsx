import styles from "./hostile-text.module.css";
import { visiblePieces } from "./visible-text.ts";

interface HostileTextProps {
  readonly text: string;
  /** Somebody decides by it: blanks that look like a space are marked too. */
  readonly isDeciding?: boolean;
}

/** Text of others: what would hide in it is shown as a mark, and its direction stays inside. */
export function HostileText({ text, isDeciding = false }: HostileTextProps) {
  const pieces = visiblePieces(text, isDeciding);
  return (
    <bdi>
      {pieces.map((piece) =>
        piece.isMark ? (
          <span key={piece.at} className={styles["mark"]} title="a character that cannot be seen">
            {piece.text}
          </span>
        ) : (
          piece.text
        ),
      )}
    </bdi>
  );
}
