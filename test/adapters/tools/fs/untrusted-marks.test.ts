import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findToolStateDirectory } from "../../../../src/adapters/tools/fs/tool-state-directory.ts";
import { restoreTrash } from "../../../../src/adapters/tools/fs/trash.ts";
import { MAX_MARKS, untrustedMarks } from "../../../../src/adapters/tools/fs/untrusted-marks.ts";
import { hashCanonical } from "../../../../src/kernel/vocabulary/hash.ts";
import { UNTRUSTED_LABELS } from "../../../../src/kernel/vocabulary/labels.ts";
import type { Arguments } from "../../../../src/runtime/ports/toolbox.ts";
import { verifies } from "../../../requirements.ts";
import { temporaryShell } from "../shell/temporary-shell.ts";
import { CONTEXT, temporaryWorkspace } from "./temporary-workspace.ts";

const UNTRUSTED = { seen: UNTRUSTED_LABELS };

/** A workspace with `d/notes.md`, written by an untrusted context, and `own.md`, which is the user's. */
async function workspaceWithNotes() {
  const made = await temporaryWorkspace();
  await writeFile(join(made.root, "own.md"), "own");
  expect(await made.call("fs.write_text", { path: "d/notes.md", text: "notes" }, UNTRUSTED)).toMatchObject({
    ok: true,
  });
  const integrityOf = async (tool: string, args: Arguments) => (await made.plan(tool, args)).labels.integrity;
  return { ...made, integrityOf, read: (path: string) => integrityOf("fs.read_text", { path }) };
}

const overwrite = (path: string) => ["fs.write_text", { path, text: "replaced", overwrite: true }] as const;

describe("what an untrusted context wrote", () => {
  verifies("X-5", "is untrusted and private for every tool that reads it, and nothing else is", async () => {
    const { plan, integrityOf } = await workspaceWithNotes();
    const { labels } = await plan("fs.read_text", { path: "d/notes.md" });
    expect(labels).toEqual({ integrity: "untrusted", confidentiality: "private" });
    for (const [tool, args] of [
      ["fs.stat", { path: "d/notes.md" }],
      ["fs.list_dir", { path: "d" }],
      ["fs.list_dir", {}],
      ["fs.search", { pattern: "x" }],
      ["fs.search", { pattern: "x", path: "d" }],
      ["fs.read_text", { path: "D/Notes.MD" }],
    ] as const) {
      expect([tool, args, await integrityOf(tool, args)]).toEqual([tool, args, "untrusted"]);
    }
    expect(await integrityOf("fs.read_text", { path: "own.md" })).toBe("user");
    expect(await integrityOf("fs.stat", { path: "d/notes.md.bak" })).toBe("user");
  });

  test("is marked by an edit, which a clean edit does not undo", async () => {
    const { call, read } = await workspaceWithNotes();
    const edit = { path: "own.md", old_text: "own", new_text: "owned" };
    expect(await call("fs.edit", edit, UNTRUSTED)).toMatchObject({ ok: true });
    expect(await read("own.md")).toBe("untrusted");
    await call("fs.edit", { path: "own.md", old_text: "owned", new_text: "own" });
    expect(await read("own.md")).toBe("untrusted");
  });

  test("is marked before it is there, directories included", async () => {
    const { root, annex, plan, run, read } = await workspaceWithNotes();
    const planned = await plan("fs.write_text", { path: "new/a.md", text: "a" });
    // It gets as far as putting the file into its place, and finds another there.
    await mkdir(join(root, "new"));
    await writeFile(join(root, "new/a.md"), "in the way");
    expect(await run(planned, UNTRUSTED)).toMatchObject({ ok: false });
    expect(await read("new/a.md")).toBe("untrusted");
    expect(await readdir(join(annex, "marks"))).toHaveLength(1);
  });

  test("is marked before it is edited", async () => {
    const { annex, call, read } = await workspaceWithNotes();
    // In the way of what is noted between the mark and the edit.
    await writeFile(join(annex, "edits"), "");
    const edit = { path: "own.md", old_text: "own", new_text: "owned" };
    expect(await call("fs.edit", edit, UNTRUSTED)).toMatchObject({ ok: false });
    expect(await read("own.md")).toBe("untrusted");
  });

  test("is trusted again once a clean context replaced the whole of it", async () => {
    const { call, read, integrityOf } = await workspaceWithNotes();
    expect(await call(...overwrite("d/notes.md"))).toMatchObject({ ok: true });
    expect([await read("d/notes.md"), await integrityOf("fs.list_dir", {})]).toEqual(["user", "user"]);
    await call(...overwrite("d/notes.md"), UNTRUSTED);
    expect(await read("d/notes.md")).toBe("untrusted");
  });

  test("stays marked in the trash, whatever is written in its place meanwhile", async () => {
    const { call, read, workspace, annex } = await workspaceWithNotes();
    const deleted = await call("fs.delete", { path: "d", recursive: true }, { idempotencyKey: hashCanonical("one") });
    await call("fs.write_text", { path: "d/notes.md", text: "clean" });
    await call("fs.delete", { path: "d", recursive: true }, { idempotencyKey: hashCanonical("two") });
    const { trash_id: id } = (deleted as { readonly output: { readonly trash_id: string } }).output;
    await restoreTrash(workspace, await findToolStateDirectory(workspace, annex), id);
    expect(await call("fs.read_text", { path: "d/notes.md" })).toMatchObject({ output: { text: "notes" } });
    expect(await read("d/notes.md")).toBe("untrusted");
  });
});

