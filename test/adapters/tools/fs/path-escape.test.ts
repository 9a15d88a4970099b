/** The class path_escape of the adversarial inputs, on both ways of walking, and random trees full of links. */
import { execFile } from "node:child_process";
import { mkdir, readFile, realpath, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Traversal } from "../../../../src/adapters/tools/fs/directory-handle.ts";
import { searchTree } from "../../../../src/adapters/tools/fs/search-tree.ts";
import type { Arguments } from "../../../../src/runtime/ports/toolbox.ts";
import { verifies } from "../../../requirements.ts";
import { CANARY, temporaryWorkspace } from "./temporary-workspace.ts";

interface Escape {
  readonly class: string;
  readonly name: string;
  readonly input: { readonly tool?: string; readonly args?: Readonly<Record<string, string>> };
}

const TRAVERSALS: readonly Traversal[] = ["handles", "paths"];

/** Driven elsewhere: a device by read-text.test.ts, a flood by list-dir.test.ts; no tool of ours opens archives. */
const ELSEWHERE = ["device_zero", "list_dir_flood", "zip_slip"];

const CODES: Readonly<Record<string, string>> = {
  dotdot: "policy.denied",
  fifo_hang: "policy.denied",
  fullwidth_dots: "invalid.request",
  home_tilde: "policy.denied",
  percent_encoded: "invalid.request",
  prefix_sibling: "policy.denied",
  proc_self_environ: "policy.denied",
  symlink_parent_missing_leaf: "policy.denied",
  two_dot_leader_u2025: "invalid.request",
  windows_ads_and_reserved: "tool.input_invalid",
};

/** Tools with a path of their own that the listed inputs do not name. */
const LATER_TOOLS: readonly (readonly [string, Arguments])[] = [
  ["fs.search", { pattern: "canary" }],
  ["fs.edit", { old_text: "canary", new_text: "x" }],
  ["fs.delete", {}],
  ["fs.delete", { recursive: true }],
  ["fs.stat", {}],
];

async function escapes(): Promise<readonly Escape[]> {
  const all: readonly Escape[] = JSON.parse(await readFile("test/fixtures/adversarial.json", "utf8"));
  return all.filter((input) => input.class === "path_escape" && !ELSEWHERE.includes(input.name));
}

describe.each(TRAVERSALS)("by %s", (traversal) => {
  verifies(
    ["S-4.2/paths", "S-4.2/symlink"],
    "every listed escape is denied, and nothing outside is touched",
    async () => {
      const listed = await escapes();
      expect(listed.map(({ name }) => name).toSorted()).toEqual(Object.keys(CODES).toSorted());
      for (const { name, input } of listed) {
        const { call, root, outside, expectUntouched } = await temporaryWorkspace(traversal);
        await symlink(outside, join(root, "d"));
        await promisify(execFile)("mkfifo", [join(root, "p")]);
        const args = Object.fromEntries(
          Object.entries(input.args ?? {}).map(([key, value]) => [key, value.replaceAll("{SANDBOX}", root)]),
        );
        expect(await call(input.tool ?? "", args), name).toMatchObject({ ok: false, error: { code: CODES[name] } });
        for (const [tool, others] of LATER_TOOLS) {
          const answer = await call(tool, { ...others, path: args["path"] ?? "" });
          // A pipe is no place to search, and may be looked up: that opens nothing.
          const isPipe = name === "fifo_hang";
          if (isPipe && tool === "fs.stat") expect(answer).toMatchObject({ output: { type: "other" } });
          else {
            const code = isPipe && tool === "fs.search" ? "invalid.request" : CODES[name];
            expect(answer, `${name}: ${tool}`).toMatchObject({ ok: false, error: { code } });
          }
        }
        await expectUntouched();
      }
    },
  );

  const links: readonly (readonly [string, string, string])[] = [
    ["a link to a directory", "outside", "l/canary.txt"],
    ["a link to a file", "outside/canary.txt", "l"],
    ["a link to the parent", ".", "l/outside/canary.txt"],
    ["a link to the root directory", "/", "l/etc/passwd"],
    ["a link to this process", "/proc/self", "l/environ"],
    ["a link to this process's root", "/proc/self/root", "l/etc/passwd"],
    ["a link back into the workspace", "workspace/inside", "l/a.txt"],
    ["a dangling link", "outside/nothing", "l"],
    ["a dangling link on the way", "outside/nothing", "l/x"],
    ["a link to itself", "workspace/l", "l/x"],
  ];
  for (const [what, target, path] of links) {
    verifies("S-4.2/symlink", `${what} is never followed`, async () => {
      const { call, root, expectUntouched } = await temporaryWorkspace(traversal);
      await mkdir(join(root, "inside"));
      await writeFile(join(root, "inside/a.txt"), "inside");
      await symlink(target.startsWith("/") ? target : join(root, "..", target), join(root, "l"));
      for (const [tool, args] of [
        ["fs.read_text", { path }],
        ["fs.list_dir", { path }],
        ["fs.write_text", { path, text: "x" }],
        ["fs.write_text", { path, text: "x", overwrite: true }],
        ["fs.write_text", { path: `${path}/deep/new.txt`, text: "x" }],
      ] as const) {
        expect(await call(tool, args), tool).toMatchObject({ ok: false, error: { code: "policy.denied" } });
      }
      for (const [tool, others] of LATER_TOOLS) {
        const answer = await call(tool, { ...others, path });
        if (tool === "fs.stat" && path === "l")
          expect(answer).toMatchObject({ output: { type: "symlink", bytes: null } });
        else expect(answer, tool).toMatchObject({ ok: false, error: { code: "policy.denied" } });
      }
      expect(await readFile(join(root, "inside/a.txt"), "utf8")).toBe("inside");
      await expectUntouched();
    });
  }

  test("what is inside is read, listed, written, searched, edited and deleted", async () => {
    const { call, expectUntouched } = await temporaryWorkspace(traversal);
    expect(await call("fs.write_text", { path: "a/b/c.txt", text: "x" })).toMatchObject({ ok: true });
    expect(await call("fs.write_text", { path: "a/b/c.txt", text: "y", overwrite: true })).toMatchObject({ ok: true });
    expect(await call("fs.read_text", { path: "a/./b/../b/c.txt" })).toMatchObject({ output: { text: "y" } });
    expect(await call("fs.list_dir", { path: "a/b" })).toMatchObject({ output: { entries: [{ name: "c.txt" }] } });
    expect(await call("fs.search", { pattern: "y", path: "a" })).toMatchObject({ output: { matches: [{ line: 1 }] } });
    expect(await call("fs.edit", { path: "a/b/c.txt", old_text: "y", new_text: "z" })).toMatchObject({ ok: true });
    expect(await call("fs.stat", { path: "a/b/c.txt" })).toMatchObject({ output: { type: "file", bytes: 1 } });
    expect(await call("fs.delete", { path: "a", recursive: true })).toMatchObject({ output: { entries: 3, bytes: 1 } });
    expect(await call("fs.list_dir", {})).toMatchObject({ output: { entries: [] } });
    await expectUntouched();
  });
});

