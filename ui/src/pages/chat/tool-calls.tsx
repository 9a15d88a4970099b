import { CircleAlert, Loader, Wrench } from "lucide-react";
import type { LiveCall } from "../../data/live-run.ts";
import { HostileText } from "../../parts/hostile-text.tsx";
import { JsonTree } from "../../parts/json-tree.tsx";
import { Tag } from "../../parts/tag.tsx";
import { durationWords } from "../../parts/time.tsx";
import styles from "./chat.module.css";

export interface ShownCall {
  readonly id: string;
  readonly tool: string;
  readonly summary: string;
  /** JSON, as it was proposed; may be cut. */
  readonly args: string | null;
  readonly state: "running" | "done" | "failed";
  readonly durationMs: number | null;
  readonly result: string;
  readonly isTruncated: boolean;
}

export function fromLive({ callId, stepId, tool, shown, result, output }: LiveCall): ShownCall {
  return {
    id: `${stepId} ${callId}`,
    tool,
    summary: shown,
    args: null,
    state: result === null ? "running" : result.ok ? "done" : "failed",
    durationMs: result?.duration_ms ?? null,
    result: result?.error?.message ?? output,
    isTruncated: result?.truncated ?? false,
  };
}

/** Calls in a row fold into one line. */
export function ToolCalls({ calls }: { calls: readonly ShownCall[] }) {
  if (calls.length === 0) return null;
  return (
    <details className={styles["calls"]}>
      <summary>{foldedWords(calls)}</summary>
      <ul>
        {calls.map((call) => (
          <li key={call.id}>
            <ToolCard call={call} />
          </li>
        ))}
      </ul>
    </details>
  );
}

export function foldedWords(calls: readonly ShownCall[]): string {
  const failed = calls.filter(({ state }) => state === "failed").length;
  const running = calls.filter(({ state }) => state === "running").length;
  const total = calls.reduce((sum, { durationMs }) => sum + (durationMs ?? 0), 0);
  const used = running > 0 ? "Using" : "Used";
  return [
    `${used} ${calls.length === 1 ? (calls[0]?.tool ?? "a tool") : `${calls.length} tools`}`,
    ...(failed > 0 ? [calls.length === 1 ? "which failed" : `${failed} failed`] : []),
    ...(total > 0 && running === 0 ? [durationWords(total)] : []),
  ].join(", ");
}

const ICONS = { running: Loader, done: Wrench, failed: CircleAlert } as const;

function ToolCard({ call }: { call: ShownCall }) {
  const { tool, summary, args, state, durationMs, result, isTruncated } = call;
  const Icon = ICONS[state];
  return (
    <details className={styles["tool"]}>
      <summary>
        <Icon size={14} aria-hidden="true" />
        <code>{tool}</code>
        <span className={styles["summary"]}>
          <HostileText text={summary} />
        </span>
        {state === "failed" && <Tag tone="fail">failed</Tag>}
        {durationMs !== null && <span className={styles["minor"]}>{durationWords(durationMs)}</span>}
      </summary>
      {args !== null && <Arguments json={args} />}
      {result !== "" && (
        <section className={styles["result"]} tabIndex={0} aria-label={`Result of ${tool}`}>
          <pre>
            <HostileText text={result} />
          </pre>
        </section>
      )}
      {isTruncated && <p className={styles["minor"]}>The result was longer; the assistant got this much of it.</p>}
    </details>
  );
}

function Arguments({ json }: { json: string }) {
  try {
    return <JsonTree value={JSON.parse(json)} />;
  } catch {
    return (
      <pre>
        <HostileText text={json} isDeciding />
      </pre>
    );
  }
}
