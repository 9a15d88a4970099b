import type { AnswerOf } from "../../data/client.ts";
import { Hash } from "../../parts/mono.tsx";
import { Seal } from "../../parts/seal.tsx";
import { Tag } from "../../parts/tag.tsx";
import { useSignatureOf } from "../../verify/use-signature.ts";
import type { VerifiedRun } from "../../verify/use-verified-run.ts";
import styles from "./run.module.css";

/** Verdigris only for what this page has checked, all of it, and nothing spoke against it. */
export function SealOfRun({ verified: { checked, isChecking } }: { verified: VerifiedRun }) {
  if (checked === null) return isChecking ? <Tag>checking…</Tag> : null;
  const { bad, total, digest, checked: count } = checked;
  if (bad !== null) return <Tag tone="fail">entry {bad.entry} is bad</Tag>;
  if (digest.here !== digest.gateway) return <Tag tone="fail">another state than claimed</Tag>;
  if (count < total || total === 0) return <Tag>{`${count} of ${total} entries checked…`}</Tag>;
  return (
    <Tag tone="proof" icon={<Seal size={13} closed />}>
      {`${count} of ${total} entries verified here`}
    </Tag>
  );
}

interface SealWordsProps {
  readonly verified: VerifiedRun;
  readonly run: AnswerOf<"runs.get"> | undefined;
}

/** What was checked, in words, and what was not. */
export function SealWords({ verified: { checked, tookMs, isChecking }, run }: SealWordsProps) {
  const signature = useSignatureOf(run?.receipt);
  if (checked === null || isChecking || checked.bad !== null) return null;
  const { digest, erased, checked: count } = checked;
  if (digest.here === null || digest.here !== digest.gateway) return null;
  return (
    <p className={styles["checked"]}>
      {`${count} ${count === 1 ? "entry" : "entries"} checked in ${Math.max(1, Math.round(tookMs))} ms by this page: chain, machine and texts. `}
      Same state as the gateway (<Hash value={digest.here} />
      ). {signature !== null && `${signature} `}
      {erased > 0 && `${erased === 1 ? "1 text was" : `${erased} texts were`} erased; that breaks nothing. `}
      {checked.isEnded && (
        <>
          Independent check: export it, then <code>surety verify FILE</code>.
        </>
      )}
    </p>
  );
}
