/** What a home costs must not grow with what it holds: bytes per step, and the rows a list has to walk over. */
import { statSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connectReader, databaseFile } from "../../../src/adapters/store-sqlite/connection.ts";
import { LIST_QUERIES } from "../../../src/adapters/store-sqlite/list-reads.ts";
import { newBody, runOfItsOwn, SampleJournal } from "../../runtime/store-samples.ts";
import { type TemporaryHome, temporaryHome } from "./temporary-home.ts";

let temporary: TemporaryHome;
beforeEach(() => {
  temporary = temporaryHome();
});
afterEach(() => temporary.dispose());

test("a step late in a run takes no more bytes than an early one", async () => {
  const { runId, sessionId, writes } = runOfItsOwn();
  const journal = new SampleJournal(runId);
  await (await temporary.open()).commit(writes, "barrier");
  const sizes: number[] = [];
  for (let block = 0; block < 3; block += 1) {
    const store = await temporary.open();
    const steps = Array.from({ length: 200 }, () =>
      store.commit(
        [journal.append(5), { type: "put-bodies", sessionId, bodies: [newBody("y".repeat(300))] }],
        "barrier",
      ),
    );
    await Promise.all(steps);
    await store.close();
    sizes.push(statSync(databaseFile(temporary.home)).size);
  }
  const [first = 0, second = 0, third = 0] = sizes;
  expect((third - second) / (second - first)).toBeLessThan(1.1);
});

describe("no list walks over rows it does not show", () => {
  test.each(Object.entries(LIST_QUERIES))("%s", async (_, query) => {
    await (await temporary.open()).close();
    const db = connectReader(databaseFile(temporary.home));
    const plan = db
      .prepare(`EXPLAIN QUERY PLAN ${query}`)
      .all()
      .map((row) => String(row["detail"]));
    db.close();
    expect(plan).not.toEqual([]);
    expect(plan.filter((step) => /SCAN/.test(step) && !/USING|^SCAN run_states$/.test(step))).toEqual([]);
    expect(plan).toEqual([]);
  });
});
