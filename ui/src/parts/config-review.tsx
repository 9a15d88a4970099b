import type { ConfigChange, ConfigReview } from "../data/config-review.ts";
import { Button } from "./button.tsx";
import styles from "./config-review.module.css";
import { CopyLine } from "./copy-line.tsx";
import { Dialog } from "./dialog.tsx";
import { ErrorNote } from "./error-note.tsx";
import { HostileText } from "./hostile-text.tsx";
import { LineDiff } from "./line-diff.tsx";
import { Mono } from "./mono.tsx";

/** The difference before it is saved, and what follows from it. */
export function ConfigReviewDialog({ review }: { review: ConfigReview }) {
  const { acting, checked } = review;
  if (checked === null) return null;
  const { change, isSaved, patch } = checked;
  const isConflict = acting.error?.code === "conflict";
  const isNothing = change.changes.length === 0;
  const save = (
    <>
      <Button onClick={review.close}>Cancel</Button>
      {isConflict ? (
        <Button tone="primary" blocked={acting.blocked} onClick={() => review.check(patch)}>
          {acting.busy === null ? "Look at it again" : "Sending…"}
        </Button>
      ) : (
        <Button
          tone="primary"
          blocked={acting.blocked ?? (isNothing ? "Nothing would change." : null)}
          onClick={review.save}
        >
          {acting.busy === null ? "Save" : "Sending…"}
        </Button>
      )}
    </>
  );
  return (
    <Dialog
      title={isSaved ? "Saved" : "Save this change?"}
      onClose={review.close}
      actions={isSaved ? <Button onClick={review.close}>Done</Button> : save}
    >
      <div className={styles["review"]}>
        {acting.error !== null && <ErrorNote error={acting.error} />}
        {isNothing && <p>It says what the configuration says already.</p>}
        <ul className={styles["changes"]}>
          {change.changes.map((each) => (
            <Changed key={each.path} {...each} />
          ))}
        </ul>
        <Consequences change={change} />
      </div>
    </Dialog>
  );
}

function Changed({ path, before, after }: ConfigChange["changes"][number]) {
  const isLong = [before, after].some((value) => typeof value === "object" && value !== null);
  return (
    <li>
      <p className={styles["path"]}>{path}</p>
      {isLong ? (
        <LineDiff label={`Change of ${path}`} before={linesOf(before)} after={linesOf(after)} />
      ) : (
        <p className={styles["values"]}>
          <del>
            <HostileText text={valueWords(before)} isDeciding />
          </del>
          <span aria-hidden="true">→</span>
          <ins>
            <HostileText text={valueWords(after)} isDeciding />
          </ins>
        </p>
      )}
    </li>
  );
}

function Consequences({ change: { applied, restart_required, missing } }: { change: ConfigChange }) {
  return (
    <>
      {applied.length > 0 && <p className={styles["minor"]}>It counts at once, for runs that begin from then on.</p>}
      {restart_required.length > 0 && (
        <p>
          Needs a restart of the gateway: <Mono>{restart_required.join(", ")}</Mono>
        </p>
      )}
      {missing.map(({ path, variable, line, file }) => (
        <div key={`${path} ${variable}`} className={styles["missing"]}>
          <p>
            <Mono>{path}</Mono> needs a key. Add this line to <Mono>{file}</Mono>, with the key behind the sign; no
            restart is needed.
          </p>
          <CopyLine name={`the line for ${variable}`} text={line.replace(/…$/, "")} />
        </div>
      ))}
    </>
  );
}

function valueWords(value: unknown): string {
  if (value === null || value === undefined) return "not set";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function linesOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value) && value.every((each) => typeof each !== "object")) return value.join("\n");
  return JSON.stringify(value, null, 2);
}
