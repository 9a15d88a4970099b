import { CircleCheck } from "lucide-react";
import { useState } from "react";
import { useActing } from "../../data/acting.ts";
import { type AnswerOf, call } from "../../data/client.ts";
import { useConfigReview } from "../../data/config-review.ts";
import { Button } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { ConfigReviewDialog } from "../../parts/config-review.tsx";
import { ErrorNote, Problem } from "../../parts/error-note.tsx";
import { Facts } from "../../parts/facts.tsx";
import { HostileText } from "../../parts/hostile-text.tsx";
import { Mono } from "../../parts/mono.tsx";
import { Tag } from "../../parts/tag.tsx";
import { durationWords, Time } from "../../parts/time.tsx";
import styles from "./models.module.css";

export type ModelList = AnswerOf<"models.list">;
export type Model = ModelList["models"][number];

/** Every configured model: what it can do and costs, whether it answers, how it behaves under contract. */
export function ModelsCard({ list: { models, default_problem } }: { list: ModelList }) {
  const review = useConfigReview();
  return (
    <Card title="Models">
      {default_problem !== null && <Problem happened={default_problem} />}
      {review.checked === null && review.acting.error !== null && <ErrorNote error={review.acting.error} />}
      {review.problems.map(({ path, message }) => (
        <Problem key={path + message} happened={`${path}: ${message}`} />
      ))}
      <ul className={styles["models"]}>
        {models.map((model) => (
          <ModelRow
            key={model.model}
            model={model}
            onDefault={() => review.check({ models: { default: model.model } })}
          />
        ))}
      </ul>
      <ConfigReviewDialog review={review} />
    </Card>
  );
}

function ModelRow({ model, onDefault }: { model: Model; onDefault: () => void }) {
  const { problem } = model;
  return (
    <li className={styles["model"]}>
      <div className={styles["modelHead"]}>
        <h3>
          <Mono>{model.model}</Mono>
        </h3>
        {model.default && <Tag icon={<CircleCheck size={13} aria-hidden="true" />}>default</Tag>}
        {model.tier !== null && <Tag>{model.tier}</Tag>}
        {problem !== null && <Tag tone="fail">cannot be used</Tag>}
      </div>
      {problem !== null && <p className={styles["problem"]}>{problem}</p>}
      <Facts
        rows={[
          ["Price a 1,000 tokens", priceWords(model)],
          ["Context", `${model.context_window.toLocaleString("en")} tokens`],
          ["Longest answer", `${model.max_output_tokens.toLocaleString("en")} tokens`],
          ["Profile", <Mono key="profile">{model.profile}</Mono>],
          ["It can", abilitiesOf(model)],
          ["Conformance", <ConformanceWords key="at" model={model} />],
        ]}
      />
      <ModelActions model={model} onDefault={onDefault} />
    </li>
  );
}

function ModelActions({ model, onDefault }: { model: Model; onDefault: () => void }) {
  const acting = useActing();
  const [answer, setAnswer] = useState<AnswerOf<"models.check"> | null>(null);
  const check = (): Promise<boolean> =>
    acting.run("check", async () => {
      setAnswer(null);
      setAnswer(await call("models.check", { model: model.model }));
    });
  return (
    <>
      <div className={styles["actions"]}>
        <Button blocked={acting.blocked} aria-label={`Check ${model.model}`} onClick={check}>
          {acting.busy === "check" ? "Asking the provider…" : "Check"}
        </Button>
        {!model.default && (
          <Button blocked={acting.blocked} aria-label={`Make it the default… ${model.model}`} onClick={onDefault}>
            Make it the default…
          </Button>
        )}
      </div>
      {acting.error !== null && <ErrorNote error={acting.error} />}
      {answer !== null && (
        <p role="status" className={answer.ok ? styles["fine"] : styles["problem"]}>
          {answer.ok ? "Fine: " : "A problem: "}
          <HostileText text={answer.detail} />{" "}
          <span className={styles["minor"]}>({durationWords(answer.latency_ms)})</span>
        </p>
      )}
    </>
  );
}

function ConformanceWords({ model: { conformance } }: { model: Model }) {
  if (conformance === null) return <>not run yet</>;
  const { passed, failed, at } = conformance;
  return (
    <>
      {passed} of {passed + failed} cases, <Time at={at} />
    </>
  );
}

function priceWords({ cost_per_1k_input, cost_per_1k_output, free }: Model): string {
  if (free) return "free";
  if (cost_per_1k_input === null && cost_per_1k_output === null) return "not known";
  const words = (price: number | null): string => (price === null ? "?" : `$${price}`);
  return `${words(cost_per_1k_input)} in, ${words(cost_per_1k_output)} out`;
}

function abilitiesOf({ supports_tools, supports_streaming, supports_vision, holds_required }: Model): string {
  const can = [
    supports_tools && (holds_required === true ? "use tools, also when it must" : "use tools"),
    supports_streaming && "stream",
    supports_vision && "see images",
  ].filter((each) => each !== false);
  return can.length === 0 ? "answer" : can.join(", ");
}
