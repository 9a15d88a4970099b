import { mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { createPageCache } from "../../../../src/adapters/tools/http/page-cache.ts";
import type { Page } from "../../../../src/adapters/tools/http/read-page.ts";
import { verifies } from "../../../requirements.ts";
import { manualClock } from "../../models/manual-clock.ts";

const page = (text: string): Page => ({ url: "https://a.test/end", contentType: null, title: "T", text, isCut: true });

async function openCache(
  options: { readonly ttlS?: number; readonly maxBytes?: number; readonly redactText?: (text: string) => string } = {},
) {
  const home = await mkdtemp(join(tmpdir(), "surety-cache-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const file = join(home, "cache.db");
  const clock = manualClock();
  const open = () => createPageCache({ file, clock, ttlS: 60, ...options });
  return { home, file, clock, open, cache: open() };
}

test("a page comes back as it was, until it is stale; one from the future is stale", async () => {
  const { cache, clock } = await openCache();
  cache.write("https://a.test/", page("x"));
  expect(cache.read("https://a.test/")).toEqual({ page: page("x"), fetchedAtMs: clock.nowMs() });
  expect(cache.read("https://a.test/b")).toBeNull();
  clock.pass(-1);
  expect(cache.read("https://a.test/")).toBeNull();
  clock.pass(60_000);
  expect(cache.read("https://a.test/")).not.toBeNull();
  clock.pass(1);
  expect(cache.read("https://a.test/")).toBeNull();
});

test("nothing is made before it is needed, and all of it is private", async () => {
  const { home, cache } = await openCache();
  expect(await readdir(home)).toEqual([]);
  cache.write("https://a.test/", page("x"));
  for (const name of await readdir(home)) expect((await stat(join(home, name))).mode & 0o777, name).toBe(0o600);
});

test("the oldest go first, stale ones before", async () => {
  const { cache, clock } = await openCache({ maxBytes: 3500 });
  const at = (name: string) => `https://a.test/${name}`;
  const held = () => ["a", "b", "c", "d"].filter((name) => cache.read(at(name)) !== null).join("");
  for (const name of ["a", "b", "c"]) {
    cache.write(at(name), page("x".repeat(1000)));
    clock.pass(1000);
  }
  expect(held()).toBe("abc");
  cache.write(at("a"), page("y".repeat(1000)));
  clock.pass(1000);
  cache.write(at("d"), page("x".repeat(1000)));
  expect(held()).toBe("acd");
  cache.write(at("b"), page("x".repeat(4000)));
  expect(cache.read(at("b"))).toBeNull();
});

test("a damaged, truncated or outdated file is recreated", async () => {
  for (const damage of [
    (file: string) => writeFile(file, "no database ".repeat(1000)),
    (file: string) => truncate(file, 5000),
    (file: string) => {
      const db = new DatabaseSync(file);
      db.exec("PRAGMA user_version = 99; ALTER TABLE pages RENAME COLUMN text TO body");
      db.close();
    },
  ]) {
    const { file, open } = await openCache();
    seed(file, open);
    await damage(file);
    const cache = open();
    expect(cache.read("https://a.test/")).toBeNull();
    cache.write("https://a.test/", page("again"));
    expect(cache.read("https://a.test/")?.page.text).toBe("again");
  }
});

/** Writes a page and carries it over into the file itself, where damage finds it. */
function seed(file: string, open: () => ReturnType<typeof createPageCache>): void {
  open().write("https://a.test/", page("x".repeat(20_000)));
  const db = new DatabaseSync(file);
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
}

test("an unusable cache acts as an empty one", async () => {
  const { file, open } = await openCache();
  await mkdir(file);
  const blocked = open();
  blocked.write("https://a.test/", page("x"));
  expect(blocked.read("https://a.test/")).toBeNull();
  await rm(file, { recursive: true });

  const locked = open();
  locked.write("https://a.test/", page("x"));
  const other = new DatabaseSync(file);
  onTestFinished(() => other.close());
  other.exec("BEGIN IMMEDIATE");
  locked.write("https://a.test/b", page("y"));
  expect(locked.read("https://a.test/b")).toBeNull();
  expect(locked.read("https://a.test/")).not.toBeNull();
  other.exec("ROLLBACK");
});

verifies(
  "P-4.5/secrets",
  "what a page says of a secret is redacted before it is kept; an address that holds one is not kept",
  async () => {
    const secret = "canary-Zq9.vLm2-Tx4wRb8";
    const redactText = (text: string) => text.replaceAll(secret, "[REDACTED:N]");
    const { home, cache } = await openCache({ redactText });
    cache.write("https://a.test/", { ...page(`It is ${secret}.`), title: secret });
    expect(cache.read("https://a.test/")?.page).toEqual({ ...page("It is [REDACTED:N]."), title: "[REDACTED:N]" });
    cache.write(`https://a.test/?q=${secret}`, page("x"));
    cache.write("https://a.test/b", { ...page("x"), url: `https://a.test/${secret}` });
    expect(cache.read("https://a.test/b")).toBeNull();
    const texts = await Promise.all((await readdir(home)).map((name) => readFile(join(home, name), "latin1")));
    expect(texts.join("")).not.toContain(secret);
  },
);
