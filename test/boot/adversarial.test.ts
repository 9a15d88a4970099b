/** Adversarial inputs through real runs: a model proposes the call, and the whole assistant stands in between. */
import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { answering, redirecting, serve } from "../adapters/tools/http/gated-calls.ts";
import { verifies } from "../requirements.ts";
import { readOk } from "./config/example-config.ts";
import { countProcesses, openPuppet, watchConnects } from "./puppet.ts";

interface Attack {
  readonly class: string;
  readonly name: string;
  readonly input: { readonly tool?: string; readonly args?: Readonly<Record<string, string | number>> };
}

async function attacks(name: string): Promise<readonly Attack[]> {
  const all: readonly Attack[] = JSON.parse(await readFile("test/fixtures/adversarial.json", "utf8"));
  return all.filter((attack) => attack.class === name);
}

type Proposed = Awaited<ReturnType<Awaited<ReturnType<typeof openPuppet>>["propose"]>>;

/** Denied, told to the model as such, and audited; nothing that it was after is anywhere. */
function expectDenied({ result, audit, kept, defects }: Proposed, name: string, code = "policy.denied"): void {
  expect(defects, name).toEqual([]);
  expect(result, name).toMatchObject({ ok: false, error: expect.stringMatching(new RegExp(`^${code}: `)) });
  expect(
    audit.map(({ event_type }) => event_type),
    name,
  ).toContain("tool.call");
  expect(kept, name).not.toContain("CANARY");
}

const NOTHING_PERFORMED = { tool_calls: 0, outcome: "COMPLETED_CHAT_ONLY" };

describe("shell_allowlist", () => {
  const ALLOWED = [
    ...["benign_substring_false_positive", "dash_leading_filename", "relative_binary_shadow", "timeout_huge"],
  ];

  verifies("S-4.3", "every attack is denied before a process is made, and kept with all of its words", async () => {
    const { propose } = await openPuppet();
    const processes = countProcesses();
    const denied = (await attacks("shell_allowlist")).filter(({ name }) => !ALLOWED.includes(name));
    expect(denied).toHaveLength(22);
    for (const { name, input } of denied) {
      const cmd = String(input.args?.["cmd"]);
      const proposed = await propose(
        { name: "shell.exec", arguments: { cmd } },
        // Not the asking is what stops it.
        { approvedTools: ["shell.exec"] },
      );
      expectDenied(proposed, name);
      expect(proposed.record, name).toMatchObject(NOTHING_PERFORMED);
      const words = JSON.stringify(cmd).slice(1, -1);
      expect(
        [proposed.kept.includes(words), proposed.kept.includes(JSON.stringify(words).slice(1, -1))],
        name,
      ).toContain(true);
    }
    expect(processes()).toBe(0);
  });

  verifies("S-4.3/sandbox", "the positive controls run in the sandbox, by the program that is meant", async () => {
    const { propose, home } = await openPuppet();
    const { workspace } = home;
    await writeFile(join(workspace, "ls"), "#!/bin/sh\necho CANARY\n", { mode: 0o755 });
    await writeFile(join(workspace, "--help"), "");
    await writeFile(join(workspace, "rm-notes.txt"), "");
    const allowed = (await attacks("shell_allowlist")).filter(({ name }) => ALLOWED.includes(name));
    expect(allowed).toHaveLength(ALLOWED.length);
    for (const { name, input } of allowed) {
      const { setup: _fixture, ...args } = input.args ?? {};
      const { record, result } = await propose({ name: "shell.exec", arguments: args });
      expect(record, name).toMatchObject({ outcome: "COMPLETED_WITH_TOOLS", tool_calls: 1 });
      expect(result, name).toMatchObject({ ok: true });
      expect(result.output, name).toMatchObject({ exit_code: 0, stdout: expect.not.stringContaining("CANARY") });
    }
  });
});

describe("an exception that allows every command", () => {
  const { tools } = readOk(`{ tools: {
    policy: { exceptions: [{ tool: "shell.exec", channel: "cli_local", decision: "allow" }] },
    shell: { allow: ["mkdir", "sh", "env", "xargs", "rm"] },
  } }`);

  verifies(["P-3.3", "S-4.3"], "does not let a model start programs or remove directories unasked", async () => {
    const { propose, home } = await openPuppet(tools);
    const shell = (cmd: string) => ({ name: "shell.exec", arguments: { cmd } });
    const made = await propose(shell("mkdir kept"));
    expect(made.record).toMatchObject({ outcome: "COMPLETED_WITH_TOOLS", tool_calls: 1 });
    for (const cmd of ["sh -c 'rmdir kept'", "env rmdir kept", "xargs rmdir kept", "rm -rf kept"]) {
      const proposed = await propose(shell(cmd));
      expectDenied(proposed, cmd);
      expect(proposed.audit, cmd).toContainEqual(
        expect.objectContaining({
          event_type: "tool.call",
          payload: expect.objectContaining({ decision: "deny", policy_id: "policy.asks-always" }),
        }),
      );
    }
    expect(await readdir(home.workspace)).toEqual(["kept"]);
    const approved = await propose(shell("sh -c 'rmdir kept'"), { approvedTools: ["shell.exec"] });
    expect(approved.record).toMatchObject({ outcome: "COMPLETED_WITH_TOOLS", tool_calls: 1 });
    expect(await readdir(home.workspace)).toEqual([]);
  });
});

