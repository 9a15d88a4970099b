import type { ReactNode } from "react";
import type { CallError } from "../data/client.ts";
import { wordsFor } from "../words.ts";
import { announce } from "./announcer.tsx";
import styles from "./error-note.module.css";

/** What happened, what to do, and the code to copy. */
export function ErrorNote({ error, children }: { error: CallError; children?: ReactNode }) {
  const { happened, advice } = wordsFor(error);
  return <Problem happened={happened} advice={advice} code={error.code} actions={children} />;
}

interface ProblemProps {
  readonly happened: string;
  readonly advice?: string;
  readonly code?: string | null;
  readonly actions?: ReactNode;
}

/** The same for problems that are no answers of the gateway. */
export function Problem({ happened, advice = "", code = null, actions }: ProblemProps) {
  return (
    <div className={styles["note"]} role="alert">
      <span className={styles["happened"]}>{happened}</span>
      {advice !== "" && <span>{advice}</span>}
      {code !== null && (
        <button type="button" className={styles["code"]} onClick={() => copy(code)} aria-label={`Copy code ${code}`}>
          {code}
        </button>
      )}
      {actions}
    </div>
  );
}

function copy(text: string): void {
  // Without https there is no clipboard; the code can still be selected.
  navigator.clipboard?.writeText(text).then(
    () => announce("Copied."),
    () => announce("This browser does not let the page copy."),
  );
}
