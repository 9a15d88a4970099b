/** The owner of new files. As root the owners are real; for other users nothing may change. */
import { chown, lstat, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { chownNewDirectory } from "../../../../src/adapters/tools/fs/chown-new-files.ts";
import { openRoot } from "../../../../src/adapters/tools/fs/directory-handle.ts";
import { temporaryWorkspace } from "./temporary-workspace.ts";

const isRoot = process.getuid?.() === 0;
const SELF = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
const OTHER = { uid: 65_530, gid: 65_529 };
/** Only root can give. */
const asRoot = (owner: typeof OTHER) => (isRoot ? owner : SELF);

async function ownerOf(path: string) {
  const { uid, gid } = await lstat(path);
  return { uid, gid };
}

async function give(path: string, { uid, gid }: typeof OTHER): Promise<void> {
  if (isRoot) await chown(path, uid, gid);
}

describe("as root", () => {
  test("new files in root's directories belong to root, new directories included", async () => {
    const { root, call } = await temporaryWorkspace();
    expect(await call("fs.write_text", { path: "a/b/c.txt", text: "x" })).toMatchObject({ ok: true });
    for (const path of ["", "a", "a/b", "a/b/c.txt"]) expect(await ownerOf(join(root, path)), path).toEqual(SELF);
    expect((await lstat(join(root, "a/b/c.txt"))).mode & 0o777).toBe(0o600);
  });

  test("a new file in another user's directory belongs to that user", async () => {
    const { root, call } = await temporaryWorkspace();
    await mkdir(join(root, "theirs"));
    await give(join(root, "theirs"), OTHER);
    expect(await call("fs.write_text", { path: "theirs/d/new.txt", text: "x" })).toMatchObject({ ok: true });
    for (const path of ["theirs/d", "theirs/d/new.txt"])
      expect(await ownerOf(join(root, path)), path).toEqual(asRoot(OTHER));
  });

  test("an edited file stays whose it was; what the tools keep for themselves stays root's", async () => {
    const { root, annex, call } = await temporaryWorkspace();
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
    await give(root, OTHER);
    using parent = openRoot(root, workspace.traversal);
    using full = openRoot(join(root, "full"), workspace.traversal);
    chownNewDirectory(full, parent);
    expect(await ownerOf(join(root, "full"))).toEqual(SELF);
  });
});
