import { Link } from "wouter";
import { hrefOf, PAGES } from "../../pages/all-pages.ts";
import { HostileText } from "../hostile-text.tsx";
import { Tag } from "../tag.tsx";
import styles from "./approval-card.module.css";
import type { ApprovalRecord } from "./approval-record.ts";

/** The rule that asks, what the run has read before, and the way to another rule. */
export function WhyItAsks({ approval }: { approval: ApprovalRecord }) {
  const { why, labels, tool, kind } = approval;
  const [, rule, words] = /^([a-z][\w.-]*\.[\w.-]+): (.*)$/s.exec(why) ?? [undefined, null, why];
  return (
    <div className={styles["why"]}>
      <p>
        <strong>Why it asks.</strong> <HostileText text={words ?? why} />{" "}
        {typeof rule === "string" && <code>{rule}</code>}{" "}
        {labels.integrity === "untrusted" && <Tag tone="untrusted">untrusted text was read</Tag>}
      </p>
      {kind === "approve" && <RuleLink tool={tool} />}
    </div>
  );
}

const POLICY = PAGES.find(({ path }) => path.startsWith("/policy"));

/** No “always” on a card: a rule is written where its effect on past calls is seen. */
function RuleLink({ tool }: { tool: string }) {
  if (POLICY === undefined) return null;
  const exception = JSON.stringify({ tool, decision: "allow" });
  return <Link href={`${hrefOf(POLICY)}?${new URLSearchParams({ exception })}`}>Write a rule…</Link>;
}
