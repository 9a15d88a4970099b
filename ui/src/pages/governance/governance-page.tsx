import { useState } from "react";
import { useConfigReview } from "../../data/config-review.ts";
import { useRecord } from "../../data/records.ts";
import { Card } from "../../parts/card.tsx";
import { ConfigReviewDialog } from "../../parts/config-review.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { Field, Select } from "../../parts/field.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { useTitle } from "../../shell/page-title.ts";
import { ChangesCard } from "./changes-card.tsx";
import styles from "./governance.module.css";
import { InForceCard, type Tier, TurnOn } from "./in-force-card.tsx";
import { PlotsCard } from "./plots-card.tsx";

const TIERS = [
  ["cheap", "Cheap models"],
  ["mid", "Mid models"],
  ["premium", "Premium models"],
] as const;

/** How ended runs were, and what was changed for later ones because of it. */
export function GovernancePage() {
  useTitle("Governance");
  const review = useConfigReview();
  const [chosen, choose] = useState<Tier["tier"] | null>(null);
  const { value, error } = useRecord("governance.show", {});
  const busiest = value?.tiers.toSorted((a, b) => b.runs - a.runs)[0];
  const isUnused = busiest === undefined || busiest.runs === 0;
  const name = chosen ?? (isUnused ? "mid" : busiest.tier);
  const tier = value?.tiers.find((each) => each.tier === name);
  return (
    <PageFrame
      title="Governance"
      about="After a run has ended it is measured. What later runs are drafted with is moved by one step at a time, within fixed bounds, and moved back if that did not help. It never touches policy, approvals or capabilities."
    >
      {error !== null && <ErrorNote error={error} />}
      {value === undefined && error === null && <Skeleton rows={5} />}
      {value !== undefined && !value.enabled && (
        <Card>
          <TurnOn review={review} />
        </Card>
      )}
      <ConfigReviewDialog review={review} />
      {value !== undefined && tier !== undefined && (value.enabled || !isUnused) && (
        <>
          <div className={styles["choice"]}>
            <Field label="Tier of models">
              {(control) => <Select {...control} value={name} options={TIERS} onChange={choose} />}
            </Field>
          </div>
          <InForceCard tier={tier} isEnabled={value.enabled} />
          <PlotsCard key={name} tier={tier} />
          <ChangesCard tier={name} />
        </>
      )}
    </PageFrame>
  );
}