describe("path_escape", () => {
  /** A device and a flood have tests of their own beside the tools; none of ours opens archives. */
  const ELSEWHERE = ["device_zero", "list_dir_flood", "zip_slip"];
  const CODES: Readonly<Record<string, string>> = {
    fullwidth_dots: "invalid.request",
    percent_encoded: "invalid.request",
    two_dot_leader_u2025: "invalid.request",
    windows_ads_and_reserved: "tool.input_invalid",
  };

  verifies("S-4.2/paths", "every escape is denied and journaled; nothing outside is read or written", async () => {
    const { propose, home } = await openPuppet();
    const { workspace } = home;
    const outside = join(home.directory, "outside");
    await mkdir(outside);
    await mkdir(`${workspace}-evil`);
    await writeFile(join(`${workspace}-evil`, "secret"), "CANARY");
    await symlink(outside, join(workspace, "d"));
    await promisify(execFile)("mkfifo", [join(workspace, "p")]);
    const listed = (await attacks("path_escape")).filter(({ name }) => !ELSEWHERE.includes(name));
    expect(listed).toHaveLength(10);
    for (const { name, input } of listed) {
      const text = JSON.stringify(input.args).replaceAll("{SANDBOX}", workspace);
      const proposed = await propose(
        { name: input.tool ?? "", arguments: JSON.parse(text) },
        { approvedTools: ["fs.write_text"] },
      );
      expectDenied(proposed, name, CODES[name]);
    }
    expect(await readdir(outside)).toEqual([]);
    expect((await readdir(workspace)).toSorted()).toEqual(["d", "p"]);
  });

  test("what is inside is written and read", async () => {
    const { propose } = await openPuppet();
    const path = "a/b.txt";
    const written = await propose(
      { name: "fs.write_text", arguments: { path, text: "inside" } },
      { approvedTools: ["fs.write_text"] },
    );
    expect(written.record).toMatchObject({ outcome: "COMPLETED_WITH_TOOLS", tool_calls: 1 });
    const { result } = await propose({ name: "fs.read_text", arguments: { path: "a/../a/b.txt" } });
    expect(result).toMatchObject({ ok: true });
    expect(JSON.stringify(result)).toContain("inside");
  });
});

describe("ssrf_url", () => {
  verifies("S-4.4", "with net granted, every listed URL is denied without a connection", async () => {
    const { place } = await serve(answering("CANARY"));
    const { propose, sessionWith, modelPlace } = await openPuppet({ http: { allowAddresses: [place], ttlS: 60 } });
    const everything = await sessionWith("net", "net:huggingface.co");
    const oneDomain = await sessionWith("net:huggingface.co");
    const listed = (await attacks("ssrf_url")).filter(({ input }) => input.args !== undefined);
    expect(listed.length).toBeGreaterThan(22);
    const connects = watchConnects();
    for (const { name, input } of listed) {
      const sessionId = name === "subdomain_not_granted" ? oneDomain : everything;
      const proposed = await propose({ name: "http.get", arguments: input.args ?? {} }, { sessionId });
      expectDenied(proposed, name);
      expect(proposed.record, name).toMatchObject(NOTHING_PERFORMED);
    }
    expect(connects.filter((to) => to !== modelPlace)).toEqual([]);
  });

  test("a grant opens what the operator lists; without it not even the cache answers", async () => {
    const { url, place, requests } = await serve(answering("page"));
    const { propose, sessionWith, decide } = await openPuppet({ http: { allowAddresses: [place], ttlS: 60 } });
    const call = { name: "http.get", arguments: { url } };
    expectDenied(await propose(call), "without a grant");
    // A session that has read a page holds untrusted text: its next call would ask. So each has one of its own.
    for (const fromCache of [false, true]) {
      const { result, record } = await propose(call, { sessionId: await sessionWith("net") });
      expect(result).toMatchObject({ ok: true, error: null, output: { text: "page", from_cache: fromCache } });
      expect(record).toMatchObject({ outcome: "COMPLETED_WITH_TOOLS" });
    }
    const sessionId = await sessionWith("net");
    await decide(sessionId, "revoke", "net");
    expectDenied(await propose(call, { sessionId }), "cache_poison_across_caps");
    expect(requests).toHaveLength(1);
  });

  test("redirect_cross_domain_header_leak: another host is another call", async () => {
    const evil = await serve(answering("CANARY"), "127.0.0.2");
    const { url, place } = await serve(redirecting(`http://${evil.place}/`));
    const http = { allowAddresses: [place, evil.place], ttlS: 60 };
    const { propose, sessionWith, modelPlace } = await openPuppet({ http });
    const sessionId = await sessionWith("net");
    const connects = watchConnects();
    const { result, kept } = await propose({ name: "http.get", arguments: { url } }, { sessionId });
    expect(result).toMatchObject({ ok: false, error: expect.stringMatching(/^policy\.denied: .*127\.0\.0\.2/) });
    expect(kept).not.toContain("CANARY");
    expect(evil.requests).toHaveLength(0);
    expect(connects.filter((to) => to !== modelPlace)).toEqual([place]);
  });
});
