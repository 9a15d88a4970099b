/** A page of a run's entries costs what it gives, however long the run is. */
import { expect } from "vitest";
import { readEntries } from "../../../src/assistant/verification/read-entries.ts";
import { toLine } from "../../../src/kernel/journal/journal-lines.ts";
import { digestOf, snapshotOfEntries } from "../../../src/kernel/journal/views/run-snapshot.ts";
import type { Store, StoredRun } from "../../../src/runtime/ports/store.ts";
import { call, calls } from "../../kernel/journal/views/run-script.ts";
import { RUN_ID, writeRun } from "../../kernel/journal/views/write-run.ts";
import { verifies } from "../../requirements.ts";

const TURNS = 60;
const LIMIT = 3;
/** Of the page itself, and of what lies before it up to the last COMMIT. */
const MOST_READ = LIMIT + 32;

verifies("M-D", "a page in the middle of a long run reads only what it gives, and knows its digest", async () => {
  const { entries, contract } = writeRun(
    Array.from({ length: TURNS }, () => calls(call("http.get"))),
    "answered",
  );
  const lines = entries.map(toLine);
  let read = 0;
  const store: Pick<Store, "readEntries" | "headOf" | "readBodies"> = {
    readEntries(_runId, after, limit) {
      const found = lines.slice(after, after + limit);
      read += found.length;
      return Promise.resolve(found);
    },
    headOf: () => Promise.resolve({ seq: lines.length, hash: entries.at(-1)?.hash ?? contract.contractHash }),
    readBodies: () => Promise.resolve(new Map()),
  };
  const run = { runId: RUN_ID, contractHash: contract.contractHash, ended: null } as StoredRun;
  for (let after = 0; after <= lines.length; after += 1) {
    read = 0;
    const page = await readEntries(store as Store, run, after, LIMIT);
    expect(read).toBeLessThanOrEqual(MOST_READ);
    expect(page).toMatchObject({ seq: Math.min(after + LIMIT, lines.length), total: lines.length, damage: null });
    const whole = snapshotOfEntries(RUN_ID, contract.contractHash, entries.slice(0, page.seq));
    expect(page.digest).toBe(digestOf(whole));
  }
});
