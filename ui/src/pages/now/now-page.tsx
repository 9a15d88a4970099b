/** What waits for a person, what runs, what it costs, and what needs attention. */
import { Link, Redirect } from "wouter";
import { useRecord } from "../../data/records.ts";
import { ApprovalCard } from "../../parts/approval-card/approval-card.tsx";
import { Card } from "../../parts/card.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { HostileText } from "../../parts/hostile-text.tsx";
import { Mono } from "../../parts/mono.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { useTitle } from "../../shell/page-title.ts";
import { type Held, PENDING, useHeld } from "../capabilities/asked-for.ts";
import { RunLine } from "../runs/run-line.tsx";
import { Attention } from "./attention.tsx";
import styles from "./now.module.css";
import { VerifiedRuns } from "./verified-runs.tsx";

/** The rest are on the page of approvals. */
const SHOWN_CARDS = 3;
const SHOWN_RUNS = 8;

export function NowPage() {
  useTitle("Now");
  const { value, error } = useRecord("approvals.list", {});
  const { held: asked = [] } = useHeld(PENDING);
  const newest = useRecord("runs.list", { limit: 1 });
  // Where nothing has run yet, there is nothing now: the chat has what to begin with.
  if (newest.value?.total === 0) return <Redirect to="/chat" replace />;
  const waiting = value?.approvals.toSorted((a, b) => (a.expires_at < b.expires_at ? -1 : 1)) ?? [];
  return (
    <div className={styles["page"]}>
      <h1>{value === undefined ? "Now" : waitingWords(waiting.length + asked.length)}</h1>
      {error !== null && <ErrorNote error={error} />}
      {value === undefined && error === null && <Skeleton rows={4} />}
      {waiting.slice(0, SHOWN_CARDS).map((approval) => (
        <div key={approval.id} className={styles["waiting"]}>
          <ApprovalCard approval={approval} />
          <p className={styles["minor"]}>
            Asked by <Link href={`/runs/${approval.run_id}`}>run {approval.run_id.slice(-4)}</Link>
          </p>
        </div>
      ))}
      {waiting.length > SHOWN_CARDS && <Link href="/approvals">See all {waiting.length} approvals</Link>}
      {asked.length > 0 && <AskedFor asked={asked} />}
      {value !== undefined && waiting.length + asked.length === 0 && (
        <p className={styles["nothing"]}>
          What asks for your approval shows up here. <Link href="/chat">Ask something</Link>
        </p>
      )}
      <Running />
      <VerifiedRuns />
      <Attention />
    </div>
  );
}

const NUMBERS = ["Nothing waits", "One thing waits", "Two things wait", "Three things wait", "Four things wait"];

function waitingWords(count: number): string {
  return `${NUMBERS[count] ?? `${count} things wait`} for you`;
}

/** Capabilities are decided on their own page, which says for how long. */
function AskedFor({ asked }: { asked: readonly Held[] }) {
  const names = [...new Set(asked.map(({ capability }) => capability))];
  const sessions = new Set(asked.map(({ session_id }) => session_id)).size;
  return (
    <Card
      title={sessions === 1 ? "A session asks to reach the network" : `${sessions} sessions ask to reach the network`}
      aside={<Link href="/capabilities">Grant or deny</Link>}
    >
      <ul className={styles["asked"]}>
        {names.map((name) => (
          <li key={name}>
            <Mono>
              <HostileText text={name} isDeciding />
            </Mono>
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** Runs under way, and those before which others are. */
function Running() {
  const running = useRecord("runs.list", { status: "running", limit: SHOWN_RUNS });
  const queued = useRecord("runs.list", { status: "queued", limit: SHOWN_RUNS });
  const runs = [...(running.value?.runs ?? []), ...(queued.value?.runs ?? [])].slice(0, SHOWN_RUNS);
  const total = (running.value?.total ?? 0) + (queued.value?.total ?? 0);
  if (total === 0) return null;
  return (
    <Card
      title={total === 1 ? "1 run under way" : `${total} runs under way`}
      aside={<Link href="/runs">See runs</Link>}
    >
      <ul>
        {runs.map((run) => (
          <li key={run.id}>
            <RunLine run={run} />
          </li>
        ))}
      </ul>
    </Card>
  );
}