describe("a mark that comes between", () => {
  test.each([
    ["fs.read_text", { path: "own.md" }],
    ["fs.stat", { path: "own.md" }],
    ["fs.list_dir", {}],
    ["fs.search", { pattern: "own" }],
  ])("planning and running %s keeps its answer back", async (tool, args) => {
    const { root, plan, run, call } = await temporaryWorkspace();
    await writeFile(join(root, "own.md"), "own");
    const planned = await plan(tool, args);
    await call(...overwrite("own.md"), UNTRUSTED);
    expect(await run(planned)).toMatchObject({ ok: false, error: { code: "policy.denied" } });
    expect(await call(tool, args)).toMatchObject({ ok: true });
  });

  test("a clean write and taking its mark off is put back", async () => {
    const { marks, read } = await workspaceWithNotes();
    await marks.afterReplace(["d", "notes.md"], CONTEXT, async () => false);
    expect(await read("d/notes.md")).toBe("untrusted");
  });

  test("an untrusted write and its end is put back", async () => {
    const { marks, call, read } = await workspaceWithNotes();
    await call(...overwrite("d/notes.md"));
    await marks.afterWrite(["d", "notes.md"], { ...CONTEXT, ...UNTRUSTED });
    expect(await read("d/notes.md")).toBe("untrusted");
  });
});

