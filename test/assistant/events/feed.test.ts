import { describe, expect, onTestFinished, test } from "vitest";
import { Feed, type FeedUpdate } from "../../../src/assistant/events/feed.ts";
import { ManualClock } from "../../adapters/gateway/manual-clock.ts";
import { verifies } from "../../requirements.ts";

const MAX = 3;

function openFeed() {
  const clock = new ManualClock();
  return { clock, feed: new Feed(clock, "p1", MAX) };
}

function readerOf(feed: Feed, after: string | null = null) {
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const updates = feed.follow(after, leaving.signal);
  return {
    leave: () => leaving.abort(),
    next: async (): Promise<FeedUpdate | undefined> => (await updates.next()).value ?? undefined,
    /** Names of the next changes. */
    async take(count: number): Promise<readonly string[]> {
      const names: string[] = [];
      while (names.length < count) names.push(nameOf((await updates.next()).value ?? undefined));
      return names;
    },
  };
}

function nameOf(update: FeedUpdate | undefined): string {
  if (update?.kind !== "changed") return update?.kind ?? "end";
  const { record, id } = update.changed;
  return id === null ? record : `${record} ${id}`;
}

describe("the feed of changed records", () => {
  verifies(
    "T-1.2",
    "a reader that was away hears of each record it missed once, in the order of last changes",
    async () => {
      const { feed } = openFeed();
      const first = readerOf(feed);
      const ready = await first.next();
      expect(ready).toEqual({ kind: "ready", cursor: "p1.0" });
      first.leave();
      for (const id of ["a", "b", "a"]) feed.changed("run", id);
      feed.changed("budget", null);
      const again = readerOf(feed, ready?.cursor ?? "");
      expect(await again.take(3)).toEqual(["run b", "run a", "budget"]);
    },
  );

  test("in mid-burst it comes back to the rest, without a repeat", async () => {
    const { feed } = openFeed();
    for (const id of ["a", "b", "c"]) feed.changed("run", id);
    const first = readerOf(feed, "p1.0");
    expect(await first.take(1)).toEqual(["run a"]);
    first.leave();
    expect(await readerOf(feed, "p1.1").take(2)).toEqual(["run b", "run c"]);
  });

  test.each([
    ["older than what is kept", "p1.0"],
    ["of another process", "p0.1"],
    ["of the future", "p1.99"],
    ["nonsense", "p1.1x"],
    ["negative", "p1.-1"],
    ["padded", "p1.01"],
    ["empty", ""],
  ])("a cursor that is %s is answered with reset, and with a place to go on from", async (_, cursor) => {
    const { feed, clock } = openFeed();
    for (let id = 0; id < MAX + 1; id += 1) feed.changed("run", String(id));
    const reader = readerOf(feed, cursor);
    const reset = await reader.next();
    expect(reset).toEqual({ kind: "reset", cursor: "p1.4" });
    const following = reader.take(1);
    feed.changed("run", "new");
    clock.advance(100);
    expect(await following).toEqual(["run new"]);
  });

  test("a burst is heard of once; what changes meanwhile, after a pause", async () => {
    const { feed, clock } = openFeed();
    const reader = readerOf(feed);
    await reader.next();
    for (let times = 0; times < 50; times += 1) feed.changed("run", "a");
    expect(await reader.take(1)).toEqual(["run a"]);
    let isHeard = false;
    const following = reader.next().then((update) => {
      isHeard = true;
      return update;
    });
    feed.changed("run", "a");
    clock.advance(99);
    await new Promise((resolve) => setImmediate(resolve));
    expect(isHeard).toBe(false);
    clock.advance(1);
    expect(await following).toEqual({ kind: "changed", cursor: "p1.51", changed: { record: "run", id: "a" } });
  });

  test("a slow reader holds nothing: what was forgotten meanwhile is a reset", async () => {
    const { feed, clock } = openFeed();
    const reader = readerOf(feed);
    await reader.next();
    feed.changed("run", "a");
    expect(await reader.take(1)).toEqual(["run a"]);
    for (let id = 0; id < 1000; id += 1) feed.changed("run", String(id));
    const following = reader.next();
    clock.advance(100);
    expect(await following).toEqual({ kind: "reset", cursor: "p1.1001" });
  });

  test("a reader that leaves while it waits is gone, and so is its timer", async () => {
    const { feed, clock } = openFeed();
    for (const isPaused of [true, false]) {
      const reader = readerOf(feed);
      await reader.next();
      if (isPaused) {
        feed.changed("run", "a");
        await reader.next();
      }
      const following = reader.next();
      reader.leave();
      expect([await following, clock.pending]).toEqual([undefined, 0]);
    }
  });

  test("a feed that closes ends its readers with an interruption, not with an end", async () => {
    const { feed } = openFeed();
    const reader = readerOf(feed);
    await reader.next();
    const following = reader.next();
    feed.close();
    await expect(following).rejects.toMatchObject({ code: "store.unavailable" });
  });
});
