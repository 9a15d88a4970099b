/** The store's contract: slots for sends that need no approval. */
import { describe, expect, test } from "vitest";
import type { CommitResult } from "../../../src/runtime/ports/store.ts";
import { fresh, hashOf } from "../store-samples.ts";
import { expectRefused, type StoreFixture } from "./store-fixture.ts";

export function describeSendSlots(fixture: StoreFixture): void {
  const { barrier } = fixture;
  describe("send slots", () => {
    const HOUR_MS = 3_600_000;
    let day = 0;
    /** Slots are counted over the whole home, so each test uses another day. */
    const aDay = (): number => {
      day += 1;
      return day * 24 * HOUR_MS;
    };
    const take = (name: string, atMs: number, limit: number): Promise<CommitResult> =>
      barrier({ type: "take-send-slot", id: hashOf(name), atMs, sinceMs: atMs - HOUR_MS, limit });

    test("at most `limit` slots are taken in an hour, however many runs ask at once", async () => {
      const atMs = aDay();
      const names = Array.from({ length: 9 }, () => fresh("slot"));
      const taken = await Promise.allSettled(names.map((name) => take(name, atMs, 4)));
      expect(taken.map(({ status }) => status === "fulfilled")).toEqual(names.map((_, index) => index < 4));
      await expectRefused(take(fresh("slot"), atMs + HOUR_MS - 1, 4), "store.conflict");
      await take(fresh("slot"), atMs + HOUR_MS, 4);
    });

    test("a slot is counted once within its hour, and again after it", async () => {
      const atMs = aDay();
      const [mine, other] = [fresh("slot"), fresh("slot")];
      await take(mine, atMs, 1);
      await take(mine, atMs + 1, 1);
      await expectRefused(take(other, atMs + 2, 1), "store.conflict");
      // Not moved by being asked for again: its hour is over.
      await take(other, atMs + HOUR_MS, 1);
      await expectRefused(take(mine, atMs + HOUR_MS + 1, 1), "store.conflict");
    });

    test("a limit of 0 or NaN refuses, and a refusal leaves nothing behind", async () => {
      const atMs = aDay();
      for (const limit of [0, Number.NaN]) await expectRefused(take(fresh("slot"), atMs, limit), "store.conflict");
      await take(fresh("slot"), atMs, 1);
    });

    test("slots survive reopening", async () => {
      const atMs = aDay();
      await take(fresh("slot"), atMs, 1);
      await fixture.reopen();
      await expectRefused(take(fresh("slot"), atMs, 1), "store.conflict");
    });
  });
}