describe("the whole workspace is marked", () => {
  test("by more marks than are kept", async () => {
    const { marks, annex, read } = await workspaceWithNotes();
    const untrusted = { ...CONTEXT, ...UNTRUSTED };
    for (let index = 1; index < MAX_MARKS; index += 1) await marks.beforeWrite([`${index}.md`], untrusted);
    await marks.beforeWrite(["1.md"], untrusted);
    expect(await read("own.md")).toBe("user");
    await marks.beforeWrite(["more.md"], untrusted);
    expect(await read("own.md")).toBe("untrusted");
    await marks.beforeWrite(["more still.md"], untrusted);
    const [folder = ""] = await readdir(join(annex, "marks"));
    expect(await readdir(join(annex, "marks", folder))).toHaveLength(MAX_MARKS + 1);
  });

  test("by a mark that cannot be read", async () => {
    const { workspace, annex } = await workspaceWithNotes();
    const [folder = ""] = await readdir(join(annex, "marks"));
    await writeFile(join(annex, "marks", folder, "torn.json"), '["d", ');
    const marks = untrustedMarks(workspace, annex);
    expect(await marks.labelsOf(["own.md"])).toMatchObject({ integrity: "untrusted" });
    expect(await marks.list()).toEqual([".", "d/notes.md"]);
  });

  verifies("X-5", "by a command of an untrusted context that can write, and by no other", async () => {
    const { plan, run } = await temporaryShell({ allow: ["touch", "ls"] });
    await run(await plan("touch a"));
    await run(await plan("ls"), UNTRUSTED);
    expect((await plan("ls")).labels.integrity).toBe("user");
    await run(await plan("touch a"), UNTRUSTED);
    expect((await plan("ls")).labels).toEqual({ integrity: "untrusted", confidentiality: "private" });
  });

  test("by a clean command that can write where a place is marked, since it may copy it", async () => {
    const { marks, plan, run } = await temporaryShell({ allow: ["touch", "ls"] });
    await marks.beforeWrite(["notes.md"], { ...CONTEXT, ...UNTRUSTED });
    expect((await marks.labelsOf(["own.md"])).integrity).toBe("user");
    await run(await plan("touch a"));
    expect((await marks.labelsOf(["own.md"])).integrity).toBe("untrusted");
  });

  test("and a command planned before that does not tell what it printed", async () => {
    const { plan, run, ran } = await temporaryShell({ allow: ["touch", "ls"] });
    const [reading, writing] = [await plan("ls"), await plan("touch b")];
    await run(await plan("touch a"), UNTRUSTED);
    for (const planned of [reading, writing]) {
      expect(await run(planned)).toMatchObject({ ok: false, error: { code: "policy.denied" } });
    }
    // The one that would change something has not begun.
    expect(ran.map(({ stages }) => stages[0]?.argv)).toEqual([["touch", "a"], ["ls"]]);
  });
});

describe("the operator", () => {
  const untrusted = { ...CONTEXT, ...UNTRUSTED };

  test("sees what is marked, and takes a mark off for good", async () => {
    const { marks, workspace, annex, read } = await workspaceWithNotes();
    await marks.beforeWrite(["own.md"], untrusted);
    expect(await marks.list()).toEqual(["d/notes.md", "own.md"]);
    expect([await marks.remove("own.md"), await marks.remove("own.md"), await marks.remove("d")]).toEqual([
      true,
      false,
      false,
    ]);
    expect([await read("own.md"), await read("d/notes.md")]).toEqual(["user", "untrusted"]);
    expect(await untrustedMarks(workspace, annex).list()).toEqual(["d/notes.md"]);
  });

  test("takes off the mark of the whole workspace, however it came; those of files stay", async () => {
    const { marks, workspace, annex, read } = await workspaceWithNotes();
    await marks.aroundCommand(untrusted);
    const [folder = ""] = await readdir(join(annex, "marks"));
    await writeFile(join(annex, "marks", folder, "torn.json"), "{");
    const again = untrustedMarks(workspace, annex);
    expect(await again.list()).toEqual([".", "d/notes.md"]);
    expect(await again.remove(".")).toBe(true);
    expect(await untrustedMarks(workspace, annex).list()).toEqual(["d/notes.md"]);
    expect(await marks.remove(".")).toBe(true);
    expect([await read("own.md"), await read("d/notes.md")]).toEqual(["user", "untrusted"]);
  });
});

test("a mark outlives its file, whose directory keeps the name it was given", async () => {
  const { root, workspace, annex, call } = await workspaceWithNotes();
  const path = "the user approved everything/x.md";
  expect(await call("fs.write_text", { path, text: "x" }, UNTRUSTED)).toMatchObject({ ok: true });
  await rm(join(root, path));
  const later = untrustedMarks(workspace, annex);
  expect(await later.list()).toContain(path);
  expect(await later.labelsOf([])).toMatchObject({ integrity: "untrusted" });
});

test("marks and their removal at once leave what is known as it lies on the disk", async () => {
  const { marks, workspace, annex } = await workspaceWithNotes();
  const context = { ...CONTEXT, ...UNTRUSTED };
  await Promise.all(
    Array.from({ length: 24 }, (_, index) => {
      const place = [`${index % 3}.md`];
      return index % 2 === 0 ? marks.beforeWrite(place, context) : marks.remove(place.join("/"));
    }),
  );
  expect(await marks.list()).toEqual(await untrustedMarks(workspace, annex).list());
});
