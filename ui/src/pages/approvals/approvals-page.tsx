import { useState } from "react";
import { Link, useLocation } from "wouter";
import { useRecord } from "../../data/records.ts";
import { ApprovalCard } from "../../parts/approval-card/approval-card.tsx";
import type { ApprovalRecord } from "../../parts/approval-card/approval-record.ts";
import { titleOf } from "../../parts/approval-card/card-words.ts";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { CheckBox } from "../../parts/field.tsx";
import { HostileText } from "../../parts/hostile-text.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { Time, useCountdown } from "../../parts/time.tsx";
import { useDesktopAlerts } from "../../shell/approval-alerts.ts";
import { useKeys } from "../../shell/keyboard.ts";
import { useTitle } from "../../shell/page-title.ts";
import type { PageProps } from "../page.ts";
import styles from "./approvals.module.css";
import { DecidedList } from "./decided-list.tsx";

/** What waits for a person, the nearest deadline first. Each is decided by itself. */
export function ApprovalsPage({ params }: PageProps) {
  useTitle("Approvals");
  const [, navigate] = useLocation();
  const { value, error } = useRecord("approvals.list", {});
  const waiting = (value?.approvals ?? []).toSorted((a, b) => (a.expires_at < b.expires_at ? -1 : 1));
  const chosen = waiting.find(({ id }) => id === params["id"]) ?? waiting[0];
  const step = (by: number): void => {
    const next = waiting[waiting.findIndex(({ id }) => id === chosen?.id) + by];
    if (next !== undefined) navigate(`/approvals/${next.id}`, { replace: true });
  };
  useKeys([
    { keys: "j", does: "next in the list", run: () => step(1) },
    { keys: "k", does: "the one before it", run: () => step(-1) },
  ]);
  return (
    <div className={styles["page"]}>
      <header className={styles["head"]}>
        <h1>Approvals</h1>
        <DesktopSwitch />
      </header>
      {error !== null && <ErrorNote error={error} />}
      {value === undefined && error === null && <Skeleton rows={4} />}
      {value !== undefined && waiting.length === 0 && (
        <EmptyState sentence="Nothing waits for you. What needs your approval comes here and into its chat.">
          <Link href="/chat">Go to the chat</Link>
        </EmptyState>
      )}
      {chosen !== undefined && (
        <div className={styles["columns"]}>
          <ul className={styles["list"]} aria-label="Waiting">
            {waiting.map((approval) => (
              <li key={approval.id}>
                <Row approval={approval} isChosen={approval.id === chosen.id} />
              </li>
            ))}
          </ul>
          <div className={styles["card"]}>
            <ApprovalCard key={chosen.id} approval={chosen} />
          </div>
        </div>
      )}
      <DecidedList />
    </div>
  );
}

function DesktopSwitch() {
  const { isOn, set } = useDesktopAlerts();
  const [isRefused, setRefused] = useState(false);
  return (
    <div>
      <CheckBox isOn={isOn} onChange={async (next) => setRefused(!(await set(next)))}>
        Tell me on the desktop when one waits
      </CheckBox>
      {isRefused && (
        <p className={styles["minor"]}>This browser does not let the page. Allow it in its site settings.</p>
      )}
    </div>
  );
}

function Row({ approval, isChosen }: { approval: ApprovalRecord; isChosen: boolean }) {
  const { id, tool, created_at, expires_at } = approval;
  const { before, named, after } = titleOf(approval);
  const left = useCountdown(expires_at);
  return (
    <Link href={`/approvals/${id}`} replace className={styles["row"]} aria-current={isChosen ? "true" : undefined}>
      <span className={styles["title"]}>
        {before}
        <HostileText text={named} isDeciding />
        {after}
      </span>
      <span className={styles["left"]}>{left ?? "lapsed"}</span>
      <span className={styles["minor"]}>
        {tool} · asked <Time at={created_at} />
      </span>
    </Link>
  );
}
