import { mkdir, readdir, realpath, symlink, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { findWorkspace } from "../../src/boot/find-workspace.ts";
import { openHome } from "../../src/boot/home.ts";
import { temporaryHome } from "./temporary-home.ts";

/** A home in a directory where there is a project, a file, and links that lead to odd places. */
async function homeAmongOthers() {
  const home = await temporaryHome();
  await openHome(home);
  const around = dirname(home.directory);
  await mkdir(join(around, "project"));
  await mkdir(join(home.workspace, "inner"));
  await writeFile(join(around, "file"), "");
  await symlink(join(around, "nowhere"), join(around, "dangling"));
  await symlink(home.keysDirectory, join(around, "to-keys"));
  return { home, around };
}

describe("the workspace", () => {
  test("is the home's own where none is named", async () => {
    const { home } = await homeAmongOthers();
    expect((await findWorkspace(home, undefined)).root).toBe(await realpath(home.workspace));
  });

  test.each([
    ["../project", "project"],
    ["workspace", "home/workspace"],
    ["workspace/inner", "home/workspace/inner"],
  ])("%s is meant from the home", async (named, found) => {
    const { home, around } = await homeAmongOthers();
    expect((await findWorkspace(home, named)).root).toBe(join(await realpath(around), found));
  });

  test("may begin with ~", async () => {
    const { home, around } = await homeAmongOthers();
    const named = `~/${relative(homedir(), join(around, "project"))}`;
    expect((await findWorkspace(home, named)).root).toBe(join(await realpath(around), "project"));
  });

  test.each([
    [".", /contains the home/],
    ["..", /contains the home/],
    ["/", /contains the home/],
    ["keys", /lies inside the home/],
    ["agents", /lies inside the home/],
    ["logs", /lies inside the home/],
    ["../to-keys", /lies inside the home/],
    ["../nope", /nope does not exist$/],
    ["../nope/deeper", /deeper does not exist$/],
    ["../file", /file is not a directory$/],
    ["../file/deeper", /cannot be used \(ENOTDIR\)$/],
    ["../dangling", /dangling is a broken link$/],
  ])("%s is refused in a line that names it, and nothing is made", async (named, why) => {
    const { home, around } = await homeAmongOthers();
    const before = await readdir(around, { recursive: true });
    await expect(findWorkspace(home, named)).rejects.toMatchObject({
      code: "config.invalid",
      message: expect.stringMatching(why),
    });
    await expect(findWorkspace(home, named)).rejects.toThrow(/^tools\.workspace: /);
    expect(await readdir(around, { recursive: true })).toEqual(before);
  });
});
