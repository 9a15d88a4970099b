/** A used home whose database was lost: nothing is made in its place, and the way back is named. */
import { readFile, rename, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { main } from "../../src/boot/main.ts";
import { capturedStreams } from "./captured-streams.ts";
import { temporaryHome } from "./temporary-home.ts";

async function usedHome() {
  const home = await temporaryHome();
  const surety = async (...words: readonly string[]) => {
    const streams = capturedStreams();
    const code = await main(["--home", home.directory, ...words], streams, () => undefined);
    return { code, ...streams.written() };
  };
  const backup = join(home.directory, "..", "backup.db");
  expect(await surety("run", "list files")).toMatchObject({ code: 0 });
  expect(await surety("backup", backup)).toMatchObject({ code: 0 });
  return { home, surety, backup };
}

const LOSSES: readonly (readonly [string, (file: string) => Promise<void>, RegExp])[] = [
  [
    "deleted",
    (file) => rm(file),
    /^error store\.missing: .*surety\.db is gone.*\nRestore a backup: surety restore FILE\./,
  ],
  ["emptied", (file) => truncate(file), /^error store\.corrupt: .*surety\.db is empty.*\nRestore a backup/],
];
const COMMANDS = [
  ["run", "list files"],
  ["start", "--port", "0"],
  ["runs", "ls"],
  ["verify"],
  ["backup"],
  ["caps", "ls"],
];

test.each(LOSSES)("%s: every command fails and creates nothing; a backup restores it", async (_, lose, told) => {
  const { home, surety, backup } = await usedHome();
  await lose(home.database);
  for (const words of COMMANDS) {
    expect([words, await surety(...words)]).toEqual([
      words,
      { code: 1, stdout: "", stderr: expect.stringMatching(told) },
    ]);
  }
  expect((await stat(home.database).catch(() => ({ size: 0 }))).size).toBe(0);
  expect(await surety("restore", backup)).toMatchObject({ code: 0 });
  expect((await surety("runs", "ls", "--json")).stdout).toContain('"total": 1');
});

test.each(LOSSES)("%s: without its key the home starts afresh", async (_, lose) => {
  const { home, surety } = await usedHome();
  await lose(home.database);
  const key = join(home.keysDirectory, "signing-key.pem");
  await rename(key, `${key}.old`);
  expect(await surety("run", "list files")).toMatchObject({ code: 0 });
  expect((await surety("runs", "ls", "--json")).stdout).toContain('"total": 1');
});

test("the log of an emptied database stays, also when a backup replaces the database", async () => {
  const { home, surety, backup } = await usedHome();
  await truncate(home.database);
  await writeFile(`${home.database}-wal`, "what was not carried over yet");
  expect(await surety("run", "list files")).toMatchObject({ code: 1 });
  expect(await surety("restore", backup)).toMatchObject({ code: 0 });
  expect(await readFile(`${home.database}.replaced-1-wal`, "utf8")).toBe("what was not carried over yet");
});
