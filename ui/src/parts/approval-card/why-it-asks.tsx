import { CircleHelp } from "lucide-react";
import { Link } from "wouter";
import { hrefOf, PAGES } from "../../pages/all-pages.ts";
import { HostileText } from "../hostile-text.tsx";
import styles from "./approval-card.module.css";
import type { ApprovalRecord } from "./approval-record.ts";

type Explanation = NonNullable<ApprovalRecord["explain"]>;

/** The rule that asks, in a sentence. */
export function WhyItAsks({ approval: { why } }: { approval: ApprovalRecord }) {
  const [, rule, words] = /^([a-z][\w.-]*\.[\w.-]+): (.*)$/s.exec(why) ?? [];
  return (
    <p>
      <strong>Why it asks.</strong> <HostileText text={words ?? why} /> {rule !== undefined && <code>{rule}</code>}
    </p>
  );
}

/** The rules in the order in which they were asked, what they looked at, and what would change the answer. */
export function Explained({ explain }: { explain: Explanation }) {
  const { path, changes } = explain;
  return (
    <details className={styles["explained"]}>
      <summary>
        <CircleHelp size={16} aria-hidden="true" /> Why did it ask?
      </summary>
      <ol className={styles["rules"]}>
        {path.map(({ rule, result, words }) => (
          <li key={rule}>
            <code>{rule}</code>
            <span>
              <HostileText text={words} />
            </span>
            <b>{result}</b>
          </li>
        ))}
      </ol>
      <dl className={styles["facts"]}>
        {factsOf(explain).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <HostileText text={value} isDeciding />
            </dd>
          </div>
        ))}
      </dl>
      {changes.length > 0 && (
        <>
          <p>What would change the answer:</p>
          <ul className={styles["changes"]}>
            {changes.map(({ change, decision, words }) => (
              <li key={change}>
                <HostileText text={words} /> <b>{decision}</b>
              </li>
            ))}
          </ul>
        </>
      )}
    </details>
  );
}

function factsOf({ facts }: Explanation): readonly (readonly [name: string, value: string])[] {
  const { risk, channel_class, labels, reaches, granted } = facts;
  return [
    ["risk", risk],
    ["channel", channel_class],
    ["has read", `${labels.integrity} × ${labels.confidentiality}`],
    ...(reaches.length === 0 ? [] : [["reaches", reaches.join(", ")] as const]),
    ...(granted.length === 0 ? [] : [["granted", granted.join(", ")] as const]),
  ];
}

/** Which untrusted text came before the call: it may have asked for it. */
export function Provenance({ approval: { provenance, run_id } }: { approval: ApprovalRecord }) {
  if (provenance.length === 0) return null;
  return (
    <section className={styles["untrusted"]} aria-label="Untrusted text">
      <p>
        <strong>Untrusted text this run has read</strong>
      </p>
      <ul>
        {provenance.map(({ seq, tool, source, excerpt, is_cut }) => (
          <li key={seq}>
            <HostileText
              text={tool === null ? source : source.startsWith(tool) ? source : `${tool} ${source}`}
              isDeciding
            />
            {excerpt !== null && excerpt !== "" && (
              <>
                {" · “"}
                <HostileText text={excerpt} isDeciding />
                {is_cut ? "…”" : "”"}
              </>
            )}{" "}
            <EntryLink runId={run_id} seq={seq} />
          </li>
        ))}
      </ul>
    </section>
  );
}

const RUNS = PAGES.find(({ path }) => path.startsWith("/runs"));

function EntryLink({ runId, seq }: { runId: string; seq: number }) {
  if (RUNS === undefined) return `entry ${seq}`;
  return <Link href={`${hrefOf(RUNS)}/${runId}?entry=${seq}`}>entry {seq}</Link>;
}

const POLICY = PAGES.find(({ path }) => path.startsWith("/policy"));

/** No “always” on a card: a rule is written where its effect on past calls is seen. */
export function RuleLink({ approval: { tool, explain } }: { approval: ApprovalRecord }) {
  if (POLICY === undefined) return null;
  const channel = explain === null ? {} : { channel: explain.facts.channel_class };
  const exception = JSON.stringify({ tool, ...channel, decision: "allow" });
  return <Link href={`${hrefOf(POLICY)}?${new URLSearchParams({ exception })}`}>Write a rule…</Link>;
}
