/** The store's contract: ghosts, what the shadow loop proposed. */
import { describe, expect, test } from "vitest";
import { asRunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import type { NewGhost } from "../../../src/runtime/ports/stored-ghost.ts";
import { fresh, hashOf } from "../store-samples.ts";
import { expectRefused, type StoreFixture } from "./store-fixture.ts";

const KEEP = 1_000;
const RUN = asRunId("run_of_ghost");

export function describeGhosts(fixture: StoreFixture): void {
  const { barrier } = fixture;
  let atMs = 1_000_000;
  const ghostOf = (subject = fresh("subject")): NewGhost => {
    atMs += 1_000;
    return {
      ...{ id: fresh("ghost"), subject, detector: "syntax-error", path: "/w/a.json", confidence: "high" },
      ...{ trigger: "file changed", observation: "an error", proposal: "fix it?", createdAtMs: atMs },
      actions: [
        { label: "Fix it", type: "approve", plan: { id: hashOf("plan"), message: "fix it" } },
        { label: "Dismiss", type: "dismiss" },
      ],
    };
  };
  const insert = (ghost: NewGhost, keep = KEEP) => barrier({ type: "insert-ghost", ghost, keep });
  const decide = (id: string, state: "acted" | "dismissed" | "settled", runId: typeof RUN | null = null) =>
    barrier({ type: "decide-ghost", id, state, by: "operator", atMs: 7, runId });
  const OPEN = { state: null, decidedBy: null, decidedAtMs: null, runId: null };

  describe("ghosts", () => {
    test("are kept over reopening, and the last of a subject is found", async () => {
      const [first, other] = [ghostOf(), ghostOf()];
      await insert(first);
      await insert(other);
      await fixture.reopen();
      expect(await fixture.store.findGhost(first.id)).toEqual({ ...first, ...OPEN, state: "open" });
      expect(await fixture.store.latestGhostOf(first.subject)).toMatchObject({ id: first.id });
      expect(await fixture.store.findGhost("ghost_none")).toBeNull();
      expect(await fixture.store.latestGhostOf("nothing")).toBeNull();
      const [newest] = await fixture.store.listGhosts({ state: null }, { limit: 1, offset: 0 });
      expect(newest?.id).toBe(other.id);
      expect(await fixture.store.ghostTimes(first.createdAtMs - 1, 1)).toEqual([other.createdAtMs]);
      expect(await fixture.store.ghostTimes(first.createdAtMs, 9)).toEqual([other.createdAtMs]);
    });

    test("of one subject at most one is open", async () => {
      const [first, second] = [ghostOf("same"), ghostOf("same")];
      await insert(first);
      await insert(second);
      expect(await fixture.store.findGhost(first.id)).toMatchObject({ state: "settled", decidedBy: null });
      expect(await fixture.store.latestGhostOf("same")).toMatchObject({ id: second.id, state: "open" });
    });

    test("are decided once; the same decision again changes nothing", async () => {
      const [one, other] = [ghostOf(), ghostOf()];
      await insert(one);
      await insert(other);
      await decide(one.id, "acted", RUN);
      await decide(one.id, "acted", RUN);
      const acted = { state: "acted", decidedBy: "operator", decidedAtMs: 7, runId: RUN };
      expect(await fixture.store.findGhost(one.id)).toMatchObject(acted);
      await expectRefused(decide(one.id, "dismissed"), "store.conflict");
      await expectRefused(decide("ghost_none", "dismissed"), "store.conflict");
      await decide(other.id, "dismissed");
      const dismissed = await fixture.store.listGhosts({ state: "dismissed" }, { limit: 1, offset: 0 });
      expect(dismissed.map(({ id }) => id)).toEqual([other.id]);
    });

    test("beyond what is kept, the oldest go", async () => {
      const [old, last] = [ghostOf(), ghostOf()];
      await insert(old);
      await insert(last, 1);
      expect(await fixture.store.findGhost(old.id)).toBeNull();
      expect(await fixture.store.findGhost(last.id)).not.toBeNull();
    });
  });
}
