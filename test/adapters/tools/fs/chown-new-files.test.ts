/** The owner of new files. As root the owners are real; for other users nothing may change. */
import { chown, lstat, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { chownNewDirectory } from "../../../../src/adapters/tools/fs/chown-new-files.ts";
import { closeDirectory, openRoot } from "../../../../src/adapters/tools/fs/directory-handle.ts";
import { temporaryWorkspace } from "./temporary-workspace.ts";

const isRoot = process.getuid?.() === 0;
const SELF = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
const NEW_FILE_OWNER = { uid: 65_531, gid: 65_531 };
const OTHER = { uid: 65_530, gid: 65_529 };
/** Only root can give. */
const asRoot = (owner: typeof NEW_FILE_OWNER) => (isRoot ? owner : SELF);

async function ownerOf(path: string) {
  const { uid, gid } = await lstat(path);
  return { uid, gid };
}

async function give(path: string, { uid, gid }: typeof NEW_FILE_OWNER): Promise<void> {
  if (isRoot) await chown(path, uid, gid);
}

describe("as root", () => {
  test("new files in root's directories belong to the new file owner, new directories included", async () => {
    const { root, call } = await temporaryWorkspace(undefined, NEW_FILE_OWNER);
    expect(await call("fs.write_text", { path: "a/b/c.txt", text: "x" })).toMatchObject({ ok: true });
    for (const path of ["a", "a/b", "a/b/c.txt"])
      expect(await ownerOf(join(root, path)), path).toEqual(asRoot(NEW_FILE_OWNER));
    expect((await lstat(join(root, "a/b/c.txt"))).mode & 0o777).toBe(0o600);
    expect(await ownerOf(root)).toEqual(SELF);
  });

  test("a new file in another user's directory belongs to that user", async () => {
    const { root, call } = await temporaryWorkspace(undefined, NEW_FILE_OWNER);
    await mkdir(join(root, "theirs"));
    await give(join(root, "theirs"), OTHER);
    expect(await call("fs.write_text", { path: "theirs/d/new.txt", text: "x" })).toMatchObject({ ok: true });
    for (const path of ["theirs/d", "theirs/d/new.txt"])
      expect(await ownerOf(join(root, path)), path).toEqual(asRoot(OTHER));
    await give(join(root, "theirs"), { ...OTHER, gid: 0 });
    expect(await call("fs.write_text", { path: "theirs/e.txt", text: "x" })).toMatchObject({ ok: true });
    expect(await ownerOf(join(root, "theirs/e.txt"))).toEqual(asRoot({ ...OTHER, gid: NEW_FILE_OWNER.gid }));
  });

  test("an edited file stays whose it was; what the tools keep for themselves stays root's", async () => {
    const { root, annex, call } = await temporaryWorkspace(undefined, NEW_FILE_OWNER);
    await writeFile(join(root, "a.txt"), "one");
    await give(join(root, "a.txt"), OTHER);
    expect(await call("fs.edit", { path: "a.txt", old_text: "one", new_text: "two" })).toMatchObject({ ok: true });
    expect(await ownerOf(join(root, "a.txt"))).toEqual(asRoot(OTHER));
    expect(await call("fs.delete", { path: "a.txt" })).toMatchObject({ ok: true });
    for (const path of ["", "trash", "edits"]) expect(await ownerOf(join(annex, path)), path).toEqual(SELF);
  });

  test("a directory that is not empty is not chowned", async () => {
    const { root, workspace } = await temporaryWorkspace();
    await mkdir(join(root, "full"));
    await writeFile(join(root, "full/secret.txt"), "x");
    const parent = openRoot(root, workspace.traversal, NEW_FILE_OWNER);
    const full = openRoot(join(root, "full"), workspace.traversal, NEW_FILE_OWNER);
    chownNewDirectory(full, parent);
    closeDirectory(full);
    closeDirectory(parent);
    expect(await ownerOf(join(root, "full"))).toEqual(SELF);
  });
});

test("without a new file owner, files keep their creator", async () => {
  const { root, call } = await temporaryWorkspace();
  await mkdir(join(root, "theirs"));
  await give(join(root, "theirs"), OTHER);
  expect(await call("fs.write_text", { path: "theirs/a/b.txt", text: "x" })).toMatchObject({ ok: true });
  for (const path of ["theirs/a", "theirs/a/b.txt"]) expect(await ownerOf(join(root, path)), path).toEqual(SELF);
});
