/** kill -9 while many runs commit: acknowledged commits survive, and no transaction is partial. */
import { afterEach, expect, test } from "vitest";
import { checkIntegrity } from "../../../src/adapters/store-sqlite/check-database.ts";
import { toLedgerLine, verifyLedger } from "../../../src/kernel/journal/ledger.ts";
import { asBodyRef, asRunId, asSessionId } from "../../../src/kernel/vocabulary/identifiers.ts";
import type { Store } from "../../../src/runtime/ports/store.ts";
import { startChild } from "./child-process.ts";
import { temporaryHome } from "./temporary-home.ts";

const temporary = temporaryHome();
afterEach(() => temporary.dispose());

test("every acknowledged commit survives kill -9, and no transaction is partial", async () => {
  const reported: string[] = [];
  for (const [round, enough] of [1, 40, 300].entries()) {
    const child = startChild("./commit-forever.ts", temporary.home, String(round));
    while (countOf(reported, round) < enough) reported.push(await child.nextLine());
    reported.push(...(await child.kill("SIGKILL")));
    const store = await temporary.open();
    await expectWhole(store, reported);
    await store.close();
    expect(checkIntegrity(temporary.home)).toEqual([]);
  }
});

function countOf(reported: readonly string[], round: number): number {
  return reported.filter((line) => line.startsWith(`run_${round}_`)).length;
}

async function expectWhole(store: Store, reported: readonly string[]): Promise<void> {
  for (const line of reported) {
    const [runId = "", seq = "", ref = ""] = line.split(" ");
    const head = await store.headOf(asRunId(runId));
    expect(head?.seq).toBeGreaterThanOrEqual(Number(seq));
    expect((await store.readBodies(asSessionId(runId.replace("run_", "ses_")), [asBodyRef(ref)], null)).size).toBe(1);
  }
  const { runs } = await store.listRuns({ limit: 1000, offset: 0 });
  let expectedLedger = runs.length;
  for (const { runId } of runs) {
    const seq = (await store.headOf(runId))?.seq ?? 0;
    expect(seq % 3).toBe(0);
    expect(await store.readEntries(runId, 0, 100_000)).toHaveLength(seq);
    expectedLedger += seq / 3;
  }
  const lines = (await store.readLedger(0, 100_000)).map((entry) => `${toLedgerLine(entry)}\n`);
  expect(lines).toHaveLength(expectedLedger);
  expect(verifyLedger(lines.join(""), { homeId: store.homeId })).toMatchObject({ ok: true });
}
