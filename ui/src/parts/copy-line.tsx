import { Copy } from "lucide-react";
import { announce } from "./announcer.tsx";
import { Button } from "./button.tsx";
import styles from "./copy-line.module.css";

/** A line to take elsewhere, whole; `name` says what it is. */
export function CopyLine({ text, name }: { text: string; name: string }) {
  return (
    <span className={styles["line"]}>
      <span className={styles["text"]} data-testid="copied">
        {text}
      </span>
      <Button square aria-label={`Copy ${name}`} onClick={() => copyText(text)}>
        <Copy size={16} aria-hidden="true" />
      </Button>
    </span>
  );
}

function copyText(text: string): void {
  // Without https there may be no clipboard; the text can still be selected.
  if (navigator.clipboard === undefined) announce("This browser does not let the page copy. Select the text instead.");
  navigator.clipboard?.writeText(text).then(
    () => announce("Copied."),
    () => announce("This browser does not let the page copy. Select the text instead."),
  );
}
