import type { AnswerOf } from "../../data/client.ts";
import { Card } from "../../parts/card.tsx";
import { useCitations } from "../../parts/citations.tsx";
import { HostileText } from "../../parts/hostile-text.tsx";
import { Markdown } from "../../parts/markdown.tsx";
import styles from "./run.module.css";

/** What it said at its end, and why it ended if that was no success. */
export function Answer({ run, answer }: { run: AnswerOf<"runs.get">; answer: string | null }) {
  const { explanation, reason } = run;
  const inText = useCitations(run.id, answer ?? "");
  if ((answer === null || answer === "") && explanation === undefined && reason === null) return null;
  return (
    <Card title={answer === null || answer === "" ? "Why it ended" : "Answer"}>
      {explanation !== undefined && (
        <p className={styles["explanation"]}>
          <HostileText text={explanation} />
        </p>
      )}
      {answer !== null && answer !== "" && <Markdown text={answer} inText={inText} />}
    </Card>
  );
}
