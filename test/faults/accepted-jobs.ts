/**
 * The jobs that were accepted, and what must be true of them in the end, whatever happened to the process.
 *
 * A1. Each has one run, which has ended.
 * A2. No opaque effect happened twice. It happened once, unless somebody was told that it did not and let it be.
 * A3. A keyed effect happened under one key.
 * A4. Every effect whose teller died before it was answered was asked about.
 * A5. What nobody was told is accepted may be there or not; when it is there, the same holds for it.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { GatewayProcess } from "./gateway-process.ts";
import { effectsOf, type Job } from "./job.ts";
import type { Stage } from "./stage.ts";

interface Record {
  readonly status: string;
  readonly outcome: string | null;
  readonly reason: string | null;
}

function endOf(record: Record | undefined): string {
  return record === undefined
    ? "not at all"
    : [record.outcome, record.reason].filter((part) => part !== null).join(" ");
}

export class AcceptedJobs {
  readonly #jobs = new Map<string, Job>();
  readonly #records = new Map<string, Record>();
  readonly problems: string[] = [];

  get size(): number {
    return this.#jobs.size;
  }

  accept(runId: string, job: Job): void {
    this.#jobs.set(runId, job);
  }

  outcomes(): string {
    const counts: { [outcome: string]: number } = {};
    for (const record of this.#records.values()) counts[endOf(record)] = (counts[endOf(record)] ?? 0) + 1;
    return Object.entries(counts)
      .sort()
      .map(([outcome, count]) => `${count} ${outcome}`)
      .join(", ");
  }

  /** Answers questions until every job has ended, or the process has. */
  async bringToEnd(stage: Stage, gateway: GatewayProcess, limitMs: number): Promise<void> {
    const open = new Set([...this.#jobs.keys()].filter((runId) => !this.#records.has(runId)));
    for (const until = performance.now() + limitMs; open.size > 0 && !gateway.isGone && performance.now() < until; ) {
      await stage.operator.answerAll(gateway);
      const batch = [...open].slice(0, 200);
      await Promise.all(batch.map((runId) => this.#look(gateway, runId, open)));
      if (open.size > 0) await pause(20);
    }
    if (open.size > 0 && !gateway.isGone) {
      this.problems.push(`${open.size} accepted runs have not ended: ${[...open].slice(0, 3).join(" ")}`);
    }
  }

  async #look(gateway: GatewayProcess, runId: string, open: Set<string>): Promise<void> {
    const reply = await gateway.ask("GET", `/v1/runs/${runId}`);
    if (reply === null) return;
    if (reply.status === 404) {
      this.problems.push(`the accepted run ${runId} is lost`);
      open.delete(runId);
    }
    if (reply.status !== 200) return;
    const record = reply.body as Record;
    if (!["completed", "failed", "cancelled"].includes(record.status)) return;
    this.#records.set(runId, record);
    open.delete(runId);
  }

  /** What is wrong, now that everything has ended. */
  check({ ledger, operator }: Stage): readonly string[] {
    const problems = [...this.problems, ...operator.problems];
    for (const [runId, job] of this.#jobs) {
      const outcome = this.#records.get(runId)?.outcome ?? "none";
      if (!outcome.startsWith("COMPLETED_")) {
        problems.push(`${runId} (job ${job.number}: ${job.letters}) ended ${endOf(this.#records.get(runId))}`);
        continue;
      }
      for (const effect of effectsOf(job, "o")) {
        const mayBeMissing = operator.said.get(effect)?.includes("fail") === true;
        if (!ledger.opaque.has(effect) && !mayBeMissing) problems.push(`${effect} is said to be done and is not`);
      }
      for (const effect of effectsOf(job, "k")) {
        if (!ledger.keyed.has(effect)) problems.push(`${effect} (keyed) is said to be done and is not`);
      }
    }
    for (const [effect, times] of ledger.opaque) {
      if (times > 1) problems.push(`${effect} happened ${times} times; asked: ${operator.said.get(effect) ?? "never"}`);
    }
    for (const [effect, { keys }] of ledger.keyed) {
      if (keys.size > 1 || keys.has("none")) problems.push(`${effect} (keyed) had the keys ${[...keys].join(" ")}`);
    }
    for (const [job, runs] of ledger.runsOf) {
      if (runs.size > 1) problems.push(`job ${job} was ${runs.size} runs`);
    }
    for (const effect of ledger.gaps) {
      if (!operator.said.has(effect)) problems.push(`${effect} was interrupted and nobody was asked about it`);
    }
    return problems;
  }
}
