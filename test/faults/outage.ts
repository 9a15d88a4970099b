/**
 * Nothing can be written for a while: what a working gateway must do about it, and after it (F3, F4).
 *
 * U1. It comes to refuse runs with 503 `store.unavailable`, says so in a line on stderr, and stays alive.
 * U2. Where nothing at all can be written, no effect is performed: there is no durable intent for it. (A full disk may
 *     still take something small; that no intent was missing shows in the end, when no effect has happened twice.)
 * U3. When writing is possible again it accepts by itself, and everything accepted before comes to its end.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { AcceptedJobs } from "./accepted-jobs.ts";
import type { GatewayProcess } from "./gateway-process.ts";
import { type Job, postJob } from "./job.ts";
import type { Stage } from "./stage.ts";

interface Outage {
  readonly round: number;
  /** Returns how it is ended. */
  begin(): Promise<() => Promise<void>>;
  /** Nothing at all can be written meanwhile. */
  readonly isTotal: boolean;
  /** What the line on stderr says. */
  readonly expected: RegExp;
}

const WIDE = 16;
const LIMIT_MS = 60_000;
const END_LIMIT_MS = 120_000;
/** Long enough for several attempts at opening the home again. */
const DOWN_MS = 2_000;
/** Posts take room: a disk that is full for others may still hold a few of ours. */
const PADDING = 12_000;

export async function outage(
  stage: Stage,
  gateway: GatewayProcess,
  jobs: AcceptedJobs,
  { round, begin, isTotal, expected }: Outage,
) {
  const problems: string[] = [];
  const saidBefore = gateway.stderr.length;
  let next = round * 1_000_000;
  const refusals = new Map<string, number>();
  const post = async (): Promise<boolean> => {
    const job: Job = { number: next, letters: "oko" };
    next += 1;
    const posted = await postJob(gateway, job, "x".repeat(PADDING));
    if (posted.kind === "accepted") jobs.accept(posted.runId, job);
    if (posted.kind === "refused") {
      const reason = `${posted.status} ${posted.code}`;
      refusals.set(reason, (refusals.get(reason) ?? 0) + 1);
    }
    if (posted.kind === "unknown") problems.push("a request was not answered");
    return posted.kind === "accepted";
  };
  const postUntil = async (isAccepted: boolean): Promise<boolean> => {
    for (const until = performance.now() + LIMIT_MS; performance.now() < until && !gateway.isGone; ) {
      const accepted = await Promise.all(Array.from({ length: isAccepted ? 1 : WIDE }, post));
      if (accepted.some((one) => one === isAccepted)) return true;
      if (isAccepted) await pause(100);
    }
    return false;
  };

  await Promise.all(Array.from({ length: WIDE }, post));
  const end = await begin();
  try {
    if (!(await postUntil(false))) problems.push("it went on accepting");
    // What had a durable intent by then may still be on its way.
    await pause(500);
    const performed = stage.ledger.total;
    for (const until = performance.now() + DOWN_MS; performance.now() < until; ) {
      if ((await post()) && isTotal) problems.push("it accepted a run while nothing could be written");
      await pause(100);
    }
    const meanwhile = stage.ledger.total - performed;
    if (meanwhile > 0 && isTotal) problems.push(`${meanwhile} effects while nothing could be written`);
  } finally {
    await end();
  }
  const healedAt = performance.now();
  if (!(await postUntil(true))) problems.push("it did not come back");
  const backMs = Math.round(performance.now() - healedAt);
  await jobs.bringToEnd(stage, gateway, END_LIMIT_MS);
  if (gateway.isGone) problems.push(`the process ended: ${gateway.stderr.join(" | ")}`);
  const said = gateway.stderr.slice(saidBefore);
  if (!said.some((line) => expected.test(line))) problems.push(`it said: ${said.join(" | ")}`);
  for (const reason of refusals.keys()) {
    if (reason !== "503 store.unavailable") problems.push(`it refused with ${reason}`);
  }
  const refused = [...refusals].map(([reason, count]) => `${count} × ${reason}`).join(", ");
  return { problems, figures: { refused, "back after ms": backMs, said: said[0] ?? "nothing" } };
}
