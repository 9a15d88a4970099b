import { CircleCheck } from "lucide-react";
import type { AnswerOf } from "../../data/client.ts";
import { Problem } from "../../parts/error-note.tsx";
import { Hash } from "../../parts/mono.tsx";
import styles from "./run.module.css";

export type Replayed = AnswerOf<"runs.replay">;

/** What the gateway found when it ran the entries through the machine again. */
export function Replay({ replayed }: { replayed: Replayed }) {
  const { reproduced, diverged_at, outcome, head_hash } = replayed;
  if (!reproduced)
    return (
      <Problem
        happened={diverged_at === null ? "The replay ended otherwise." : `The replay differs at entry ${diverged_at}.`}
        advice="What is recorded after it does not follow from what was recorded before."
        code="replay.diverged"
      />
    );
  return (
    <p className={styles["replayed"]} role="status">
      <CircleCheck size={16} aria-hidden="true" />
      <span>
        Replayed from its entries, with no network:{" "}
        {outcome === null ? "the same state" : `the same outcome, ${outcome}`}, the same head <Hash value={head_hash} />
        .
      </span>
    </p>
  );
}
