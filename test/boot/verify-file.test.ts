/** `surety verify FILE` says whose key has signed: the home's, the one that was named, or one that nobody here knows. */
import { access, copyFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { main } from "../../src/boot/main.ts";
import { verifies } from "../requirements.ts";
import { capturedStreams } from "./captured-streams.ts";
import { temporaryDirectory } from "./temporary-home.ts";

async function surety(home: string, ...words: readonly string[]) {
  const streams = capturedStreams();
  const code = await main(["--home", home, ...words], streams, () => undefined);
  return { code, ...streams.written() };
}

async function exported() {
  const directory = await temporaryDirectory();
  const home = join(directory, "home");
  const { id } = JSON.parse((await surety(home, "run", "list files", "--json")).stdout);
  const [bundle, receipt] = [join(directory, "run.json"), join(directory, "receipt.json")];
  await surety(home, "runs", "export", id, "--out", bundle);
  await surety(home, "runs", "export", id, "--receipt", "--out", receipt);
  return { directory, home, id, bundle, receipt };
}

const factsOf = async (home: string, ...words: readonly string[]) => {
  const { code, stdout } = await surety(home, "verify", ...words, "--json");
  const { ok, signer, public_key, home_key } = JSON.parse(stdout);
  return { code, ok, signer, public_key, home_key };
};

verifies("X-3", "a valid signature is told apart: of this home, of a named key, of a stranger", async () => {
  const { directory, home, bundle, receipt } = await exported();
  const other = join(directory, "other");
  await surety(other, "run", "list files");
  for (const file of [bundle, receipt]) {
    const own = await factsOf(home, file);
    const { public_key: key } = own;
    expect(own).toEqual({ code: 0, ok: true, signer: "home", public_key: key, home_key: key });
    const strange = await factsOf(other, file);
    expect(strange).toMatchObject({ code: 0, ok: true, signer: "unknown", public_key: key });
    expect(strange.home_key).not.toBe(key);
    expect(await factsOf(join(directory, "none"), file)).toMatchObject({ signer: "unknown", home_key: null });
    expect(await factsOf(other, file, "--key", key)).toMatchObject({ code: 0, ok: true, signer: "named" });
    // A key that was named counts alone, whether the document is of this home or of a stranger.
    expect(await factsOf(home, file, "--key", strange.home_key)).toMatchObject({ code: 1, ok: false, signer: "home" });
    expect(await factsOf(other, file, "--key", strange.home_key)).toMatchObject({ code: 1, signer: "unknown" });
    const told = await surety(other, "verify", file);
    expect(told.stdout).toContain("signed by an unknown key");
    expect(told.stderr).toMatch(/^warning verify\.unknown-signer: .*anyone may have signed it/);
    expect(await surety(home, "verify", file)).toMatchObject({
      stdout: expect.stringContaining("signed by this home's key"),
      stderr: "",
    });
  }
  await expect(access(join(directory, "none"))).rejects.toThrow("ENOENT");
});

test("a home whose key is damaged still checks files", async () => {
  const { home, bundle } = await exported();
  await writeFile(join(home, "keys", "signing-key.pem"), "damaged");
  expect(await factsOf(home, bundle)).toMatchObject({ code: 0, signer: "unknown", home_key: null });
});

test("a named key vouches for nothing that is not signed, and for a copy of the home without its keys", async () => {
  const { directory, home, id, bundle } = await exported();
  const { public_key: key } = await factsOf(home, bundle);
  expect(await surety(home, "verify", id, "--key", key)).toMatchObject({ code: 2 });
  const journal = join(directory, "journal.jsonl");
  await writeFile(journal, '{"prev":"x"}\n');
  expect(await surety(home, "verify", journal, "--key", key)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("a journal is not signed"),
  });
  expect(await surety(home, "verify", "--key", key)).toMatchObject({ code: 0 });
  expect(await surety(home, "verify", "--key", "A".repeat(43))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("signature is not the trusted key's"),
  });
  const copy = join(directory, "copy");
  await surety(copy, "run", "list files");
  // The files of its own run are no files of the other's database.
  await rm(join(copy, "agents"), { recursive: true });
  for (const file of ["surety.db", "checkpoints.jsonl"]) await copyFile(join(home, file), join(copy, file));
  expect(await surety(copy, "verify", "--key", key)).toMatchObject({ code: 0, stderr: "" });
});
