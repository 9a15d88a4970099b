/** Runs on a home, then changes of the policy state through the same writes that governance makes, then replays. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { replayStoredRun } from "../../src/assistant/verification/replay-stored-run.ts";
import { DEFAULT_CONFIG } from "../../src/boot/config/default-config.ts";
import { findHome, openHome } from "../../src/boot/home.ts";
import { openSurety } from "../../src/boot/open-surety.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { systemRandomness } from "../../src/boot/system-randomness.ts";
import { advance, newTier } from "../../src/kernel/governance/governor.ts";
import { measureRun } from "../../src/kernel/governance/perf-vector.ts";
import { hashWire } from "../../src/kernel/vocabulary/hash.ts";
import { asRunId, type RunId } from "../../src/kernel/vocabulary/identifiers.ts";
import { noApprover } from "../../src/runtime/ports/approver.ts";
import type { Store } from "../../src/runtime/ports/store.ts";
import { CALM, failed, LIMITS, retried } from "../kernel/governance/population.ts";
import { derive } from "../simulate/random.ts";

const MESSAGES = ["list files", "hello", "read notes.txt", "write hello to a.txt"] as const;
const REQUEST = {
  ...{ agentId: "main", sessionId: null, model: null, thinkingMode: null, contract: {}, approvedTools: [] },
  ...{ source: "test", principal: "operator", idempotencyKey: null },
} as const;
/** Windows are short, and nothing that is tried is good or bad for a reason: so the state changes all the time. */
const QUICK = { warmupRuns: 1, windowRuns: 3, freezeRuns: 0, tolerance: 0.05, errors: 0.1 };
const KINDS = [
  CALM,
  retried("protocol.truncated"),
  failed("FAILED_BUDGET_EXHAUSTED", "budget.tokens"),
  failed("FAILED_BUDGET_EXHAUSTED", "cycle"),
  failed("FAILED_TIMEOUT", "run.timeout"),
  { ...CALM, calls: { proposed: 4, skipped: 0, duplicate: 3 } },
];
const AT = "2026-11-19T00:00:00.000Z";

export interface Campaign {
  readonly runs: number;
  readonly changes: number;
  readonly ledgerEntries: number;
  readonly differences: readonly string[];
}

export async function replayAfterChanges(runs: number, changes: number): Promise<Campaign> {
  const directory = await mkdtemp(join(tmpdir(), "surety-governance-"));
  try {
    return await campaign(directory, runs, changes);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function campaign(directory: string, runs: number, changes: number): Promise<Campaign> {
  const home = findHome(join(directory, "home"), () => undefined);
  await openHome(home);
  const surety = await openSurety({
    ...{ home, clock: systemClock, random: systemRandomness, token: null, approver: noApprover, workers: 16 },
    ...{ config: { ...DEFAULT_CONFIG, governance: { enabled: true } }, readVariable: () => undefined },
    onDefect: (_id, error) => {
      throw error;
    },
  });
  try {
    const { assistant, store } = surety;
    const ids: RunId[] = [];
    for (let from = 0; from < runs; from += 50) {
      const batch = Array.from({ length: Math.min(50, runs - from) }, (_, index) => MESSAGES[index % MESSAGES.length]);
      const ended = batch.map(async (message = "hello") => {
        const submitted = await assistant.submit({ ...REQUEST, message });
        if (!submitted.ok) throw new Error(submitted.message);
        const updates = (await assistant.watch(submitted.runId, 0, new AbortController().signal)) ?? [];
        for await (const _ of updates);
        return submitted.runId;
      });
      ids.push(...(await Promise.all(ended)));
    }
    const before = await Promise.all(ids.map((id) => store.findRun(id)));
    const { made, ledgerEntries } = await changeState(store, changes);
    const differences: string[] = [];
    for (const [at, id] of ids.entries()) {
      const run = await store.findRun(id);
      const replayed = run === null ? null : await replayStoredRun(store, run, null);
      const isSame =
        run?.contract === before[at]?.contract &&
        replayed?.isReproduced === true &&
        replayed.headHash === replayed.recordedHead &&
        replayed.outcome === before[at]?.outcome;
      if (!isSame) differences.push(`${id}: differs at entry ${replayed?.divergedAt ?? "?"}`);
    }
    return { runs: ids.length, changes: made, ledgerEntries, differences };
  } finally {
    await surety.close(1000);
  }
}

/** As governance writes them: the vector, then the tier's record with the change and its ledger entry. */
async function changeState(store: Store, changes: number): Promise<{ made: number; ledgerEntries: number }> {
  const random = derive(7, "campaign");
  const { seq } = await store.ledgerHead();
  const tier = "premium";
  let [record, version, made] = [newTier(tier), 0, 0];
  for (let index = 0; made < changes && index < 1_000 * changes; index += 1) {
    // The same trouble for a while; what is on trial goes well every other time.
    const trouble = KINDS[Math.floor(index / 20) % KINDS.length] ?? CALM;
    const run = record.trial !== null && random.chance(50) ? CALM : trouble;
    const { state } = record;
    const measured = measureRun(run, { ...LIMITS, stepLimitMultiplier: state.stepLimitMultiplier }, 0);
    if (measured === null) continue;
    const runId = asRunId(`run_simulated_${index}`);
    const { record: next, change } = advance({ ...record, pauses: [] }, { runId, state, measured }, QUICK);
    record = next;
    if (change === null) continue;
    const { recent, ...rest } = record;
    const stored = { ...rest, recentRuns: recent.length, lastRunId: runId };
    const performance = {
      runId,
      tier,
      endedAt: AT,
      measured: JSON.stringify(measured),
      state: JSON.stringify(state),
    } as const;
    await store.commit([{ type: "record-performance", ledgerSeq: seq, performance }], "lazy");
    const hashes = { before: hashWire(change.before), after: hashWire(change.after) };
    version += 1;
    await store.commit(
      [
        {
          type: "advance-tier",
          tier: { tier, version, record: JSON.stringify(stored) },
          change: { tier, runId, at: AT, by: "governance", cause: change.cause, change: JSON.stringify(change) },
          draft: { kind: "policy.delta", ts: AT, actor: "governance", data: { runId, ...hashes } },
        },
      ],
      "barrier",
    );
    made += 1;
  }
  return { made, ledgerEntries: (await store.ledgerHead()).seq - seq };
}
