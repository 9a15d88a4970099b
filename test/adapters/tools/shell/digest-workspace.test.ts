/** The fingerprint of a workspace: what changes it, what does not, and what is too much. */
import { chmod, link, mkdir, mkdtemp, rename, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openWorkspace } from "../../../../src/adapters/tools/fs/workspace.ts";
import { digestWorkspace } from "../../../../src/adapters/tools/shell/digest-workspace.ts";

async function filledWorkspace() {
  const base = await mkdtemp(join(tmpdir(), "surety-digest-"));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  const workspace = await openWorkspace(join(base, "workspace"));
  await mkdir(join(workspace.root, "sub/.git"), { recursive: true });
  await writeFile(join(workspace.root, "a"), "one");
  await writeFile(join(workspace.root, "sub/.git/config"), "one");
  await symlink("a", join(workspace.root, "link"));
  return workspace;
}

test("it stays as long as nothing is changed, and counts what there is", async () => {
  const workspace = await filledWorkspace();
  const before = await digestWorkspace(workspace);
  expect(before.entries).toBe(5);
  expect(await digestWorkspace(workspace)).toEqual(before);
  await writeFile(join(workspace.root, "../outside"), "x");
  expect(await digestWorkspace(workspace)).toEqual(before);
});

test.each<[string, (root: string) => Promise<unknown>]>([
  ["a content of the same length", (root) => writeFile(join(root, "a"), "two")],
  ["a content deep down", (root) => writeFile(join(root, "sub/.git/config"), "two")],
  ["another name", (root) => rename(join(root, "a"), join(root, "b"))],
  ["another file", (root) => writeFile(join(root, "sub/b"), "")],
  ["an empty directory", (root) => mkdir(join(root, "sub/b"))],
  ["a mode", (root) => chmod(join(root, "a"), 0o755)],
  ["a directory's mode", (root) => chmod(join(root, "sub"), 0o700)],
  ["a second name elsewhere", (root) => link(join(root, "a"), join(root, "../a"))],
  ["a link that leads elsewhere", (root) => rm(join(root, "link")).then(() => symlink("b", join(root, "link")))],
  ["one thing less", (root) => rm(join(root, "link"))],
])("%s changes it", async (_, change) => {
  const workspace = await filledWorkspace();
  await chmod(join(workspace.root, "sub"), 0o755);
  const { hash } = await digestWorkspace(workspace);
  await change(workspace.root);
  expect((await digestWorkspace(workspace)).hash).not.toBe(hash);
});

test("times that were set back do not hide a change", async () => {
  const workspace = await filledWorkspace();
  const path = join(workspace.root, "a");
  await utimes(path, 1_000, 1_000);
  const { hash } = await digestWorkspace(workspace);
  await writeFile(path, "two");
  await utimes(path, 1_000, 1_000);
  expect((await stat(path)).mtimeMs).toBe(1_000_000);
  expect((await digestWorkspace(workspace)).hash).not.toBe(hash);
});

test("more than can be looked at is refused, with what to do about it", async () => {
  const workspace = await filledWorkspace();
  expect((await digestWorkspace(workspace, 5)).entries).toBe(5);
  const refused = {
    code: "invalid.request",
    message: expect.stringMatching(/more than 4 entries.*out of the workspace/),
  };
  await expect(digestWorkspace(workspace, 4)).rejects.toMatchObject(refused);
  const deep = await filledWorkspace();
  await mkdir(join(deep.root, "d/".repeat(70)), { recursive: true });
  await expect(digestWorkspace(deep)).rejects.toMatchObject({ code: "invalid.request" });
});

test("a name that is no text is refused: what lies there could not be bound", async () => {
  const workspace = await filledWorkspace();
  await mkdir(Buffer.concat([Buffer.from(`${workspace.root}/`), Buffer.from([0xff])]));
  await expect(digestWorkspace(workspace)).rejects.toMatchObject({ code: "invalid.request" });
});