verifies("S-4.2", "in any tree of directories, files and links, no path and no tool reaches outside", async () => {
  const name = fc.constantFrom("a", "b", "c", "l", "m");
  const place = fc.array(name, { minLength: 1, maxLength: 3 });
  const node = fc.oneof(
    fc.record({ kind: fc.constant("file"), at: place }),
    fc.record({ kind: fc.constant("directory"), at: place }),
    fc.record({
      kind: fc.constant("link"),
      at: place,
      to: fc.constantFrom("OUTSIDE", "OUTSIDE/canary.txt", "OUTSIDE/new", "..", "../..", "/", "a", "../b", "."),
    }),
  );
  const path = fc
    .array(fc.oneof(name, name, fc.constantFrom("..", ".", "canary.txt", "outside", "new", "")), { maxLength: 6 })
    .map((names) => names.join("/"));
  const step = fc.record({ tool: fc.constantFrom(...TOOLS), path });

  await fc.assert(
    fc.asyncProperty(
      fc.array(node, { maxLength: 10 }),
      fc.array(step, { minLength: 1, maxLength: 12 }),
      async (nodes, steps) => {
        const { call, root, outside, workspace, expectUntouched } = await temporaryWorkspace();
        for (const made of nodes) await plant(root, outside, made);
        const searched = searchTree({ ...workspace, ...ANYTHING });
        expect(JSON.stringify(searched.matches)).not.toContain("canary");
        for (const [index, { tool, path: at }] of steps.entries()) {
          const answer = await call(tool, argumentsFor(tool, at), { requestId: `step ${index}` });
          const said = JSON.stringify(answer);
          expect(said).not.toContain(CANARY);
          expect(said).not.toContain(`"bytes":${CANARY.length}`);
        }
        await expectUntouched();
      },
    ),
    { numRuns: 150 },
  );
});

/** In this thread: a hundred threads would take their time. */
const ANYTHING = { names: [], pattern: ".", regex: true, ignoreCase: false, glob: "", maxResults: 1_000 };
const TOOLS = ["fs.read_text", "fs.list_dir", "fs.write_text", "fs.edit", "fs.delete", "fs.stat"] as const;

function argumentsFor(tool: (typeof TOOLS)[number], path: string): Arguments {
  if (tool === "fs.write_text") return { path, text: "written", overwrite: path.length % 2 === 0 };
  if (tool === "fs.edit") return { path, old_text: path.length % 2 === 0 ? "i" : "canary", new_text: "o" };
  return tool === "fs.delete" ? { path, recursive: path.length % 2 === 0 } : { path };
}

async function plant(
  root: string,
  outside: string,
  node: { readonly kind: string; readonly at: readonly string[]; readonly to?: string },
): Promise<void> {
  const at = join(root, ...node.at);
  // What is in the way of a node stays; a node through a link that is there already would be planted outside.
  if (!(await isPlainDirectory(join(at, "..")))) return;
  if (node.kind === "file") await writeFile(at, "inside", { flag: "wx" }).catch(() => null);
  else if (node.kind === "directory") await mkdir(at).catch(() => null);
  else await symlink((node.to ?? "").replace("OUTSIDE", outside), at).catch(() => null);
}

async function isPlainDirectory(path: string): Promise<boolean> {
  try {
    return (await realpath(path)) === path && (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}
