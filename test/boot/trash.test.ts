/** `surety trash`: what a run deleted comes back by hand. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { main } from "../../src/boot/main.ts";
import { capturedStreams } from "./captured-streams.ts";
import { temporaryDirectory } from "./temporary-home.ts";

async function openHome() {
  const directory = join(await temporaryDirectory(), "home");
  const workspace = join(directory, "workspace");
  await mkdir(workspace, { recursive: true });
  const surety = async (...words: readonly string[]) => {
    const streams = capturedStreams();
    const code = await main(["--home", directory, ...words], streams, () => undefined);
    return { code, ...streams.written() };
  };
  const remove = (path: string) => surety("tools", "call", "fs.delete", JSON.stringify({ path }), "--yes");
  const listed = async () => JSON.parse((await surety("trash", "ls", "--json")).stdout).trash;
  return { workspace, surety, remove, listed };
}

test("what was deleted is listed and comes back, byte for byte", async () => {
  const { workspace, surety, remove, listed } = await openHome();
  expect(await listed()).toEqual([]);
  await writeFile(join(workspace, "notes.txt"), "keep me\n");
  expect(await remove("notes.txt")).toMatchObject({ code: 0 });
  await expect(readFile(join(workspace, "notes.txt"))).rejects.toMatchObject({ code: "ENOENT" });
  const [trashed] = await listed();
  expect(trashed).toMatchObject({ path: "notes.txt", type: "file", bytes: 8 });
  expect(await surety("trash", "restore", trashed.id)).toMatchObject({ code: 0, stdout: "restored notes.txt\n" });
  expect(await readFile(join(workspace, "notes.txt"), "utf8")).toBe("keep me\n");
  expect(await listed()).toEqual([]);
});

test("nothing is replaced, and what is not there is said in one line", async () => {
  const { workspace, surety, remove, listed } = await openHome();
  await writeFile(join(workspace, "a.txt"), "old");
  await remove("a.txt");
  await writeFile(join(workspace, "a.txt"), "new");
  const [trashed] = await listed();
  const refused = await surety("trash", "restore", trashed.id);
  expect(refused.code).toBe(1);
  expect(refused.stderr.trim().split("\n").length).toBeLessThanOrEqual(2);
  expect(await readFile(join(workspace, "a.txt"), "utf8")).toBe("new");
  expect(await listed()).toHaveLength(1);
  for (const id of ["", "../../etc", "0123456789abcdef-0123456789abcdef"]) {
    expect((await surety("trash", "restore", id)).code).not.toBe(0);
  }
});

test("emptied, it is gone for good: all of it, or what was deleted long ago", async () => {
  const { workspace, surety, remove, listed } = await openHome();
  for (const name of ["a.txt", "b.txt"]) {
    await writeFile(join(workspace, name), name);
    await remove(name);
  }
  expect(await surety("trash", "empty", "--older-than", "1")).toMatchObject({
    code: 0,
    stdout: "removed 0 (0 bytes)\n",
  });
  const [trashed, ...others] = await listed();
  expect(others).toHaveLength(1);
  expect(await surety("trash", "empty")).toMatchObject({ code: 0, stdout: "removed 2 (10 bytes)\n", stderr: "" });
  expect(await listed()).toEqual([]);
  expect((await surety("trash", "restore", trashed.id)).code).toBe(1);
  expect((await surety("trash", "empty", "--older-than", "soon")).code).toBe(2);
});
