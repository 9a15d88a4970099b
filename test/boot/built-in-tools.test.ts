/** The tools as boot makes them: each on the real system, together in one workspace. */

import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createToolbox } from "../../src/adapters/tools/create-toolbox.ts";
import { messageTools } from "../../src/adapters/tools/message/message-send.ts";
import { describeBuiltInTools, openBuiltInTools } from "../../src/boot/built-in-tools.ts";
import { DEFAULT_CONFIG } from "../../src/boot/config/default-config.ts";
import { openHome } from "../../src/boot/home.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { USER_LABELS } from "../../src/kernel/vocabulary/labels.ts";
import { parseToolResponse } from "../../src/kernel/vocabulary/tool-envelope.ts";
import type { Channel } from "../../src/runtime/ports/channel.ts";
import type { Arguments } from "../../src/runtime/ports/toolbox.ts";
import { answering, serve } from "../adapters/tools/http/gated-calls.ts";
import { verifies } from "../requirements.ts";
import { temporaryHome } from "./temporary-home.ts";

type ToolsConfig = Partial<(typeof DEFAULT_CONFIG)["tools"]>;

async function settingsFor(tools: ToolsConfig = {}) {
  const home = await temporaryHome();
  await openHome(home);
  return { home, clock: systemClock, config: { ...DEFAULT_CONFIG, tools: { ...DEFAULT_CONFIG.tools, ...tools } } };
}

async function toolboxFor(tools: ToolsConfig = {}) {
  const settings = await settingsFor(tools);
  const defects: unknown[] = [];
  const { toolsFor } = await openBuiltInTools(settings);
  const toolbox = createToolbox(toolsFor(settings.config, []), {
    clock: systemClock,
    onDefect: (error) => defects.push(error),
  });
  const call = async (tool: string, args: Arguments) => {
    const planned = await toolbox.plan(tool, args);
    expect(defects).toEqual([]);
    if (!planned.ok) return planned;
    const { timeoutMs } = planned;
    const context = { requestId: "req_1", runId: "run_1", agentId: "main", timeoutMs, idempotencyKey: null };
    const signal = AbortSignal.timeout(timeoutMs);
    const answer = parseToolResponse(
      await toolbox.run(planned, {
        ...context,
        isRepeat: false,
        mayAct: true,
        seen: USER_LABELS,
        signal,
        onOutput: null,
      }),
    );
    expect(defects).toEqual([]);
    return answer.ok ? answer.response : answer;
  };
  return { ...settings, toolbox, call };
}

const NAMES = [
  ...["agent.delegate", "fs.delete", "fs.edit", "fs.list_dir", "fs.read_text", "fs.search", "fs.stat", "fs.write_text"],
  ...["http.get", "memory.remember", "memory.search", "schedule.add", "schedule.list", "schedule.remove", "shell.exec"],
];

