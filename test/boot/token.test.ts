import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { loadToken } from "../../src/boot/gateway-access.ts";
import { type Home, openHome } from "../../src/boot/home.ts";
import { systemRandomness } from "../../src/boot/system-randomness.ts";
import { temporaryHome } from "./temporary-home.ts";

const openTemporaryHome = async (): Promise<Home> => {
  const home = await temporaryHome();
  await openHome(home);
  return home;
};
const load = (home: Home, variable?: string): Promise<string> =>
  loadToken(home, (name) => (name === "SURETY_TOKEN" ? variable : undefined), systemRandomness);

describe("the token", () => {
  test("is made once, of 32 random bytes, for the owner alone", async () => {
    const home = await openTemporaryHome();
    const token = await load(home);
    expect(Buffer.from(token, "base64url")).toHaveLength(32);
    expect(await readFile(home.tokenFile, "utf8")).toBe(`${token}\n`);
    expect((await stat(home.tokenFile)).mode & 0o777).toBe(0o600);
    expect(await load(home)).toBe(token);
    expect(await load(await openTemporaryHome())).not.toBe(token);
  });

  test("of several makers at once one wins, and all have its token", async () => {
    const home = await openTemporaryHome();
    const tokens = await Promise.all(Array.from({ length: 8 }, () => load(home)));
    expect(new Set(tokens).size).toBe(1);
  });

  test("SURETY_TOKEN stands in for the file", async () => {
    const home = await openTemporaryHome();
    expect(await load(home, "my-own-token-0123")).toBe("my-own-token-0123");
    await expect(readFile(home.tokenFile)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test.each([
    "short",
    "with blanks inside 0123",
    "with-a-line\nend-01234567",
    "mit-Ümlaut-0123456789",
    "x".repeat(600),
  ])("%j is refused, from the variable or the file", async (token) => {
    const home = await openTemporaryHome();
    const failures = [await load(home, token).catch((error: unknown) => error)];
    await writeFile(home.tokenFile, token);
    failures.push(await load(home).catch((error: unknown) => error));
    for (const failure of failures) {
      expect(failure).toMatchObject({ code: "token.unusable" });
      expect(String(failure)).not.toContain(token);
    }
  });

  test("an empty or unreadable file is one clear error", async () => {
    const home = await openTemporaryHome();
    await writeFile(home.tokenFile, "");
    await expect(load(home)).rejects.toMatchObject({ code: "token.unusable", hint: expect.stringContaining("Delete") });
    await rm(home.tokenFile);
    await mkdir(home.tokenFile);
    await expect(load(home)).rejects.toMatchObject({ code: "home.unusable" });
  });
});
