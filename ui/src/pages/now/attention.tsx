import { CircleAlert, CircleCheck } from "lucide-react";
import { Link } from "wouter";
import { useRecord } from "../../data/records.ts";
import { Card } from "../../parts/card.tsx";
import { HostileText } from "../../parts/hostile-text.tsx";
import { Mono } from "../../parts/mono.tsx";
import styles from "./now.module.css";

/** Approvals have their cards above. */
const isNews = ({ code }: { readonly code: string }): boolean => !code.startsWith("approval.");

/** What the gateway says is wrong with the home; who may not ask sees none of it. */
export function Attention() {
  const { value } = useRecord("admin.status", {});
  if (value === undefined) return null;
  const { attention, model, sandbox, version, queue } = value;
  return (
    <Card title="This home" aside={<Link href="/settings">Settings</Link>}>
      <ul className={styles["checks"]}>
        {attention.filter(isNews).map(({ code, message }) => (
          <li key={code + message} className={styles["wrong"]}>
            <CircleAlert size={16} aria-hidden="true" />
            <span>
              <HostileText text={message} /> <Mono>{code}</Mono>
            </span>
          </li>
        ))}
        {model.ref !== null && model.problem === null && (
          <li>
            <CircleCheck size={16} aria-hidden="true" />
            <span>
              Model <Mono>{model.ref}</Mono>
            </span>
          </li>
        )}
        {sandbox.ready && (
          <li>
            <CircleCheck size={16} aria-hidden="true" />
            <span>Commands run in a sandbox</span>
          </li>
        )}
        <li>
          <CircleCheck size={16} aria-hidden="true" />
          <span>
            {queue.running} of {queue.workers} workers busy, {queue.queued} of {queue.max.toLocaleString("en")} places
            in the queue taken. Surety {version}
          </span>
        </li>
      </ul>
    </Card>
  );
}