test("there are these, and web.search where an engine is named", async () => {
  const plain = await settingsFor();
  const named = await settingsFor({ search: { url: "https://search.example" } });
  const namesOf = (settings: typeof plain) =>
    describeBuiltInTools(settings)
      .map(({ name }) => name)
      .toSorted();
  expect(namesOf(plain)).toEqual(NAMES);
  expect(namesOf(named)).toEqual([...NAMES, "web.search"]);
  expect(
    (await openBuiltInTools(plain))
      .toolsFor(plain.config, [])
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual(NAMES);
});

verifies("P-3.2", "the default policy lists each of them by name, and nothing else", async () => {
  const settings = await settingsFor({ search: { url: "https://search.example" } });
  const channel = { name: "demo" } as Channel;
  const needChannel = messageTools({
    channels: [channel],
    templates: {},
    workspace: { root: "/", traversal: "paths" },
  });
  const names = [...describeBuiltInTools(settings), ...needChannel].map(({ name }) => name);
  expect(DEFAULT_CONFIG.tools.policy.allow.toSorted()).toEqual(names.toSorted());
});

test("docs/tools.md has a row for each, with what it takes and its class", async () => {
  const document = await readFile("docs/tools.md", "utf8");
  const settings = await settingsFor({ search: { url: "https://search.example" } });
  for (const { name, risk, parameters, reachesHosts } of describeBuiltInTools(settings)) {
    const row = document.split("\n").find((line) => line.startsWith(`| \`${name}\` |`)) ?? "";
    for (const parameter of Object.keys(parameters.properties)) expect(row, name).toContain(`\`${parameter}\``);
    expect(row, name).toContain(risk);
    if (reachesHosts) expect(row, name).toContain("reaches a host");
  }
});

test("describing and opening them makes nothing in the home but the workspace", async () => {
  const { home } = await toolboxFor();
  expect((await readdir(home.directory)).toSorted()).toEqual(["agents", "keys", "logs", "workspace"]);
  expect(await readdir(home.workspace)).toEqual([]);
});

test.runIf(process.getuid?.() === 0)("as root, no workspace changes its owner, the home's own neither", async () => {
  const { home, call } = await toolboxFor({ shell: { allow: ["cp"] } });
  const named = join(home.directory, "../named");
  await mkdir(named, { mode: 0o700 });
  const other = await toolboxFor({ workspace: named, shell: { allow: ["cp"] } });
  for (const [workspace, toolbox] of [
    [home.workspace, call],
    [named, other.call],
  ] as const) {
    await writeFile(join(workspace, "a.txt"), "a", { mode: 0o600 });
    expect(await toolbox("shell.exec", { cmd: "cp a.txt b.txt" })).toMatchObject({ output: { exit_code: 0 } });
    for (const path of ["", "a.txt", "b.txt"])
      expect(await stat(join(workspace, path))).toMatchObject({ uid: 0, gid: 0 });
  }
});

describe("one workspace for all of them", () => {
  test("commands read what the file tools wrote, and the file tools what commands made", async () => {
    const { call, home } = await toolboxFor({ shell: { allow: ["cat", "cp", "ls"] } });
    expect(await call("fs.write_text", { path: "first.txt", text: "before any command" })).toMatchObject({ ok: true });
    expect(await call("shell.exec", { cmd: "cat first.txt" })).toMatchObject({
      output: { exit_code: 0, stdout: "before any command" },
    });
    expect(await call("fs.write_text", { path: "d/e/second.txt", text: "after one" })).toMatchObject({ ok: true });
    expect(await call("shell.exec", { cmd: "cp d/e/second.txt d/third.txt" })).toMatchObject({
      output: { exit_code: 0, stderr: "" },
    });
    expect(await call("fs.edit", { path: "d/third.txt", old_text: "after", new_text: "not" })).toMatchObject({
      ok: true,
    });
    expect(await call("shell.exec", { cmd: "cat d/third.txt" })).toMatchObject({ output: { stdout: "not one" } });
    expect(await readFile(join(home.workspace, "d/third.txt"), "utf8")).toBe("not one");
  });

  test("also in a workspace of the operator's that others may enter", async () => {
    const base = await settingsFor();
    const workspace = join(base.home.directory, "..", "project");
    await mkdir(workspace);
    await chmod(workspace, 0o755);
    const { call } = await toolboxFor({ workspace });
    expect(await call("fs.write_text", { path: "a.txt", text: "x" })).toMatchObject({ ok: true });
    expect(await call("shell.exec", { cmd: "cat a.txt" })).toMatchObject({ output: { exit_code: 0, stdout: "x" } });
  });

  test("nothing of the home is in a command's sight", async () => {
    const { call, home } = await toolboxFor({ shell: { allow: ["sh"] } });
    await writeFile(home.tokenFile, "CANARY", { mode: 0o644 });
    const text = `ls ${home.directory}\ncat ${home.tokenFile}\n`;
    expect(await call("fs.write_text", { path: "look.sh", text })).toMatchObject({ ok: true });
    expect(await call("shell.exec", { cmd: "sh look.sh" })).toMatchObject({
      output: { exit_code: 1, stdout: "workspace\n", stderr: expect.stringContaining("No such file") },
    });
  });
});

test("pages are kept in the home's cache.db", async () => {
  const { place, url, requests } = await serve(answering("page"));
  const { call, home } = await toolboxFor({ http: { allowAddresses: [place], ttlS: 60 } });
  expect(await call("http.get", { url })).toMatchObject({ output: { text: "page", from_cache: false } });
  expect(await call("http.get", { url })).toMatchObject({ output: { text: "page", from_cache: true } });
  expect(requests).toHaveLength(1);
  expect(await readdir(home.directory)).toContain("cache.db");
});
