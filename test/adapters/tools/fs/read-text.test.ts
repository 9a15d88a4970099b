import { execFile } from "node:child_process";
import { link, mkdir, readdir, readlink, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createToolbox } from "../../../../src/adapters/tools/create-toolbox.ts";
import { fsTools } from "../../../../src/adapters/tools/fs/fs-tools.ts";
import { untrustedMarks } from "../../../../src/adapters/tools/fs/untrusted-marks.ts";
import { openWorkspace } from "../../../../src/adapters/tools/fs/workspace.ts";
import { USER_LABELS } from "../../../../src/kernel/vocabulary/labels.ts";
import { verifies } from "../../../requirements.ts";
import { CANARY, temporaryWorkspace } from "./temporary-workspace.ts";

test("parameters and defaults are the seed's", async () => {
  const { plan, root } = await temporaryWorkspace();
  const planned = await plan("fs.read_text", { path: "a/b.txt" });
  expect(planned).toMatchObject({
    args: { path: "a/b.txt", max_bytes: 20_000 },
    risk: "read_only",
    idempotency: "read_only",
    labels: USER_LABELS,
    plan: { targets: [join(root, "a/b.txt")] },
  });
  expect(planned.shown).toContain(join(root, "a/b.txt"));
});

test.each([
  ["fs.read_text", { path: "d/a.txt" }],
  ["fs.read", { path: "d/a.txt" }],
  ["file_read", { file_path: "d/../d//a.txt" }],
])("%s reads", async (tool, args) => {
  const { call, root } = await temporaryWorkspace();
  await mkdir(join(root, "d"));
  await writeFile(join(root, "d/a.txt"), "\ufeffhé\r\n");
  expect(await call(tool, args)).toEqual({
    ok: true,
    output: { path: "d/a.txt", text: "\ufeffhé\r\n", bytes: 8, truncated: false },
  });
});

test("the text is the longest beginning of whole characters that fits", async () => {
  const { call, root } = await temporaryWorkspace();
  const text = fc.string({ unit: "binary", minLength: 1, maxLength: 12 }).map((any) => any.replaceAll("\0", "é"));
  await fc.assert(
    fc.asyncProperty(text, async (whole) => {
      await writeFile(join(root, "t.txt"), whole);
      const bytes = Buffer.byteLength(whole);
      for (let maxBytes = 1; maxBytes <= bytes + 1; maxBytes += 1) {
        const answer = await call("fs.read_text", { path: "t.txt", max_bytes: maxBytes });
        const expected = longestBeginning(whole, maxBytes);
        expect(answer).toEqual({
          ok: true,
          output: { path: "t.txt", text: expected, bytes, truncated: expected !== whole },
        });
      }
    }),
    { numRuns: 40 },
  );
});

function longestBeginning(text: string, maxBytes: number): string {
  let kept = "";
  for (const character of text) {
    if (Buffer.byteLength(kept + character) > maxBytes) return kept;
    kept += character;
  }
  return kept;
}

test("it reads no more than its own limit, whatever it is asked for", async () => {
  const { call, root } = await temporaryWorkspace();
  await writeFile(join(root, "big.txt"), "é".repeat(1_000_000));
  const answer = await call("fs.read_text", { path: "big.txt", max_bytes: Number.MAX_SAFE_INTEGER });
  expect(answer).toMatchObject({ ok: true, output: { bytes: 2_000_000, truncated: true } });
  if (answer.ok) expect(Buffer.byteLength((answer.output as { text: string }).text)).toBe(1_048_576);
  await writeFile(join(root, "empty.txt"), "");
  expect(await call("fs.read_text", { path: "empty.txt" })).toMatchObject({ output: { text: "", truncated: false } });
});

test.each<[string, Buffer]>([
  ["a stray continuation byte", Buffer.from([0x61, 0x80])],
  ["overlong", Buffer.from([0xc0, 0xae, 0xc0, 0xae, 0x2f])],
  ["a surrogate", Buffer.from([0xed, 0xa0, 0x80])],
  ["cut in the middle at its end", Buffer.from([0x61, 0xe2, 0x82])],
  ["only continuation bytes", Buffer.alloc(64, 0x80)],
  ["UTF-16", Buffer.from("hello", "utf16le")],
  ["an image", Buffer.from([0x89, 0x50, 0x4e, 0x47])],
])("what is no text is refused: %s", async (_what, bytes) => {
  const { call, root } = await temporaryWorkspace();
  await writeFile(join(root, "b.bin"), bytes);
  for (const maxBytes of [bytes.length, 20_000, 16]) {
    expect(await call("fs.read_text", { path: "b.bin", max_bytes: maxBytes })).toMatchObject({
      ok: false,
      error: { code: "invalid.request", message: expect.stringContaining("not a text file") },
    });
  }
});

