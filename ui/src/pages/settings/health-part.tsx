import { CircleCheck } from "lucide-react";
import type { AnswerOf } from "../../data/client.ts";
import { refresh, useRecord } from "../../data/records.ts";
import { Button } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { Facts } from "../../parts/facts.tsx";
import { HostileText } from "../../parts/hostile-text.tsx";
import { Mono } from "../../parts/mono.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { durationWords, Time } from "../../parts/time.tsx";
import styles from "./settings.module.css";

type Status = AnswerOf<"admin.status">;

/** How the home is, and what needs attention. */
export function HealthPart() {
  const { value, error } = useRecord("admin.status", {});
  return (
    <>
      {error !== null && <ErrorNote error={error} />}
      {value === undefined && error === null && <Skeleton rows={5} />}
      {value !== undefined && <Health status={value} />}
    </>
  );
}

function Health({ status }: { status: Status }) {
  const { version, started_at, uptime_s, model, queue, store, sandbox, channels, restart_required, attention } = status;
  return (
    <>
      <Card
        title="What needs attention"
        aside={
          <Button tone="quiet" onClick={() => refresh("admin.status", {})}>
            Look again
          </Button>
        }
      >
        {attention.length === 0 && restart_required.length === 0 && (
          <p className={styles["fine"]}>
            <CircleCheck size={16} aria-hidden="true" /> Nothing needs attention.
          </p>
        )}
        <ul className={styles["attention"]}>
          {attention.map(({ code, message }) => (
            <li key={code + message}>
              <HostileText text={message} /> <Mono>{code}</Mono>
            </li>
          ))}
          {restart_required.length > 0 && (
            <li>
              Written, and without effect until the gateway is restarted: <Mono>{restart_required.join(", ")}</Mono>
            </li>
          )}
        </ul>
      </Card>
      <Card title="This gateway">
        <Facts
          rows={[
            ["Version", <Mono key="version">{version}</Mono>],
            ["Since", <Time key="since" at={started_at} />],
            ["Up for", durationWords(uptime_s * 1_000)],
            ["Model", <Mono key="model">{model.ref ?? "none"}</Mono>],
            ["Runs", `${queue.running} at work, ${queue.queued} queued, ${queue.waiting_approval} wait for you`],
            ["Queue", `room for ${queue.max.toLocaleString("en")}, ${queue.workers} workers`],
            ["Store", bytesWords(store.bytes)],
            ["Sandbox of commands", sandbox.ready ? "ready" : `not ready: install ${sandbox.missing.join(", ")}`],
            [
              "Channels",
              channels.length === 0 ? "none" : channels.map(({ name, kind }) => `${name} (${kind})`).join(", "),
            ],
          ]}
        />
      </Card>
    </>
  );
}

function bytesWords(bytes: number): string {
  if (bytes < 1_000_000) return `${Math.round(bytes / 1_000)} kB`;
  return bytes < 1_000_000_000 ? `${(bytes / 1_000_000).toFixed(1)} MB` : `${(bytes / 1_000_000_000).toFixed(2)} GB`;
}
