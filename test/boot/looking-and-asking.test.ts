/** Commands that only look leave nothing behind; commands that act say what is wrong with what they were asked. */
import { access, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { main } from "../../src/boot/main.ts";
import { capturedStreams } from "./captured-streams.ts";
import { temporaryDirectory } from "./temporary-home.ts";

async function homeFor(config: object = {}) {
  const directory = join(await temporaryDirectory(), "home");
  await mkdir(directory);
  await writeFile(join(directory, "surety.json5"), JSON.stringify(config));
  return directory;
}

async function surety(directory: string, ...words: readonly string[]) {
  const streams = capturedStreams();
  const code = await main(["--home", directory, ...words], streams, () => undefined);
  return { code, ...streams.written() };
}

test("an export is written where nothing is, or says which file it would have been", async () => {
  const directory = await homeFor();
  const { id } = JSON.parse((await surety(directory, "run", "list files", "--json")).stdout);
  const file = join(directory, "..", "bundle.json");
  const exporting = (out: string) => surety(directory, "runs", "export", id, "--out", out);
  expect(await exporting(file)).toMatchObject({ code: 0, stdout: `wrote ${join(file)}\n` });
  const before = await readFile(file);
  expect(await exporting(file)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^error export\.exists: .*bundle/),
  });
  expect(await readFile(file)).toEqual(before);
  expect(await exporting("/nope/x")).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^error export\.unwritable: you may not write to \/nope \(ENOENT\)\nCreate/),
  });
});

test("one run is one run", async () => {
  const directory = await homeFor();
  await surety(directory, "run", "list files");
  expect((await surety(directory, "verify")).stdout).toMatch(/^the home is intact: 1 run, /);
});

describe("commands that only look", () => {
  test.each([
    ["runs", "ls"],
    ["runs", "show", "run_1"],
    ["runs", "cancel", "run_1"],
    ["approvals", "ls"],
    ["budget"],
    ["verify"],
    ["replay", "run_1"],
    ["backup"],
    ["trash", "ls"],
    ["trash", "empty"],
  ])("%s %s: where there is no home they say so, and make none", async (...words) => {
    const directory = join(await temporaryDirectory(), "none");
    const { code, stderr } = await surety(directory, ...words);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^error home\.missing: there is no home at .*\n.*start/)]);
    await expect(access(directory)).rejects.toThrow("ENOENT");
  });

  test.each([
    ["policy", "explain", "fs.nope"],
    ["policy", "explain", "fs.read_text", "{}"],
    ["policy", "explain", "fs.read_text", "path"],
    ["policy", "explain", "fs.list_dir"],
    ["tools", "call", "fs.nope"],
    ["tools", "call", "fs.write_text", '{"path":"a.txt","text":"x"}'],
    ["tools", "call", "fs.read_text", '{"path":"a.txt"}'],
    ["conformance", "--model", "nobody:m"],
    ["restore", "/nowhere/at/all"],
    ["restore", "/etc/hostname"],
  ])("%s %s %s %s: what comes to nothing leaves nothing behind, not even the way to it", async (...words) => {
    const directory = await temporaryDirectory();
    await surety(join(directory, "on", "the", "way"), ...words);
    expect(await readdir(directory)).toEqual([]);
  });

  test("a home that something was put into stays, whole", async () => {
    const directory = join(await temporaryDirectory(), "home");
    expect(
      (await surety(directory, "tools", "call", "fs.write_text", '{"path":"a.txt","text":"x"}', "--yes")).code,
    ).toBe(0);
    expect(await readdir(directory)).toEqual(expect.arrayContaining(["agents", "keys", "logs", "workspace"]));
    expect(await readdir(join(directory, "workspace"))).toEqual(["a.txt"]);
  });

  test("make no key, no workspace and no logs in a home that has none", async () => {
    const directory = await homeFor();
    for (const words of [["runs", "ls"], ["budget"], ["verify"], ["tools", "ls"]]) await surety(directory, ...words);
    expect(await readdir(directory)).toEqual(["surety.json5"]);
  });

  test("a copy without its key is verified but for the signatures, and says so", async () => {
    const directory = await homeFor();
    const { stdout } = await surety(directory, "run", "list files", "--json");
    const { id } = JSON.parse(stdout);
    await rm(join(directory, "keys"), { recursive: true });
    const verified = await surety(directory, "verify", "--json");
    expect([verified.code, JSON.parse(verified.stdout)]).toEqual([
      0,
      expect.objectContaining({ ok: true, runs: 1, signatures: "unchecked" }),
    ]);
    expect(verified.stderr).toMatch(/^there is no signing key at .*: signatures are not checked\n$/);
    expect((await surety(directory, "runs", "show", id)).code).toBe(0);
    expect(await surety(directory, "runs", "export", id)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error key\.missing/),
    });
    await expect(access(join(directory, "keys"))).rejects.toThrow("ENOENT");
  });
});

describe("surety verify", () => {
  test("names an entry wherever a bundle is damaged, its own keys included", async () => {
    const directory = await homeFor();
    const { stdout } = await surety(directory, "run", "list files", "--json");
    const file = join(directory, "bundle.json");
    await surety(directory, "runs", "export", JSON.parse(stdout).id, "--out", file);
    const bytes = await readFile(file);
    const whole = [
      '"bodies"',
      '"contract"',
      '"entries"',
      '"format"',
      '"public_key"',
      '"signature"',
      '"text"',
      '"salt"',
    ];
    for (const at of [
      0,
      1,
      bytes.length - 2,
      ...whole.flatMap((key) => [bytes.indexOf(key), bytes.indexOf(key) + 2]),
    ]) {
      await writeFile(file, bytes.with(at, (bytes[at] ?? 0) ^ 1));
      const { code, stderr } = await surety(directory, "verify", file);
      expect([at, code, stderr]).toEqual([at, 1, expect.stringMatching(/^error verify\.failed: .*: entry [1-9]\d*: /)]);
    }
  });
});

