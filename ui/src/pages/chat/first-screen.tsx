import { useBlocked } from "../../data/acting.ts";
import { Button } from "../../parts/button.tsx";
import styles from "./chat.module.css";

/** Each ends in something to see. */
const TRIES = [
  { text: "list files", shows: "It uses a tool. Open the line it leaves to see what was called and what came back." },
  { text: "write hello to a.txt", shows: "It changes something, so it asks you first, with the whole plan." },
  {
    text: "what can you do?",
    shows: "It answers, and the run's page checks its record here in your browser.",
    isRun: true,
  },
] as const;

interface FirstScreenProps {
  /** `isRun`: shows the run instead of its answer. */
  readonly onTry: (text: string, isRun: boolean) => void;
}

export function FirstScreen({ onTry }: FirstScreenProps) {
  const blocked = useBlocked();
  return (
    <div className={styles["first"]}>
      <p>Nothing has been said here yet. Three things to try:</p>
      <ul>
        {TRIES.map(({ text, shows, ...more }) => (
          <li key={text}>
            <Button blocked={blocked} onClick={() => onTry(text, "isRun" in more)}>
              {text}
            </Button>
            <span className={styles["minor"]}>{shows}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
