import { CircleAlert, CircleCheck } from "lucide-react";
import { useConfigReview } from "../../data/config-review.ts";
import { Button } from "../../parts/button.tsx";
import { classes } from "../../parts/classes.ts";
import { ConfigReviewDialog } from "../../parts/config-review.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import styles from "./policy.module.css";
import type { WrittenPolicy } from "./written-policy.ts";

/** `tools.policy.sideEffects`: with one press nothing changes anything any more. */
export function KillSwitch({ policy: { sideEffects } }: { policy: WrittenPolicy }) {
  const review = useConfigReview();
  const isOn = sideEffects === "enabled";
  const next = isOn ? "disabled" : "enabled";
  return (
    <section className={classes(styles["switch"], !isOn && styles["off"])} aria-labelledby="side-effects">
      {isOn ? <CircleCheck size={20} aria-hidden="true" /> : <CircleAlert size={20} aria-hidden="true" />}
      <div className={styles["switchWords"]}>
        <h2 id="side-effects">{isOn ? "Side effects are on" : "Side effects are switched off"}</h2>
        <p className={styles["minor"]}>
          {isOn
            ? "Calls that change something run as the rules below say."
            : "Nothing that changes something runs, in runs under way too. Reading and drafting go on."}
        </p>
      </div>
      <Button
        blocked={review.acting.blocked}
        onClick={() => review.check({ tools: { policy: { sideEffects: next } } })}
      >
        {review.acting.busy === "check" ? "Sending…" : isOn ? "Switch off…" : "Switch on…"}
      </Button>
      {review.checked === null && review.acting.error !== null && <ErrorNote error={review.acting.error} />}
      <ConfigReviewDialog review={review} />
    </section>
  );
}
