import { mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createFile, replaceFile } from "../../src/boot/durable-file.ts";
import { systemRandomness } from "../../src/boot/system-randomness.ts";
import { temporaryDirectory } from "./temporary-home.ts";

describe("files that are never half-written", () => {
  test("createFile never replaces, and leaves nothing behind", async () => {
    const directory = await temporaryDirectory();
    const path = join(directory, "f");
    const made = await Promise.all(["a", "b", "c"].map((text) => createFile(path, text, systemRandomness)));
    expect(made.toSorted()).toEqual(["created", "existing", "existing"]);
    expect(["a", "b", "c"]).toContain(await readFile(path, "utf8"));
    expect(await readdir(directory)).toEqual(["f"]);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test("replaceFile goes through a symbolic link and makes the file private", async () => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, "real"), "old", { mode: 0o644 });
    await symlink("real", join(directory, "link"));
    await replaceFile(join(directory, "link"), "new", systemRandomness);
    expect(await readlink(join(directory, "link"))).toBe("real");
    expect(await readFile(join(directory, "real"), "utf8")).toBe("new");
    expect((await stat(join(directory, "real"))).mode & 0o777).toBe(0o600);
  });

  test("a replacement that fails leaves nothing behind", async () => {
    const directory = await temporaryDirectory();
    await mkdir(join(directory, "f"));
    await expect(replaceFile(join(directory, "f"), "new", systemRandomness)).rejects.toThrow();
    expect(await readdir(directory)).toEqual(["f"]);
  });
});
