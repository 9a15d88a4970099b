/** The store's contract: the outbox. */
import { describe, expect, test } from "vitest";
import { ENDED_AT, fresh, newBody } from "../store-samples.ts";
import { expectRefused, type StoreFixture } from "./store-fixture.ts";

export function describeOutbox(fixture: StoreFixture): void {
  const { barrier, insertRun } = fixture;
  describe("outbox", () => {
    test("waiting messages are listed until they are settled", async () => {
      const { runId } = await insertRun();
      const rows = [1, 2, 3].map(() => ({
        id: fresh("out"),
        runId,
        channel: "telegram",
        bodyRef: newBody("x").ref,
        createdAt: ENDED_AT,
      }));
      await barrier(...rows.map((row) => ({ type: "insert-outbox", ...row }) as const));
      await barrier({ type: "settle-outbox", id: rows[1]?.id ?? "", state: "ambiguous" });
      const waiting = await fixture.store.waitingOutbox({ limit: 100, offset: 0 });
      expect(waiting).toEqual([rows[0], rows[2]].map((row) => ({ ...row, state: "waiting" })));
      expect(await fixture.store.waitingOutbox({ limit: 1, offset: 1 })).toEqual(waiting.slice(1));
      const [again] = rows.map((row) => ({ type: "insert-outbox", ...row }) as const);
      if (again !== undefined) await expectRefused(barrier(again), "store.conflict");
      await expectRefused(barrier({ type: "settle-outbox", id: "out_none", state: "sent" }), "store.conflict");
    });
  });
}
