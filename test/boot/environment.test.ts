import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readProcessVariable, withEnvFile } from "../../src/boot/environment.ts";
import { temporaryDirectory } from "./temporary-home.ts";

describe("the environment", () => {
  test("the process's variables win over the file's, and the file's stay out of the process", async () => {
    const file = join(await temporaryDirectory(), ".env");
    await writeFile(file, "OURS=file\nTHEIRS=file\nEMPTY=file\nNONE=\n");
    const read = await withEnvFile((name) => ({ OURS: "process", EMPTY: undefined })[name], file);
    expect(["OURS", "THEIRS", "EMPTY", "NONE", "OTHER"].map(read)).toEqual([
      "process",
      "file",
      "file",
      undefined,
      undefined,
    ]);
    expect(readProcessVariable("THEIRS")).toBeUndefined();
  });

  test("no file is no error", async () => {
    const read = await withEnvFile(() => "outer", join(await temporaryDirectory(), ".env"));
    expect(read("ANY")).toBe("outer");
  });

  test("a bad line is one error with its number, and without the line", async () => {
    const file = join(await temporaryDirectory(), ".env");
    await writeFile(file, "A=1\nsk-0123456789abcdef\n");
    const failure = await withEnvFile(() => undefined, file).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "env.invalid", message: `${file}:2: expected NAME=VALUE` });
  });

  test.each([
    ["bytes that are no UTF-8", (file: string) => writeFile(file, Buffer.from([0x41, 0x3d, 0xff]))],
    ["a directory", (file: string) => mkdir(file)],
    ["a huge file", (file: string) => writeFile(file, "#".repeat(300_000))],
  ])("%s is one clear error", async (_, make) => {
    const file = join(await temporaryDirectory(), ".env");
    await make(file);
    await expect(withEnvFile(() => undefined, file)).rejects.toMatchObject({ code: "env.unreadable" });
  });
});