test.each([
  ["missing.txt", /does not exist.*fs\.list_dir/],
  ["no/such/file.txt", /"no" does not exist/],
  ["d", /is a directory: list it with fs\.list_dir/],
  ["f.txt/x", /not a directory/],
])("%s: the answer says what is wrong, and that it may not be tried as it is", async (path, message) => {
  const { call, root } = await temporaryWorkspace();
  await mkdir(join(root, "d"));
  await writeFile(join(root, "f.txt"), "x");
  const answer = await call("fs.read_text", { path });
  expect(answer).toMatchObject({ ok: false, error: { code: "invalid.request", retryable: false } });
  if (!answer.ok) expect(answer.error.message).toMatch(message);
});

verifies("S-4.2/hard-link", "a file that has another name elsewhere, or is none, is not read", async () => {
  const { call, root, outside } = await temporaryWorkspace();
  await link(join(outside, "canary.txt"), join(root, "hard.txt"));
  await symlink(join(outside, "canary.txt"), join(root, "soft.txt"));
  for (const path of ["hard.txt", "soft.txt"]) {
    const answer = await call("fs.read_text", { path });
    expect(answer).toMatchObject({ ok: false, error: { code: "policy.denied" } });
    expect(JSON.stringify(answer)).not.toContain(CANARY);
  }
});

for (const traversal of ["handles", "paths"] as const) {
  for (const path of ["canary.txt", "d/canary.txt"]) {
    verifies("S-4.2", `a root that has become a link is not followed: ${path} by ${traversal}`, async () => {
      const { call, root, outside } = await temporaryWorkspace(traversal);
      await mkdir(join(root, "d"));
      await writeFile(join(root, path), "inside");
      expect(await call("fs.read_text", { path })).toMatchObject({ ok: true, output: { text: "inside" } });
      await rename(root, `${root}-was`);
      const here = { ok: false, error: { code: "invalid.request", details: { path: "." } } };
      expect(await call("fs.read_text", { path })).toMatchObject(here);
      await symlink(path === "canary.txt" ? outside : `${root}-was`, root);
      expect(await call("fs.read_text", { path })).toMatchObject(here);
      await rm(root);
      await writeFile(root, "a file");
      expect(await call("fs.read_text", { path })).toMatchObject(here);
      expect(await openBeneath(join(root, ".."))).toEqual([]);
    });
  }

  test(`whatever becomes of a read by ${traversal}, nothing stays open`, async () => {
    const { call, root, outside } = await temporaryWorkspace(traversal);
    await mkdir(join(root, "d"));
    await writeFile(join(root, "a.txt"), "inside");
    await writeFile(join(root, "b.bin"), Buffer.from([0x80]));
    await link(join(outside, "canary.txt"), join(root, "hard.txt"));
    await symlink("a.txt", join(root, "soft.txt"));
    await promisify(execFile)("mkfifo", [join(root, "pipe")]);
    const paths = ["a.txt", "b.bin", "hard.txt", "soft.txt", "pipe", "d", "missing.txt", "d/missing.txt", "no/a.txt"];
    const codes: string[] = [];
    for (const path of paths) {
      const answer = await call("fs.read_text", { path });
      codes.push(answer.ok ? "ok" : answer.error.code);
    }
    expect(await openBeneath(root)).toEqual([]);
    const [denied, invalid] = ["policy.denied", "invalid.request"];
    expect(codes).toEqual(["ok", invalid, denied, denied, denied, invalid, invalid, invalid, invalid]);
  });
}

/** What this process holds open there. */
async function openBeneath(root: string): Promise<readonly string[]> {
  const handles = await readdir("/proc/self/fd");
  // The handle by which they were listed is gone again.
  const paths = await Promise.all(handles.map((handle) => readlink(join("/proc/self/fd", handle)).catch(() => "")));
  return paths.filter((path) => path.startsWith(root));
}

verifies("S-4.2", "a device is refused before it is opened", async () => {
  const workspace = await openWorkspace("/dev");
  const defects: unknown[] = [];
  const clock = { nowMs: () => 0, monotonicMs: () => 0 };
  const toolbox = createToolbox(
    fsTools(workspace, { stateDirectory: "/nowhere", clock, marks: untrustedMarks(workspace, "/nowhere") }),
    {
      clock,
      onDefect: (error) => defects.push(error),
    },
  );
  for (const path of ["zero", "null", "tty", "random"]) {
    const planned = await toolbox.plan("fs.read_text", { path });
    if (!planned.ok) throw new Error(planned.error.message);
    const signal = new AbortController().signal;
    const ids = {
      requestId: "r",
      runId: "run",
      agentId: "main",
      timeoutMs: 1,
      idempotencyKey: null,
      isRepeat: false,
      mayAct: true,
      seen: USER_LABELS,
      onOutput: null,
    };
    const response = await toolbox.run(planned, { ...ids, signal });
    expect(response).toMatchObject({ ok: false, error: { code: "policy.denied" } });
  }
  expect(defects).toEqual([]);
});
