import { Link } from "wouter";
import type { AnswerOf } from "../../data/client.ts";
import { dollars } from "../../parts/dollars.ts";
import { Mono } from "../../parts/mono.tsx";
import { Seal } from "../../parts/seal.tsx";
import { Tag } from "../../parts/tag.tsx";
import { durationWords } from "../../parts/time.tsx";
import { hrefOf, PAGES } from "../all-pages.ts";
import styles from "./chat.module.css";
import { useVerdict } from "./use-verdict.ts";

type Run = AnswerOf<"runs.get">;

/** What an answer cost and how it came about, from its signed receipt. */
export function ReceiptLine({ run }: { run: Run }) {
  const { receipt, outcome, duration_ms, id, provider, model } = run;
  if (outcome === null) return null;
  return (
    <p className={styles["receipt"]}>
      <Checked run={run} />
      {outcome.startsWith("COMPLETED") ? <Mono>{outcome}</Mono> : <Tag tone="fail">{outcome}</Tag>}
      <Mono>{receipt?.model ?? `${provider}:${model}`}</Mono>
      {receipt !== undefined && <span>{receipt.tokens.toLocaleString("en")} tokens</span>}
      {receipt !== undefined && <span>{costWords(receipt)}</span>}
      <span>{durationWords(duration_ms)}</span>
      <RunLink id={id} />
    </p>
  );
}

/** Verdigris only if this page checked the whole run, and the answer shown is the one that was recorded. */
function Checked({ run: { id, head_hash, output } }: { run: Run }) {
  const verdict = useVerdict(id, head_hash);
  if (verdict === null) return null;
  const bad =
    verdict.bad ?? (verdict.answer === null || verdict.answer === output ? null : "another answer is recorded");
  if (bad !== null) return <Tag tone="fail">not whole: {bad}</Tag>;
  return (
    <Tag tone="proof" icon={<Seal size={13} closed />}>
      verified here
    </Tag>
  );
}

function costWords({ cost_usd, known_cost_usd, is_estimate }: NonNullable<Run["receipt"]>): string {
  const about = is_estimate === true ? "about " : "";
  if (cost_usd !== null) return `${about}${dollars(cost_usd)}`;
  return known_cost_usd === undefined ? "price unknown" : `at least ${dollars(known_cost_usd)}`;
}

const RUNS = PAGES.find(({ path }) => path.startsWith("/runs"));

/** Leads to the run's page where there is one. */
function RunLink({ id }: { id: string }) {
  const name = <>run {id.slice(-4)}</>;
  return RUNS === undefined ? <Mono title={id}>{name}</Mono> : <Link href={`${hrefOf(RUNS)}/${id}`}>{name}</Link>;
}
