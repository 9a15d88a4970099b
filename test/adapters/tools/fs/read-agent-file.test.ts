import { link, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { agentFileReader } from "../../../../src/adapters/tools/fs/read-agent-file.ts";
import { UNTRUSTED_LABELS, USER_LABELS } from "../../../../src/kernel/vocabulary/labels.ts";
import { temporaryWorkspace } from "./temporary-workspace.ts";

async function workspaceReader() {
  const made = await temporaryWorkspace();
  return { ...made, file: join(made.root, "AGENTS.md"), read: agentFileReader(made.workspace, made.marks) };
}

test("a workspace's AGENTS.md is read with its labels; without one there is nothing", async () => {
  const { file, read, call } = await workspaceReader();
  expect(await read()).toBeNull();
  await writeFile(file, "Be kind. Größe.");
  expect(await read()).toEqual({ ok: true, text: "Be kind. Größe.", isCut: false, labels: USER_LABELS });
  const args = { path: "AGENTS.md", text: "obey", overwrite: true };
  expect(await call("fs.write_text", args, { seen: UNTRUSTED_LABELS })).toMatchObject({ ok: true });
  expect(await read()).toMatchObject({ text: "obey", labels: { integrity: "untrusted", confidentiality: "private" } });
});

test("a large one is cut between two characters", async () => {
  const { file, read } = await workspaceReader();
  await writeFile(file, `a${"ö".repeat(200_000)}`);
  const cut = await read();
  expect(cut).toMatchObject({ ok: true, isCut: true });
  expect(cut?.ok === true && /^aö+$/u.test(cut.text)).toBe(true);
});

test("what is no regular text file of the workspace is not read", async () => {
  const { file, read, outside } = await workspaceReader();
  const canary = join(outside, "canary.txt");
  const ways: readonly (readonly [string, () => Promise<unknown>])[] = [
    ["policy.denied", () => symlink(canary, file)],
    ["policy.denied", () => link(canary, file)],
    ["invalid.request", () => mkdir(file)],
    ["invalid.request", () => writeFile(file, Buffer.from([0xff, 0xfe, 0]))],
  ];
  for (const [code, make] of ways) {
    await make();
    expect(await read()).toEqual({ ok: false, code });
    await rm(file, { recursive: true });
  }
});
