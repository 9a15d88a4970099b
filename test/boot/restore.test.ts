/** `surety backup` and `surety restore`: what goes there and back, and what is said when it cannot. */
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { main } from "../../src/boot/main.ts";
import { capturedStreams } from "./captured-streams.ts";
import { temporaryDirectory } from "./temporary-home.ts";

async function surety(directory: string, ...words: readonly string[]) {
  const streams = capturedStreams();
  const code = await main(["--home", directory, ...words], streams, () => undefined);
  return { code, ...streams.written() };
}

/** Two homes with a run each, and a backup of the first. */
async function twoHomes() {
  const directory = await temporaryDirectory();
  const [one, other, file] = [join(directory, "one"), join(directory, "other"), join(directory, "one.db")];
  for (const home of [one, other]) await surety(home, "run", "list files");
  await surety(one, "backup", file);
  return { directory, one, other, file };
}

describe("a backup of another home", () => {
  test("is restored, and that is said, with the names of both", async () => {
    const { one, other, file } = await twoHomes();
    const { code, stdout, stderr } = await surety(other, "restore", file, "--json");
    const { home_id, replaced_home_id } = JSON.parse(stdout);
    expect([code, home_id]).toEqual([0, expect.not.stringMatching(replaced_home_id)]);
    expect(stderr).toBe(
      `warning restore.other-home: this home was ${replaced_home_id} and is now ${home_id}; copy that home's keys/ as well, or its signatures do not verify\n`,
    );
    expect(JSON.parse((await surety(one, "restore", file, "--json")).stdout).home_id).toBe(home_id);
  });

  test("that an earlier version wrote is known by its name, too", async () => {
    const { one, file } = await twoHomes();
    const db = new DatabaseSync(file);
    db.exec("PRAGMA user_version = 3");
    db.close();
    const { code, stdout, stderr } = await surety(one, "restore", file, "--json");
    const { home_id, replaced_home_id } = JSON.parse(stdout);
    expect([code, home_id, stderr]).toEqual([0, replaced_home_id, ""]);
  });

  test("that a newer version wrote is refused as what it is", async () => {
    const { one, file } = await twoHomes();
    const db = new DatabaseSync(file);
    db.exec("PRAGMA user_version = 999");
    db.close();
    const { code, stderr } = await surety(one, "restore", file);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^error store\.newer-schema: The backup was written by/)]);
  });

  test("of this one, or where none was, is nothing to speak of", async () => {
    const { directory, one, file } = await twoHomes();
    for (const home of [one, join(directory, "fresh")]) {
      expect(await surety(home, "restore", file)).toMatchObject({ code: 0, stderr: "" });
      expect((await surety(home, "runs", "ls", "--json")).stdout).toContain('"total": 1');
    }
    expect(await readdir(join(directory, "fresh"))).toEqual(expect.arrayContaining(["keys", "workspace"]));
  });
});

describe("what cannot be done is said in a line with a code, and one that helps", () => {
  const HELP = "Name a file that surety backup wrote.";

  test("a file that is no backup, is not there, or is a directory", async () => {
    const { directory, one } = await twoHomes();
    const text = join(directory, "text");
    await writeFile(text, "a host name\n");
    const before = await readdir(one);
    for (const [source, problem] of [
      [text, "is not a backup, or is damaged; nothing was changed"],
      [join(directory, "none"), "cannot be read (ENOENT)"],
      [directory, "is not a file"],
    ]) {
      const { code, stderr } = await surety(one, "restore", source ?? "");
      expect([code, stderr]).toEqual([1, `error backup.unusable: ${source} ${problem}\n${HELP}\n`]);
    }
    expect(await readdir(one)).toEqual(before);
  });

  test("a backup into a directory that is not there", async () => {
    const { directory, one } = await twoHomes();
    const { code, stderr } = await surety(one, "backup", join(directory, "none", "x.db"));
    expect([code, stderr]).toEqual([
      1,
      `error backup.unwritable: you may not write to ${join(directory, "none")} (ENOENT)\nCreate that directory, or name a file in another one.\n`,
    ]);
  });
});
