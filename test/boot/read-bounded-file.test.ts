import { execFileSync } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { main } from "../../src/boot/main.ts";
import { readBoundedFile } from "../../src/boot/read-bounded-file.ts";
import { capturedStreams } from "./captured-streams.ts";
import { temporaryDirectory } from "./temporary-home.ts";

async function place(name = "file"): Promise<string> {
  return join(await temporaryDirectory(), name);
}

/** Everything that must not be read, as it is put at a path. */
const UNREADABLE: readonly (readonly [string, (path: string) => unknown, RegExp])[] = [
  ["a pipe without a writer", (path) => execFileSync("mkfifo", [path]), /it is not a regular file/],
  ["an endless device", (path) => symlink("/dev/zero", path), /it is not a regular file/],
  ["an empty device", (path) => symlink("/dev/null", path), /it is not a regular file/],
  ["a directory", (path) => mkdir(path), /it is not a regular file/],
  ["a link to nothing", (path) => symlink("nothing", path), /it is a link to a file that does not exist/],
  ["a link to itself", (path) => symlink(path, path), /ELOOP/],
];

describe("a file of the operator's", () => {
  test("is read whole up to the limit, also behind a link", async () => {
    const path = await place();
    const content = Buffer.alloc(200_000, "abc");
    await writeFile(path, content);
    await symlink(path, `${path}.link`);
    for (const name of [path, `${path}.link`]) expect(await readBoundedFile(name, 200_000)).toEqual(content);
    await expect(readBoundedFile(path, 199_999)).rejects.toThrow("it is larger than 199999 bytes");
    await writeFile(path, "");
    expect(await readBoundedFile(path, 0)).toEqual(Buffer.alloc(0));
  });

  test("that says nothing about its size is cut off at the limit", async () => {
    // Files of /proc are regular, and 0 bytes long by their own account.
    expect((await readBoundedFile("/proc/self/maps", 10_000_000))?.length).toBeGreaterThan(100);
    await expect(readBoundedFile("/proc/self/maps", 100)).rejects.toThrow("it is larger than 100 bytes");
  });

  test("that is absent is null", async () => {
    expect(await readBoundedFile(await place(), 10)).toBeNull();
  });

  test.each(UNREADABLE)("that is %s is refused with its reason", async (_, make, why) => {
    const path = await place();
    await make(path);
    await expect(readBoundedFile(path, 1000)).rejects.toThrow(why);
  });
});

describe("commands refuse, and do not wait or grow, where", () => {
  /** A used home. */
  let template = "";
  beforeAll(async () => {
    template = await mkdtemp(join(tmpdir(), "surety-boot-"));
    expect((await surety(template, "run", "list files")).exitCode).toBe(0);
  });
  afterAll(() => rm(template, { recursive: true, force: true }));
  /** A command, the file it reads, relative to the home, and the error. */
  const READERS: readonly (readonly [string, string, readonly string[], string])[] = [
    ["the config", "surety.json5", ["config", "get"], "config.unreadable"],
    ["the config to change", "surety.json5", ["config", "set", "gateway.port", "1"], "config.unreadable"],
    [".env", ".env", ["run", "list files"], "env.unreadable"],
    ["the token", "token", ["run", "list files"], "home.unusable"],
    ["the signing key", "keys/signing-key.pem", ["run", "list files"], "home.unusable"],
    ["a file to verify", "run.json", ["verify", "FILE"], "verify.unreadable"],
    ["a policy", "other.json5", ["policy", "test", "--policy", "FILE"], "policy.unreadable"],
    ["an image", "dot.png", ["run", "look", "--image", "FILE"], "usage"],
  ];
  for (const [what, name, words, code] of READERS) {
    test.each(UNREADABLE)(`${what} is %s`, async (_, make) => {
      const home = join(await temporaryDirectory(), "home");
      const path = join(home, name);
      await cp(template, home, { recursive: true });
      await rm(path, { force: true });
      await make(path);
      const { exitCode, stderr } = await surety(home, ...words.map((word) => (word === "FILE" ? path : word)));
      expect(exitCode).not.toBe(0);
      expect(stderr).toMatch(new RegExp(`^error ${code.replace(".", "\\.")}: [^\n]+\n[^\n]+\n$`));
    });
  }
});

async function surety(home: string, ...words: readonly string[]) {
  const streams = capturedStreams();
  streams.stdin.end();
  const exitCode = await main([...words, "--home", home], streams);
  return { exitCode, ...streams.written() };
}
