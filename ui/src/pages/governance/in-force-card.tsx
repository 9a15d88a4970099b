import { useState } from "react";
import { useActing } from "../../data/acting.ts";
import { type AnswerOf, call } from "../../data/client.ts";
import type { ConfigReview } from "../../data/config-review.ts";
import { Button } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { Table } from "../../parts/table.tsx";
import { Tag } from "../../parts/tag.tsx";
import styles from "./governance.module.css";
import { effectOf, PARAMETERS, signalWords, valueWords } from "./words.ts";

export type Tier = AnswerOf<"governance.show">["tiers"][number];

export function TurnOn({ review: { acting, checked, check } }: { review: ConfigReview }) {
  return (
    <>
      <EmptyState sentence="Governance is off: nothing is measured, and contracts are drafted with the fixed defaults.">
        <Button blocked={acting.blocked} onClick={() => check({ governance: { enabled: true } })}>
          Turn it on…
        </Button>
      </EmptyState>
      {checked === null && acting.error !== null && <ErrorNote error={acting.error} />}
    </>
  );
}

/** What the next contract of this tier is drafted with. */
export function InForceCard({ tier, isEnabled }: { tier: Tier; isEnabled: boolean }) {
  const acting = useActing();
  const [asked, ask] = useState<"rollback" | "freeze" | null>(null);
  const isFrozen = tier.frozen_runs > 0;
  const thaw = () => acting.run("thaw", () => call("governance.freeze", { tier: tier.tier, runs: 0 }));
  return (
    <Card
      title="In force"
      aside={
        isEnabled && (
          <div className={styles["actions"]}>
            <Button onClick={() => ask("rollback")}>Roll back…</Button>
            {isFrozen ? (
              <Button blocked={acting.blocked} onClick={thaw}>
                Thaw
              </Button>
            ) : (
              <Button onClick={() => ask("freeze")}>Freeze…</Button>
            )}
          </div>
        )
      }
    >
      {asked === null && acting.error !== null && <ErrorNote error={acting.error} />}
      <p className={styles["standing"]}>
        <Standing tier={tier} />
      </p>
      <Table
        label="Parameters in force"
        rows={PARAMETERS}
        keyOf={({ name }) => name}
        columns={[
          { title: "Parameter", draw: ({ title }) => title },
          { title: "Value", draw: ({ name }) => valueWords(name, tier) },
          { title: "Between its clamps", draw: ({ name }) => <Clamps tier={tier} name={name} /> },
          { title: "What it does", draw: ({ name }) => effectOf(name) },
        ]}
      />
      {asked === "rollback" && (
        <Confirm
          title={`Roll the ${tier.tier} tier back?`}
          verb="Roll back"
          acting={acting}
          onConfirm={() => call("governance.rollback", { tier: tier.tier })}
          onClose={() => ask(null)}
        >
          <p>
            Later contracts get the best earlier state, or the neutral one. Nothing is moved for {tier.freeze_runs}{" "}
            runs. Contracts that are sealed stay as they are.
          </p>
        </Confirm>
      )}
      {asked === "freeze" && (
        <Confirm
          title={`Freeze the ${tier.tier} tier?`}
          verb="Freeze"
          acting={acting}
          onConfirm={() => call("governance.freeze", { tier: tier.tier })}
          onClose={() => ask(null)}
        >
          <p>Nothing is moved for {tier.freeze_runs} runs. A change that is on trial is taken back.</p>
        </Confirm>
      )}
    </Card>
  );
}

function Standing({ tier: { trial, frozen_runs, runs, warmup_runs, window_runs } }: { tier: Tier }) {
  if (frozen_runs > 0) return <Tag tone="wait">frozen for {frozen_runs} more runs</Tag>;
  if (trial !== null) {
    return (
      <>
        <Tag tone="wait">on trial</Tag> {signalWords(trial.proposal.signal)}: run {trial.averages.runs} of {window_runs}
        .
      </>
    );
  }
  if (runs < warmup_runs)
    return (
      <>
        Warming up: {runs} of {warmup_runs} runs are measured; nothing is moved before.
      </>
    );
  return <>{runs} runs are measured. Nothing is on trial.</>;
}

const WIDTH = 120;
const EDGE = 6;

/** Where the value is between the two bounds that it never leaves, and where the neutral one is. */
function Clamps({ tier, name }: { tier: Tier; name: keyof Tier["state"] }) {
  const bounds = tier.bounds[name];
  const value = Number(tier.state[name]);
  if (bounds === undefined) return <>on or off</>;
  const { least, most } = bounds;
  const at = (number: number): number => EDGE + ((number - least) / (most - least)) * (WIDTH - 2 * EDGE);
  return (
    <span className={styles["clamps"]}>
      <span>{least}</span>
      <svg
        className={styles["track"]}
        viewBox={`0 0 ${WIDTH} 16`}
        role="img"
        aria-label={`${value}, between ${least} and ${most}`}
      >
        <path className={styles["clamp"]} d={`M${EDGE} 2v12M${WIDTH - EDGE} 2v12M${EDGE} 8h${WIDTH - 2 * EDGE}`} />
        <circle className={styles["value"]} cx={at(value)} cy={8} r={4} />
      </svg>
      <span>{most}</span>
    </span>
  );
}