describe("surety run", () => {
  test.each([
    [["--approve", "nope"], /^error usage: --approve nope is not a registered tool\nThere is: agent\.delegate, fs\./],
    [["--approve", "fs.wirte_text"], /\nDid you mean fs\.write_text\?\n$/],
    [["--require", "nope"], /^error usage: --require nope is not a registered tool\nThere is: agent\.delegate, fs\./],
    [["--require", "fs.wirte_text"], /\nDid you mean fs\.write_text\?\n$/],
    [["--approve", "*"], /^error usage: --approve \* is not a registered tool/],
    [["--model", "zz"], /^error usage: --model zz is not provider:model\nThere is: .*builtin:demo; auto /],
    [["--model", ":zz"], /^error usage/],
  ])("%j is refused before anything is done", async (options, message) => {
    const directory = await homeFor();
    const { code, stderr } = await surety(directory, "run", "list files", ...options);
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
    expect(await readdir(directory)).toEqual(["surety.json5"]);
  });

  test("--wait without a gateway has nobody to wait for, and says so; what would allow the call is said, too", async () => {
    const directory = await homeFor();
    const write = ["run", "write hello to a.txt"];
    const [waited, plain] = [await surety(directory, ...write, "--wait"), await surety(directory, ...write)];
    expect(waited.stderr).toMatch(/^warning run\.no-gateway: .*\n/);
    expect(plain.stderr).not.toContain("warning");
    for (const { stderr } of [waited, plain])
      expect(stderr).toContain("Approve it for one run: surety run … --approve fs.write_text");
  });

  test("a backend that is not there: what the check found, and what to do, now and later", async () => {
    const models = { m: { contextWindow: 32_768, maxOutputTokens: 1024 } };
    const providers = { gone: { baseUrl: "http://127.0.0.1:1/v1", local: true, models } };
    const directory = await homeFor({ models: { default: "gone:m", providers } });
    const { code, stderr } = await surety(directory, "run", "hello");
    expect(code).toBe(1);
    const told = stderr.split("\n");
    const lines = told.slice(told.findIndex((line) => line.startsWith("FAILED"))).slice(0, 3);
    expect(lines).toEqual([
      expect.stringMatching(/^FAILED_PREFLIGHT \(backend\.unresponsive\)/),
      expect.stringMatching(/reached/),
      expect.stringMatching(/^The model's backend does not answer/),
    ]);
    const id = /run_\w+/.exec(stderr)?.[0] ?? "";
    const { stdout } = await surety(directory, "runs", "show", id);
    for (const line of lines.slice(1)) expect(stdout).toContain(line);
  });
});

test("a signing key that is gone is made anew, once, and not without a word", async () => {
  const directory = await homeFor();
  const remarks = async () => (await surety(directory, "run", "list files")).stderr.match(/^warning key\.made: .*$/gm);
  expect(await remarks()).toBeNull();
  await rm(join(directory, "keys", "signing-key.pem"));
  expect(await remarks()).toHaveLength(1);
  expect(await remarks()).toBeNull();
});

test("surety runs cancel: a run that has ended cannot be cancelled any more", async () => {
  const directory = await homeFor();
  const { id } = JSON.parse((await surety(directory, "run", "list files", "--json")).stdout);
  expect(await surety(directory, "runs", "cancel", id)).toEqual({
    code: 1,
    stdout: "",
    stderr: `error conflict: ${id} has ended already: completed\nSee surety runs show ${id}.\n`,
  });
});

describe("surety tools call", () => {
  const WRITE = ["tools", "call", "fs.write_text", '{"path":"a.txt","text":"x"}'];

  test("what policy wants approved needs --yes", async () => {
    const directory = await homeFor();
    const asked = await surety(directory, ...WRITE);
    expect([asked.code, asked.stderr]).toEqual([
      1,
      expect.stringContaining("error policy.denied: fs.write_text needs"),
    ]);
    expect((await surety(directory, ...WRITE, "--yes")).code).toBe(0);
  });

  test("with --json a refusal is one JSON document, with no plan before it", async () => {
    const { code, stdout, stderr } = await surety(await homeFor(), ...WRITE, "--json");
    expect([code, stdout]).toEqual([1, ""]);
    expect(JSON.parse(stderr)).toEqual({
      error: { code: "policy.denied", message: "fs.write_text needs approval", hint: expect.stringContaining("--yes") },
    });
  });

  test.each([
    ["the kill switch", { sideEffects: "disabled" }, WRITE],
    ["the allowlist", { allow: ["fs.read_text"] }, WRITE],
    ["the channel", { channels: { cli_local: [] } }, ["tools", "call", "fs.list_dir"]],
    ["a rule", { exceptions: [{ tool: "fs.*", decision: "deny" }] }, ["tools", "call", "fs.list_dir"]],
  ])("%s denies it, with --yes as well", async (_name, policy, words) => {
    const directory = await homeFor({ tools: { policy } });
    const { code, stderr } = await surety(directory, ...words, "--yes");
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^error policy\.denied: fs\.\w+ is denied\n/)]);
    expect(await readdir(join(directory, "workspace"))).toEqual([]);
  });
});
