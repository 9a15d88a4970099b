import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Home, openHome } from "../../src/boot/home.ts";
import { loadSigningKey, verifySignature } from "../../src/boot/signing-key.ts";
import { systemRandomness } from "../../src/boot/system-randomness.ts";
import { hasVerified, isSigned, signCheckpoint } from "../../src/kernel/journal/checkpoint.ts";
import { asHash } from "../../src/kernel/vocabulary/identifiers.ts";
import { temporaryHome } from "./temporary-home.ts";

const openTemporaryHome = async (): Promise<Home> => {
  const home = await temporaryHome();
  await openHome(home);
  return home;
};
const load = (home: Home) => loadSigningKey(home, systemRandomness, () => {});
const fileOf = (home: Home): string => join(home.keysDirectory, "signing-key.pem");

describe("the signing key", () => {
  test("is made once, for the owner alone, and leaves nothing beside it", async () => {
    const home = await openTemporaryHome();
    const keys = await Promise.all(Array.from({ length: 4 }, () => load(home)));
    const again = await load(home);
    expect(new Set([...keys, again].map(({ publicKey }) => publicKey)).size).toBe(1);
    expect((await stat(fileOf(home))).mode & 0o777).toBe(0o600);
    expect(await readdir(home.keysDirectory)).toEqual(["signing-key.pem"]);
    expect((await load(await openTemporaryHome())).publicKey).not.toBe(again.publicKey);
  });

  test("signs what the kernel verifies, and nothing else verifies", async () => {
    const key = await load(await openTemporaryHome());
    const other = await load(await openTemporaryHome());
    const state = { ledgerSeq: 3, ledgerHead: asHash("a".repeat(64)), openRuns: [] };
    const checkpoint = signCheckpoint(state, key.sign);
    expect(isSigned(checkpoint, key)).toBe(true);
    expect(isSigned({ ...checkpoint, ledgerSeq: 4 }, key)).toBe(false);
    expect(isSigned(checkpoint, other)).toBe(false);
  });

  test.each([
    ["padded", (text: string) => `${text}==`],
    ["with a line end", (text: string) => `${text}\n`],
    ["cut off", (text: string) => text.slice(0, -2)],
    [
      "with other bits in the last character",
      (text: string) => `${text.slice(0, -1)}${text.endsWith("B") ? "C" : "B"}`,
    ],
    ["empty", () => ""],
    ["of another alphabet", (text: string) => text.replaceAll(/[_-]/g, "+").concat("+")],
  ])("a signature or key that is written otherwise does not verify: %s", async (_, change) => {
    const { publicKey, sign } = await load(await openTemporaryHome());
    const signature = sign("message");
    expect(verifySignature(publicKey, "message", signature)).toBe(true);
    expect(hasVerified(verifySignature, publicKey, "message", change(signature))).toBe(false);
    expect(hasVerified(verifySignature, change(publicKey), "message", signature)).toBe(false);
  });

  test.each(["", "-----BEGIN PRIVATE KEY-----\nMC4CAQ", "nonsense"])(
    "a damaged file (%j) is an error and stays as it is",
    async (content) => {
      const home = await openTemporaryHome();
      await writeFile(fileOf(home), content);
      await expect(load(home)).rejects.toMatchObject({ code: "key.unusable", hint: expect.stringContaining("backup") });
      expect(await readFile(fileOf(home), "utf8")).toBe(content);
    },
  );

  test("a key of another kind is an error", async () => {
    const { generateKeyPairSync } = await import("node:crypto");
    const home = await openTemporaryHome();
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    await writeFile(fileOf(home), privateKey.export({ type: "pkcs8", format: "pem" }));
    await expect(load(home)).rejects.toMatchObject({ code: "key.unusable" });
  });
});
