/** The newest runs that have ended, verified by this page: one after the other, off the main thread. */
import { useEffect, useState } from "react";
import { Link } from "wouter";
import { useRecord } from "../../data/records.ts";
import { Card } from "../../parts/card.tsx";
import { Seal } from "../../parts/seal.tsx";
import { Tag } from "../../parts/tag.tsx";
import { verifyRun } from "../../verify/verify-run.ts";
import styles from "./now.module.css";

const NEWEST = 20;

type Verdict = { readonly bad: string | null };

/** What this page has found of ended runs, which do not change by themselves. */
const found = new Map<string, Verdict>();

export function VerifiedRuns() {
  const { value } = useRecord("runs.list", { limit: NEWEST });
  const ended = value?.runs.filter(({ outcome }) => outcome !== null) ?? [];
  const wanted = ended.map(({ id, head_hash }) => `${id} ${head_hash}`).join("\n");
  const [, redraw] = useState(0);
  useEffect(() => {
    let isWanted = true;
    verifyAll(
      wanted.split("\n").filter((key) => key !== ""),
      () => {
        redraw((count) => count + 1);
        return isWanted;
      },
    );
    return () => {
      isWanted = false;
    };
  }, [wanted]);
  if (ended.length === 0) return null;
  const verdicts = ended.map(({ id, head_hash }) => ({ id, verdict: found.get(`${id} ${head_hash}`) }));
  const bad = verdicts.filter(({ verdict }) => verdict !== undefined && verdict.bad !== null);
  const checked = verdicts.filter(({ verdict }) => verdict !== undefined).length;
  const isDone = checked === ended.length;
  return (
    <Card>
      <div className={styles["verified"]}>
        {bad.length === 0 && isDone && (
          <Tag tone="proof" icon={<Seal size={13} closed />}>
            verified here
          </Tag>
        )}
        {bad.length > 0 && <Tag tone="fail">{bad.length === 1 ? "1 run is bad" : `${bad.length} runs are bad`}</Tag>}
        {!isDone && bad.length === 0 && <Tag>{`${checked} of ${ended.length} runs checked…`}</Tag>}
        <span>
          {bad.length === 0 &&
            isDone &&
            (ended.length === 1
              ? "The newest run is whole."
              : `The ${ended.length} newest runs, all chains whole.`)}{" "}
          <Link href="/runs">See runs</Link>
        </span>
      </div>
      {bad.map(({ id, verdict }) => (
        <p key={id} className={styles["bad"]}>
          <Link href={`/runs/${id}`}>run {id.slice(-4)}</Link> {verdict?.bad}
        </p>
      ))}
    </Card>
  );
}

async function verifyAll(keys: readonly string[], told: () => boolean): Promise<void> {
  for (const key of keys) {
    if (found.has(key)) continue;
    const [id = ""] = key.split(" ");
    try {
      const { bad, digest } = await verifyRun(id);
      const isSame = digest.here === digest.gateway;
      const words =
        bad === null ? (isSame ? null : "leads to another state than it claims") : `entry ${bad.entry}: ${bad.problem}`;
      found.set(key, { bad: words });
    } catch {
      // Not read this time: the next change of the list asks again.
      return;
    }
    if (!told()) return;
  }
}
