/** What was done for an answer. Calls in a row fold into one line; a call that a person was asked about never does. */
import { CircleAlert, Loader, ShieldCheck, ShieldX, Wrench } from "lucide-react";
import type { LiveCall } from "../../data/live-run.ts";
import { classes } from "../../parts/classes.ts";
import { HostileText } from "../../parts/hostile-text.tsx";
import { JsonTree } from "../../parts/json-tree.tsx";
import { Tag } from "../../parts/tag.tsx";
import { durationWords } from "../../parts/time.tsx";
import styles from "./chat.module.css";
import { callGroups, foldedWords, type ShownCall } from "./shown-calls.ts";

export function ToolCalls({ calls }: { calls: readonly ShownCall[] }) {
  return callGroups(calls).map((group) => {
    const [first] = group;
    if (first === undefined) return null;
    if (first.approval !== null) return <ToolCard key={first.id} call={first} />;
    return (
      <details key={first.id} className={styles["calls"]}>
        <summary>{foldedWords(group)}</summary>
        <ul>
          {group.map((call) => (
            <li key={call.id}>
              <ToolCard call={call} />
            </li>
          ))}
        </ul>
      </details>
    );
  });
}

function iconOf({ state, approval }: ShownCall) {
  if (approval !== null && state !== "running") return approval.decision === "allow" ? ShieldCheck : ShieldX;
  return { running: Loader, done: Wrench, failed: CircleAlert }[state];
}

function ToolCard({ call }: { call: ShownCall }) {
  const { tool, summary, args, state, durationMs, result, isTruncated, labels, approval } = call;
  const isUntrusted = labels?.integrity === "untrusted";
  const Icon = iconOf(call);
  return (
    <details className={styles["tool"]}>
      <summary>
        <Icon size={16} aria-hidden="true" />
        <code>{tool}</code>
        <span className={styles["summary"]}>
          <HostileText text={summary} />
        </span>
        {approval !== null && <span className={styles["minor"]}>{approvalWords(approval)}</span>}
        {isUntrusted && <Tag tone="untrusted">untrusted</Tag>}
        {state === "failed" && approval?.decision !== "deny" && <Tag tone="fail">failed</Tag>}
        {durationMs !== null && state === "done" && (
          <span className={styles["minor"]}>{durationWords(durationMs)}</span>
        )}
      </summary>
      <div className={styles["opened"]}>
        {args !== null && <Arguments json={args} />}
        {labels !== null && (
          <p className={styles["minor"]}>
            Result: {labels.integrity} × {labels.confidentiality}
          </p>
        )}
        {result !== "" && <Result tool={tool} text={result} isUntrusted={isUntrusted} />}
        {isTruncated && <p className={styles["minor"]}>The result was longer; the assistant got this much of it.</p>}
      </div>
    </details>
  );
}

function approvalWords({ decision, by }: NonNullable<LiveCall["approval"]>): string {
  if (decision === "allow") return by === "operator" ? "allowed by you" : `allowed by ${by}`;
  if (decision === "deny") return by === "operator" ? "denied by you" : `denied by ${by}`;
  return decision === "expired" ? "lapsed: nobody answered" : decision;
}

function Arguments({ json }: { json: string }) {
  try {
    return <JsonTree value={JSON.parse(json)} />;
  } catch {
    return (
      <pre className={styles["raw"]}>
        <HostileText text={json} isDeciding />
      </pre>
    );
  }
}

function Result({ tool, text, isUntrusted }: { tool: string; text: string; isUntrusted: boolean }) {
  const value = parsed(text);
  return (
    <section
      className={classes(styles["result"], isUntrusted && styles["untrusted"])}
      tabIndex={0}
      aria-label={`Result of ${tool}`}
    >
      {value === null ? (
        <pre>
          <HostileText text={text} />
        </pre>
      ) : (
        <JsonTree value={value} />
      )}
    </section>
  );
}

function parsed(text: string): object | null {
  if (!/^\s*[[{]/.test(text)) return null;
  try {
    return JSON.parse(text) as object;
  } catch {
    return null;
  }
}
