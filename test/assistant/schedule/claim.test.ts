/** A slot is claimed once, however many try. */
import { afterEach, expect } from "vitest";
import { USER_LABELS } from "../../../src/kernel/vocabulary/labels.ts";
import { temporaryHome } from "../../adapters/store-sqlite/temporary-home.ts";
import { verifies } from "../../requirements.ts";

const temporary = temporaryHome();
afterEach(() => temporary.dispose());

verifies("X-11/nodes", "of two processes that settle one slot, the second is refused and leaves nothing", async () => {
  const store = await temporary.open();
  const record = { id: "job", agentID: "main", schedule: "@every 10s", message: "x", enabled: true, lastRun: null };
  const terms = {
    ...({
      createdAt: "2026-01-01T00:00:00.000Z",
      principal: "operator",
      channel: "cli",
      channelClass: "cli_local",
    } as const),
    ...{ labels: USER_LABELS, runId: null, sessionId: null, reply: null, isUnattended: null, maxSpendUsd: null },
  };
  await store.commit([{ type: "add-job", job: { record, terms, dueMs: 10, everyMs: 10_000 }, maxJobs: 1 }], "barrier");
  const one = { count: 1, firstMs: 10, lastMs: 10, status: "skipped", reason: "busy", runId: null } as const;
  const settle = { type: "settle-slots", jobId: "job", slot: 1, settled: [one], nextMs: 10_010, atMs: 11 } as const;
  const settled = await Promise.allSettled([store.commit([settle], "barrier"), store.commit([settle], "barrier")]);
  expect(settled).toMatchObject([{ status: "fulfilled" }, { status: "rejected", reason: { code: "store.conflict" } }]);
  expect(await store.findJob("job")).toMatchObject({
    slot: 2,
    dueMs: 10_010,
    counts: { ran: 0, skipped: 1, missed: 0 },
  });
  expect(await store.listSlots("job", { limit: 10, offset: 0 })).toHaveLength(1);
});
