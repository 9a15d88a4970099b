/** F3: the disk is full, by a limit on the database and, where this process may mount one, on a small disk. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { SqliteStore, SqliteStoreOptions } from "../../../src/adapters/store-sqlite/open-sqlite-store.ts";
import { asSessionId } from "../../../src/kernel/vocabulary/identifiers.ts";
import type { Store } from "../../../src/runtime/ports/store.ts";
import { newBody, newSession } from "../../runtime/store-samples.ts";
import { mayMount, mountDisk } from "./mounted-disk.ts";
import { type TemporaryHome, temporaryHome } from "./temporary-home.ts";

const SESSION = asSessionId("ses_full");

interface Disk {
  /** Options that make the store run into the end of the disk. */
  readonly small: Partial<SqliteStoreOptions>;
  makeRoom(): void;
  remove(): void;
}

function limitedDatabase(): Disk {
  return { small: { maxPages: 200 }, makeRoom: () => undefined, remove: () => undefined };
}

function smallDisk(home: string): Disk {
  const disk = mountDisk(home, "size=1m,mode=700");
  return { small: {}, makeRoom: () => disk.change("size=64m"), remove: () => disk.remove() };
}

const DISKS: readonly (readonly [string, (home: string) => Disk])[] = [
  ["a database that may not grow", limitedDatabase],
  ...(mayMount() ? ([["a small disk", smallDisk]] as const) : []),
];

let temporary: TemporaryHome;
let disk: Disk | null = null;
beforeEach(() => {
  temporary = temporaryHome();
});
afterEach(async () => {
  disk?.remove();
  disk = null;
  await temporary.dispose();
});

test.each(DISKS)(
  "%s: refused at once and for good; after room was made all that was promised is there",
  async (_, make) => {
    disk = make(temporary.home);
    const store = await temporary.open(disk.small);
    await store.commit([newSession(SESSION)], "barrier");
    const told: unknown[] = [];
    store.onUnavailable((error) => told.push(error));

    const { kept, error } = await fillUp(store);
    expect(error).toMatchObject({ code: "store.unavailable" });
    expect(told).toEqual([error]);
    await expect(store.commit([], "barrier")).rejects.toMatchObject({ code: "store.unavailable" });
    expect(kept.length).toBeGreaterThan(0);
    await expectKept(store, kept);
    await store.close();

    disk.makeRoom();
    const reopened = await temporary.open();
    await expectKept(reopened, kept);
    await reopened.commit([{ type: "put-bodies", sessionId: SESSION, bodies: [newBody("after")] }], "barrier");
  },
);

/** Several at once, until the first is refused. */
async function fillUp(store: SqliteStore) {
  const kept: ReturnType<typeof newBody>[] = [];
  for (;;) {
    const bodies = [1, 2, 3].map(() => newBody("x".repeat(20_000)));
    const ended = await Promise.allSettled(
      bodies.map((body) => store.commit([{ type: "put-bodies", sessionId: SESSION, bodies: [body] }], "barrier")),
    );
    kept.push(...bodies.filter((_, index) => ended[index]?.status === "fulfilled"));
    const refused = ended.find((result) => result.status === "rejected");
    if (refused !== undefined) return { kept, error: refused.reason as unknown };
  }
}

async function expectKept(
  store: Store,
  kept: readonly { readonly ref: ReturnType<typeof newBody>["ref"] }[],
): Promise<void> {
  expect(
    (
      await store.readBodies(
        SESSION,
        kept.map(({ ref }) => ref),
        null,
      )
    ).size,
  ).toBe(kept.length);
}
