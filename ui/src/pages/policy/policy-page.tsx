import { useState } from "react";
import { useSearch } from "wouter";
import { useRecord } from "../../data/records.ts";
import { ErrorNote } from "../../parts/error-note.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { useTitle } from "../../shell/page-title.ts";
import { ExplainCall } from "./explain-call.tsx";
import { KillSwitch } from "./kill-switch.tsx";
import { MarksCard } from "./marks-card.tsx";
import { PolicyGrid } from "./policy-grid.tsx";
import { RuleEditor } from "./rule-editor.tsx";
import { type Exception, exceptionIn, policyIn } from "./written-policy.ts";

/** What the assistant may do, for whom, and why. */
export function PolicyPage() {
  useTitle("Tools and policy");
  const grid = useRecord("policy.get", {});
  const config = useRecord("config.get", {});
  const search = useSearch();
  const [proposed, setProposed] = useState<Exception | null>(() => exceptionIn(search));
  const [asked, setAsked] = useState<string | null>(null);
  const policy = policyIn(config.value);
  const error = grid.error ?? config.error;
  return (
    <PageFrame
      title="Tools and policy"
      about="Every call of a tool is decided here before it runs: it runs, it asks you, or it is denied."
    >
      {error !== null && <ErrorNote error={error} />}
      {(grid.value === undefined || policy === undefined) && error === null && <Skeleton rows={6} />}
      {policy !== undefined && <KillSwitch policy={policy} />}
      {grid.value !== undefined && <PolicyGrid grid={grid.value} onExplain={setAsked} onPropose={setProposed} />}
      {grid.value !== undefined && <ExplainCall key={asked} tool={asked} />}
      {policy !== undefined && <RuleEditor current={policy} proposed={proposed} />}
      <MarksCard />
    </PageFrame>
  );
}
