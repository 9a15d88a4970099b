/** The store's contract: turns that were imported. */
import { describe, expect, test } from "vitest";
import { asRunId, asSessionId, type SessionId } from "../../../src/kernel/vocabulary/identifiers.ts";
import type { Write } from "../../../src/runtime/ports/store.ts";
import { COMPACTION_SOURCE } from "../../../src/runtime/run/run-rules.ts";
import { fresh, newRun, newSession } from "../store-samples.ts";
import { expectRefused, type StoreFixture } from "./store-fixture.ts";

export function describeImports(fixture: StoreFixture): void {
  const { barrier } = fixture;
  describe("imports", () => {
    const imports = (sessionId: SessionId, turns: readonly string[], source = fresh("source")): Write => {
      return { type: "import-turns", sessionId, source, activeAt: "2026-01-01T00:00:00.000Z", turns, messages: 7 };
    };
    const aSession = (): SessionId => asSessionId(fresh("ses"));
    const ALL = { after: 0, before: Number.MAX_SAFE_INTEGER };

    test("turns are numbered backwards from -1 and read from the last, by any range", async () => {
      const sessionId = aSession();
      const source = fresh("source");
      await barrier(newSession(sessionId), imports(sessionId, ["a", "b", "c"], source));
      const read = async (between: { after: number; before: number }, limit = 10) =>
        (await fixture.store.importedTurns(sessionId, between, limit)).map(({ position, turn }) => [position, turn]);
      const [a, b, c] = [
        [-3, "a"],
        [-2, "b"],
        [-1, "c"],
      ];
      expect(await read(ALL)).toEqual([a, b, c]);
      expect(await read(ALL, 2)).toEqual([b, c]);
      expect(await read({ after: 0, before: -1 }, 1)).toEqual([b]);
      expect(await read({ after: -2, before: 5 })).toEqual([c]);
      expect(await read({ after: 4, before: 9 })).toEqual([]);
      expect(await fixture.store.importedTurns(aSession(), ALL, 10)).toEqual([]);
      expect(await fixture.store.findImport(source)).toBe(sessionId);
      expect(await fixture.store.findImport(fresh("source"))).toBeNull();
      expect(await fixture.store.findSession(sessionId)).toMatchObject({
        ...{ importedMessages: 7, runs: 0, openRuns: 0, activeAt: "2026-01-01T00:00:00.000Z" },
      });
    });

    test("a conversation is imported once, and only into a session in which nothing was said", async () => {
      const [one, other, used] = [aSession(), aSession(), aSession()];
      const source = fresh("source");
      await barrier(newSession(one), imports(one, ["a"], source));
      await expectRefused(barrier(newSession(other), imports(other, ["a"], source)), "store.conflict");
      // The whole commit is undone.
      expect(await fixture.store.findSession(other)).toBeNull();
      await expectRefused(barrier(imports(one, ["b"])), "store.conflict");
      await barrier(newSession(used), newRun(asRunId(fresh("run")), used));
      await expectRefused(barrier(imports(used, ["a"])), "store.conflict");
      await expectRefused(barrier(imports(aSession(), ["a"])), "store.conflict");
      const isOneOpen = { runs: 1, openRuns: 1, importedMessages: 0 };
      expect(await fixture.store.findSession(used)).toMatchObject(isOneOpen);
      // Condensing says nothing.
      await barrier(newRun(asRunId(fresh("run")), used, { source: COMPACTION_SOURCE }));
      expect(await fixture.store.findSession(used)).toMatchObject(isOneOpen);
    });
  });
}
