/** Whether a call can be undone, as an approver reads it, tool by tool. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryWorkspace } from "./fs/temporary-workspace.ts";
import { openWeb } from "./http/gated-calls.ts";
import { temporaryShell } from "./shell/temporary-shell.ts";

test("files: what is new or trashed can be taken back, what is replaced cannot", async () => {
  const { root, plan } = await temporaryWorkspace();
  await writeFile(join(root, "old.txt"), "old");
  const reversals = await Promise.all(
    [
      ["fs.write_text", { path: "new.txt", text: "x" }] as const,
      ["fs.write_text", { path: "old.txt", text: "x", overwrite: true }] as const,
      ["fs.write_text", { path: "old.txt", text: "old", overwrite: true }] as const,
      ["fs.edit", { path: "old.txt", old_text: "old", new_text: "new" }] as const,
      ["fs.delete", { path: "old.txt" }] as const,
      ["fs.read_text", { path: "old.txt" }] as const,
    ].map(async ([tool, args]) => (await plan(tool, args)).reversal),
  );
  expect(reversals.map(({ kind }) => kind)).toEqual([
    "reversible",
    "irreversible",
    "reversible",
    "reversible",
    "reversible",
    "reversible",
  ]);
  for (const { how } of reversals) expect(how).toMatch(/^[a-z][^\n]+[a-z]$/);
});

test("a command is unknown, unless it only reads", async () => {
  const { plan } = await temporaryShell({ allow: ["ls", "touch"] });
  expect((await plan("touch a")).reversal.kind).toBe("unknown");
  expect((await plan("ls")).reversal.kind).toBe("reversible");
});

test("a request to another host is irreversible", async () => {
  const { toolbox } = await openWeb();
  expect(await toolbox.plan("http.get", { url: "https://a.test/" })).toMatchObject({
    reversal: { kind: "irreversible" },
  });
});
