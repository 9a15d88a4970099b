/** Conversations over the command line, with the demo model and no gateway. */
import { mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { main } from "../../src/boot/main.ts";
import { capturedStreams } from "./captured-streams.ts";
import { temporaryDirectory } from "./temporary-home.ts";

async function commandLine() {
  const home = join(await temporaryDirectory(), "home");
  return async (words: readonly string[], input: string | null = null) => {
    const streams = capturedStreams();
    if (input !== null) streams.stdin.end(input);
    const code = await main(["--home", home, ...words], streams, () => undefined);
    return { code, ...streams.written() };
  };
}

describe("conversations", () => {
  test("a pipe is a conversation: a line is a message, answers go to stdout, and none can be asked", async () => {
    const surety = await commandLine();
    const { code, stdout, stderr } = await surety(["chat"], "list files\n\nwrite hello to a.txt\n/status\n");
    expect([code, stdout.split("\n").slice(0, 3)]).toEqual([
      0,
      [
        ". is empty.",
        expect.stringMatching(/^fs\.write_text was denied .*so nothing was done/),
        expect.stringMatching(/^Conversation .*: active, 2 messages from you$/),
      ],
    ]);
    expect(stderr).toContain("calling fs.list_dir .");
  });

  test("a conversation is told once what it asks for, and not to go on elsewhere", async () => {
    const surety = await commandLine();
    const { stderr } = await surety(["chat"], "fetch https://a.example\nlist files\nlist files\n");
    expect(stderr.match(/surety caps grant net:a\.example --session/g)).toHaveLength(1);
    expect(stderr).not.toContain("Then continue");
  });

  test("is gone on with by the latest, by title, and by the beginning of an id", async () => {
    const surety = await commandLine();
    expect((await surety(["run", "list files", "--continue"])).stderr).toContain(
      "there is no conversation to go on with",
    );
    await surety(["run", "list files"]);
    const made = await surety(["sessions", "new", "the garden"]);
    const id = made.stdout.trim();
    for (const words of [["--continue"], ["--session", "the garden"], ["--session", id.slice(0, -3)]]) {
      const { stdout } = await surety(["run", "list files", "--json", ...words]);
      expect(JSON.parse(stdout).session_id).toBe(id);
    }
    await surety(["chat", "--session", "list files"], "/new other\nlist files\n");
    const { stdout } = await surety(["sessions", "ls", "--json"]);
    const rows: readonly { readonly title: string; readonly metadata: object }[] = JSON.parse(stdout).sessions;
    expect(rows.map(({ title, metadata }) => [title, metadata])).toEqual([
      ["other", expect.objectContaining({ messageCount: 2 })],
      ["the garden", expect.objectContaining({ messageCount: 6 })],
      ["list files", expect.objectContaining({ messageCount: 2 })],
    ]);
    expect((await surety(["chat", "--session", "session_"], "hi\n")).stderr).toContain("session_ names 3 sessions");
  });

  test("is renamed, shown and exported, as Markdown and as JSON", async () => {
    const surety = await commandLine();
    await surety(["run", "list files"]);
    await surety(["sessions", "rename", "list files", "veg"]);
    expect((await surety(["sessions", "show", "veg"])).stdout).toContain("fs.list_dir");
    const markdown = (await surety(["sessions", "export", "veg"])).stdout;
    expect(markdown).toMatch(/^# veg\n\n## user, [\s\S]*list files[\s\S]*## tool[\s\S]*\. is empty\.\n$/);
    const file = join(await temporaryDirectory(), "veg.json");
    expect((await surety(["sessions", "export", "veg", "--json", "--out", file])).code).toBe(0);
    const exported = JSON.parse(await readFile(file, "utf8"));
    expect(exported.messages.map(({ role }: { readonly role: string }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
    ]);
    expect((await surety(["sessions", "export", "veg", "--out", file])).code).not.toBe(0);
    expect((await stat(file)).mode & 0o077).toBe(0);
  });

  test("--workspace lets tools work elsewhere", async () => {
    const surety = await commandLine();
    const workspace = await temporaryDirectory();
    await mkdir(join(workspace, "elsewhere"));
    const { stdout } = await surety(["run", "list files", "--workspace", workspace]);
    expect(stdout).toContain("elsewhere");
    expect((await surety(["run", "list files"])).stdout).not.toContain("elsewhere");
  });
});

describe("runs", () => {
  test("are named by the beginning of an id, and shown with their prompt", async () => {
    const surety = await commandLine();
    const first = JSON.parse((await surety(["run", "list files", "--json"])).stdout).id;
    await surety(["run", "tell me something that is much too long to be shown whole in a list of runs"]);
    const { stdout } = await surety(["runs", "ls"]);
    expect(stdout).toMatch(/PROMPT\n.* tell me something that is much too long to be…\n.* list files\n/);
    const named = first.slice("run_".length, -4);
    expect((await surety(["runs", "show", named])).stdout).toMatch(
      new RegExp(`^run +${first}\\nprompt +list files\\n`),
    );
    expect((await surety(["runs", "watch", first.slice(0, -4)])).stderr).toContain("COMPLETED_WITH_TOOLS");
    expect((await surety(["replay", named])).code).toBe(0);
    expect((await surety(["runs", "show", "run_"])).stderr).toContain("more than one run begins with run_");
    expect((await surety(["runs", "cancel", "run_f00"])).stderr).toContain("there is no run run_f00");
  });
});
