import { chmod, mkdir, readdir, stat, symlink, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { openBuiltInTools } from "../../src/boot/built-in-tools.ts";
import { DEFAULT_CONFIG } from "../../src/boot/config/default-config.ts";
import { findHome, openHome } from "../../src/boot/home.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { citedTitle } from "../requirements.ts";
import { temporaryHome } from "./temporary-home.ts";

const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8);

describe("finding a home", () => {
  const readVariable = (value: string | undefined) => (name: string) => (name === "SURETY_HOME" ? value : undefined);

  test.each([
    ["/a", "/b", "/a"],
    [undefined, "/b", "/b"],
    [undefined, undefined, join(homedir(), ".surety")],
    ["x/y", undefined, resolve("x/y")],
    ["~/x", undefined, join(homedir(), "x")],
    [undefined, "~", homedir()],
    ["~x", undefined, resolve("~x")],
  ])(citedTitle("P-5.2/home", "--home %j, SURETY_HOME %j: %s"), (option, variable, expected) => {
    expect(findHome(option, readVariable(variable)).directory).toBe(expected);
  });

  test("nothing is created", async () => {
    const home = await temporaryHome();
    expect(await readdir(dirname(home.directory))).toEqual([]);
  });
});

describe("opening a home", () => {
  test("directories are for the owner alone, also when they were not before", async () => {
    const home = await temporaryHome();
    await mkdir(home.directory, { mode: 0o755 });
    await mkdir(home.keysDirectory, { mode: 0o777 });
    await openHome(home);
    const directories = [home.directory, home.keysDirectory, home.workspace, home.agentsDirectory, home.logsDirectory];
    expect(await Promise.all(directories.map(modeOf))).toEqual(directories.map(() => "700"));
    await openHome(home);
  });

  test("what a link in it leads to keeps its mode and its owner", async () => {
    const home = await temporaryHome();
    const elsewhere = join(dirname(home.directory), "elsewhere");
    await mkdir(elsewhere);
    await chmod(elsewhere, 0o755);
    await mkdir(home.directory);
    await symlink(elsewhere, home.workspace);
    const { uid } = await stat(elsewhere);
    await openHome(home);
    await openBuiltInTools({ home, config: DEFAULT_CONFIG, clock: systemClock });
    expect([await modeOf(elsewhere), (await stat(elsewhere)).uid]).toEqual(["755", uid]);
  });

  test("a directory that many use is not made anybody's home, and keeps its mode", async () => {
    const home = await temporaryHome();
    await mkdir(home.directory);
    await chmod(home.directory, 0o1777);
    await writeFile(join(home.directory, "somebody's"), "");
    await expect(openHome(home)).rejects.toMatchObject({ code: "home.unusable" });
    expect([await modeOf(home.directory), await readdir(home.directory)]).toEqual(["777", ["somebody's"]]);
    await writeFile(home.configFile, "{}");
    await openHome(home);
    expect(await modeOf(home.directory)).toBe("700");
  });

  test("narrowing gives no right that was not there", async () => {
    const home = await temporaryHome();
    await mkdir(home.directory);
    await openHome(home);
    await chmod(home.workspace, 0o555);
    await openHome(home).catch((error: unknown) => expect(error).toMatchObject({ code: "home.unusable" }));
    expect(await modeOf(home.workspace)).toBe("500");
  });

  test("files with secrets in them are narrowed", async () => {
    const home = await temporaryHome();
    await mkdir(home.directory);
    for (const file of [home.envFile, home.tokenFile]) {
      await writeFile(file, "");
      await chmod(file, 0o644);
    }
    await openHome(home);
    expect(await Promise.all([home.envFile, home.tokenFile].map(modeOf))).toEqual(["600", "600"]);
  });

  test.each(["directory", "keysDirectory", "workspace"] as const)("a file in the place of its %s", async (part) => {
    const home = await temporaryHome();
    await mkdir(dirname(home[part]), { recursive: true });
    await writeFile(home[part], "");
    await expect(openHome(home)).rejects.toMatchObject({
      code: "home.unusable",
      message: `${home[part]}: a file is in the way`,
      hint: expect.stringContaining("--home"),
    });
  });

  test("a file on the way to it", async () => {
    const home = await temporaryHome();
    await writeFile(home.directory, "");
    const below = findHome(join(home.directory, "a", "b"), () => undefined);
    await expect(openHome(below)).rejects.toMatchObject({ code: "home.unusable" });
  });

  test("a place where nobody may write", async () => {
    await expect(openHome(findHome("/proc/surety", () => undefined))).rejects.toMatchObject({ code: "home.unusable" });
  });
});
