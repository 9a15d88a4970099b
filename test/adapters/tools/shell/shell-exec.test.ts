/** shell.exec as it is planned and run, over real programs and files, in a sandbox that only remembers. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, copyFile, mkdir, readFile, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { type Sandbox, SandboxError } from "../../../../src/runtime/ports/sandbox.ts";
import type { CallContext } from "../../../../src/runtime/ports/toolbox.ts";
import { citedTitle, verifies } from "../../../requirements.ts";
import { QUIET, temporaryShell } from "./temporary-shell.ts";

const run = promisify(execFile);

async function gitInit(root: string, more = ""): Promise<void> {
  await run("git", ["init", "-q", root]);
  const config = join(root, ".git/config");
  await writeFile(config, `${await readFile(config, "utf8")}${more}`);
}

describe("parameters and output", () => {
  test("shell.exec takes cmd and timeout_s, 20 by default, and nothing else", async () => {
    const { toolbox, plan, verdict } = await temporaryShell();
    expect(toolbox.tools).toMatchObject([
      {
        name: "shell.exec",
        parameters: {
          required: ["cmd"],
          properties: { cmd: { type: "string" }, timeout_s: { type: "integer", default: 20 } },
          additionalProperties: false,
        },
      },
    ]);
    expect(await plan("ls")).toMatchObject({ args: { cmd: "ls", timeout_s: 20 }, timeoutMs: 20_000 });
    expect(await plan({ cmd: "ls", timeout_s: 3 })).toMatchObject({ timeoutMs: 3000 });
    for (const args of [
      {},
      { cmd: "" },
      { cmd: 5 },
      { cmd: "ls", timeout_s: 0 },
      { cmd: "ls", timeout_s: 1.5 },
      { cmd: "ls", shell: true },
    ]) {
      expect(await verdict(args)).toBe("tool.input_invalid");
    }
  });

  test("an exit code is a result, and output is text", async () => {
    const result = {
      exitCode: 2,
      stdout: Buffer.from("a\xff", "latin1"),
      stderr: Buffer.from("no é"),
      durationMs: 7.4,
    };
    const { plan, run } = await temporaryShell({ result });
    expect(await run(await plan("ls missing"))).toEqual({
      ok: true,
      output: { exit_code: 2, stdout: "a\ufffd", stderr: "no é", truncated: false, duration_ms: 7 },
    });
  });

  test("output that was cut in the middle of a character ends before it", async () => {
    const { plan, run } = await temporaryShell({ result: { stdout: Buffer.from("aé").subarray(0, 2), isCut: true } });
    expect(await run(await plan("cat a"))).toMatchObject({ output: { stdout: "a", truncated: true } });
  });

  test("running out of time is a failure, which only a reading command may retry", async () => {
    const { plan, run } = await temporaryShell({ allow: ["ls", "rm"], result: { isTimedOut: true, exitCode: 137 } });
    expect(await run(await plan("ls"))).toMatchObject({ ok: false, error: { code: "timeout", retryable: true } });
    expect(await run(await plan("rm a"))).toMatchObject({ ok: false, error: { code: "timeout", retryable: false } });
  });

  test.each([
    ["was stopped", 137, { ok: false, error: { code: "timeout" } }],
    ["ended by itself meanwhile", 1, { ok: true, output: { exit_code: 1 } }],
  ])("a command that %s reports that", async (_, exitCode, answer) => {
    const controller = new AbortController();
    const stopping: Sandbox = {
      check: () => Promise.resolve([]),
      run() {
        controller.abort();
        return Promise.resolve({ ...QUIET, exitCode });
      },
    };
    const { plan, run } = await temporaryShell({ sandbox: stopping });
    expect(await run(await plan("ls"), { signal: controller.signal })).toMatchObject(answer);
  });

  test.each([
    ["sandbox.moved", "policy.denied", {}],
    ["sandbox.unavailable", "sandbox.required", {}],
    ["sandbox.failed", "internal.error", { outcome: "unknown" }],
  ] as const)("%s is %s", async (from, code, details) => {
    const failing: Sandbox = {
      check: () => Promise.resolve([]),
      run: () => Promise.reject(new SandboxError(from, "Do something about it.")),
    };
    const { plan, run } = await temporaryShell({ sandbox: failing });
    const error = { code, message: "Do something about it.", retryable: false, details };
    expect(await run(await plan("ls"))).toEqual({ ok: false, error });
  });

  test("other names: shell_execute with a command", async () => {
    const { toolbox } = await temporaryShell();
    expect(await toolbox.plan("shell_execute", { command: "ls -a" })).toMatchObject({
      ok: true,
      tool: "shell.exec",
      args: { cmd: "ls -a", timeout_s: 20 },
    });
    expect(await toolbox.plan("shell_execute", { command: "rm -rf node_modules" })).toMatchObject({
      ok: false,
      error: { code: "policy.denied" },
    });
  });

  test("a line about what was done", async () => {
    const { toolbox } = await temporaryShell();
    const call = { tool: "shell.exec", args: { cmd: "ls -a" }, ok: true, output: { exit_code: 1 } };
    expect(toolbox.summarize(call)).toBe("ran ls -a (exit 1)");
  });
});

describe("the plan", () => {
  verifies(
    ["S-4.3/cwd", "S-4.3/argv"],
    "argv, program, directory and environment are pinned, and nothing but them is run",
    async () => {
      const { root, plan, run, ran } = await temporaryShell();
      const planned = await plan("ls -la 'a b' | wc -l");
      const ls = await realpath("/usr/bin/ls");
      const wc = await realpath("/usr/bin/wc");
      const hashOf = async (path: string) =>
        createHash("sha256")
          .update(await readFile(path))
          .digest("hex");
      expect(planned).toMatchObject({
        ...{ risk: "read_only", idempotency: "read_only", egress: [] },
        labels: { integrity: "user", confidentiality: "private" },
        plan: {
          argv: [ls, "-la", "a b", "|", wc, "-l"],
          executable: { path: ls, hash: await hashOf(ls) },
          scriptHashes: [await hashOf(wc)],
          targets: [root, "a b"],
          cwd: { path: root },
        },
      });
      await run(planned, { timeoutMs: 5000 });
      expect(ran).toMatchObject([
        {
          stages: [
            { executable: ls, argv: ["ls", "-la", "a b"] },
            { executable: wc, argv: ["wc", "-l"] },
          ],
          workspace: { root, isWritable: false },
          cwd: planned.plan.cwd,
          pinned: [],
          timeoutMs: 5000,
        },
      ]);
      expect(ran[0]?.environment).toMatchObject({ PATH: "/usr/local/bin:/usr/bin:/bin", HOME: "/nonexistent" });
      expect(
        Object.keys(ran[0]?.environment ?? {}).filter(
          (name) => !/^(?:PATH|HOME|LANG|LC_ALL|TZ|TERM|TMPDIR|PAGER|SURETY_WORKSPACE|GIT_\w+)$/.test(name),
        ),
      ).toEqual([]);
    },
  );

  test("only what reads may run without asking, and only what asks may write", async () => {
    const { plan, run, ran } = await temporaryShell({ allow: ["ls", "rm"] });
    await run(await plan("ls"));
    await run(await plan("ls | rm a"));
    expect(ran.map(({ workspace }) => workspace.isWritable)).toEqual([false, true]);
    expect(await plan("ls | rm a")).toMatchObject({ risk: "side_effect", idempotency: "opaque" });
  });

  describe("what asks whatever the rules allow", () => {
    const PROGRAMS =
      "sh bash dash env xargs awk mawk busybox python3 python3.11 python3.7m split gawk-5.1 vim.basic perl node make ls rm mkdir del wc";

    async function shellOfLinks() {
      const shell = await temporaryShell({ hasOwnPrograms: true, allow: [...PROGRAMS.split(" "), "tar", "python"] });
      for (const name of PROGRAMS.split(" ")) await copyFile("/usr/bin/true", join(shell.bin, name));
      return shell;
    }

    verifies("S-4.3", "interpreters, wrappers, unknown commands and recursive removal, in any stage", async () => {
      const { plan } = await shellOfLinks();
      for (const cmd of [
        ...["python3 -c 'print(1)'", "python3.11 x.py", "sh -c id", "bash", "env ls", "xargs rm", "awk 1 a"],
        ...["gawk-5.1 1 a", "vim.basic a", "perl -e 1", "node a.js", "make", "busybox ls", "ls | xargs rm", "sh | wc"],
        ...["rm -rf a", "rm -r a", "rm -R a", "rm -fR a", "rm -f -r a", "rm a -vr", "rm --recursive a", "rm --rec a"],
        ...["rm a --r", "mkdir a | rm -rf b", "python3.7m a.py", "split --filter=sh a", "del a", "ls | del a"],
      ]) {
        expect(await plan(cmd), cmd).toMatchObject({ asksAlways: true, risk: "side_effect" });
      }
    });

    test("by the real program, where its name does not say it", async () => {
      const { bin, plan, verdict } = await shellOfLinks();
      await symlink("python3.11", join(bin, "python"));
      await symlink("bash", join(bin, "tar"));
      await rm(join(bin, "awk"));
      await symlink("mawk", join(bin, "awk"));
      await rm(join(bin, "del"));
      await symlink("rm", join(bin, "del"));
      for (const cmd of ["python x.py", "tar -tf a.tar", "awk 1 a", "del -r a"]) {
        expect(await plan(cmd), cmd).toMatchObject({ asksAlways: true });
      }
      await rm(join(bin, "mkdir"));
      await symlink("python3.11", join(bin, "mkdir"));
      expect(await verdict("mkdir a")).toBe("policy.denied");
    });

    test("nothing else", async () => {
      const { bin, plan } = await shellOfLinks();
      await copyFile("/usr/bin/true", join(bin, "tar"));
      for (const cmd of ["ls", "ls -R", "ls | wc", "mkdir x", "mkdir -p r", "tar -tf a.tar", "tar -xf a.tar"]) {
        expect(await plan(cmd), cmd).toMatchObject({ asksAlways: false });
      }
      for (const cmd of ["rm a", "rm -f r", "rm -- -r", "rm -f -- --recursive", "rm --verbose a", "rm -d r"]) {
        expect(await plan(cmd), cmd).toMatchObject({ asksAlways: false, risk: "side_effect" });
      }
    });
  });

  test("an approver is shown the whole command, why it asks, and the scripts it reads", async () => {
    const { root, plan } = await temporaryShell({ allow: ["sh"] });
    await writeFile(join(root, "x.sh"), "echo 1\nrm -rf .\n");
    const words = "very ".repeat(500);
    const { shown } = await plan(`sh x.sh '${words}'`);
    expect(shown).toContain(`Run: sh x.sh '${words}'\n`);
    expect(shown).toContain("because: sh starts other programs");
    expect(shown).toContain("| echo 1\n| rm -rf .\n| ");
    expect(shown).toContain("may change files");
  });

  verifies("S-4.3/sandbox", "without a sandbox nothing runs, and a denied command stays denied", async () => {
    const { verdict, tryPlan, ran } = await temporaryShell({ missing: ["bubblewrap is not installed"] });
    expect(await verdict("ls")).toBe("sandbox.required");
    expect(await tryPlan("ls")).toMatchObject({ error: { message: expect.stringContaining("bubblewrap") } });
    expect(await verdict("ls; id")).toBe("policy.denied");
    expect(ran).toEqual([]);
  });

  test("an allowed command that is not installed says so", async () => {
    const { verdict } = await temporaryShell({ allow: ["no-such-program"] });
    expect(await verdict("no-such-program")).toBe("invalid.request");
  });
});

describe("which file is executed", () => {
  test("a file of that name in the workspace is never it", async () => {
    const { root, plan } = await temporaryShell();
    await writeFile(join(root, "ls"), "#!/bin/sh\nid\n", { mode: 0o755 });
    expect((await plan("ls")).plan.executable?.path).toBe(await realpath("/usr/bin/ls"));
  });

  test("not one that lies in the workspace, by way of a link", async () => {
    const { root, bin, verdict } = await temporaryShell({ hasOwnPrograms: true });
    await copyFile("/usr/bin/true", join(root, "ls"));
    await symlink(join(root, "ls"), join(bin, "ls"));
    expect(await verdict("ls")).toBe("policy.denied");
  });

  test("not one that others may write, nor one that is another program than its name says", async () => {
    const { bin, verdict } = await temporaryShell({ hasOwnPrograms: true });
    for (const [name, mode] of Object.entries({ head: 0o775, tail: 0o757, nl: 0o755, tac: 0o644 })) {
      await copyFile("/usr/bin/true", join(bin, name));
      await chmod(join(bin, name), mode);
    }
    for (const target of ["busybox", "bash", "env", "other"]) await copyFile("/usr/bin/true", join(bin, target));
    for (const [name, target] of Object.entries({
      ls: "busybox",
      cat: "bash",
      wc: "env",
      sort: "other",
      cut: "missing",
    })) {
      await symlink(target, join(bin, name));
    }
    const expected = {
      ...{ "head a": "policy.denied", "tail a": "policy.denied", "nl a": "read_only", "tac a": "invalid.request" },
      ...{ ls: "policy.denied", "cat a": "policy.denied", "wc a": "policy.denied", "sort a": "side_effect" },
      "cut -f1 a": "invalid.request",
    };
    for (const [cmd, outcome] of Object.entries(expected)) expect(await verdict(cmd), cmd).toBe(outcome);
  });

  test("another content is another hash", async () => {
    const { bin, plan } = await temporaryShell({ hasOwnPrograms: true });
    await copyFile("/usr/bin/true", join(bin, "ls"));
    const before = (await plan("ls")).plan.executable?.hash;
    expect((await plan("ls")).plan.executable?.hash).toBe(before);
    await copyFile("/usr/bin/false", join(bin, "new"));
    await rename(join(bin, "new"), join(bin, "ls"));
    expect((await plan("ls")).plan.executable?.hash).not.toBe(before);
  });
});

describe("what was approved is what runs", () => {
  test("a changed script, directory or environment is another plan, and a changed script is not run", async () => {
    const { base, root, plan, run, ran } = await temporaryShell({ allow: ["sh"] });
    await writeFile(join(root, "x.sh"), "echo approved\n");
    const planned = await plan("sh x.sh");
    expect((await plan("sh x.sh")).plan).toEqual(planned.plan);
    expect((await plan("sh x.sh -x")).plan).not.toEqual(planned.plan);
    await run(planned);
    expect(ran[0]?.pinned).toEqual([{ path: join(root, "x.sh"), bytes: Buffer.from("echo approved\n") }]);
    await writeFile(join(root, "x.sh"), "echo evil\n");
    expect((await plan("sh x.sh")).plan.scriptHashes).not.toEqual(planned.plan.scriptHashes);
    expect(await run(planned)).toMatchObject({ ok: false, error: { code: "policy.denied" } });
    await rm(join(root, "x.sh"));
    expect(await run(planned)).toMatchObject({ ok: false, error: { code: "policy.denied" } });
    expect(ran).toHaveLength(1);
    await rename(root, join(base, "moved"));
    await mkdir(root);
    await writeFile(join(root, "x.sh"), "echo approved\n");
    expect((await plan("sh x.sh")).plan.cwd).not.toEqual(planned.plan.cwd);
    const elsewhere = await temporaryShell({ allow: ["sh"] });
    await writeFile(join(elsewhere.root, "x.sh"), "echo approved\n");
    expect((await elsewhere.plan("sh x.sh")).plan.environmentHash).not.toBe(planned.plan.environmentHash);
  });

  test("after the world changed nothing is run", async () => {
    const { plan, run, ran } = await temporaryShell();
    expect(await run(await plan("ls"), { mayAct: false })).toMatchObject({ error: { code: "policy.denied" } });
    expect(ran).toEqual([]);
  });

  test.each([
    ["make -fb.mk", "b.mk"],
    ["make -C sub", "sub/Makefile"],
    ["make -C sub", "sub/included.mk"],
    ["sh -c 'exec sh ./lib.sh'", "lib.sh"],
    ["sh x.sh", "lib.sh"],
    ["awk -fp.awk", "p.awk"],
    ["python3 -m pkg", "pkg/__main__.py"],
    ["node .", "index.js"],
    ["npm run x", "lib.sh"],
    ["unheard-of", "unheard-of.config"],
    ["env sh x.sh", "node_modules/a/index.js"],
    ["git -C sub status", "sub/.git/config"],
    ["git commit -m x", "sub/.git/config"],
    ["ls | sh x.sh", "lib.sh"],
  ])("%s is bound to %s too", async (cmd, file) => {
    const allow = ["make", "sh", "awk", "python3", "node", "npm", "unheard-of", "env", "git", "ls"];
    const { root, bin, plan, run, ran } = await temporaryShell({ allow, hasOwnPrograms: true });
    for (const name of allow) await writeFile(join(bin, name), "", { mode: 0o755 });
    await mkdir(join(root, dirname(file)), { recursive: true });
    await writeFile(join(root, "x.sh"), ". ./lib.sh\n");
    await writeFile(join(root, file), "good");
    const planned = await plan(cmd);
    expect(planned.shown).toContain("The approval lapses if any workspace file changes first");
    expect((await plan(cmd)).plan).toEqual(planned.plan);
    expect(await run(planned)).toMatchObject({ ok: true });
    await writeFile(join(root, file), "evil");
    expect((await plan(cmd)).plan.scriptHashes).not.toEqual(planned.plan.scriptHashes);
    expect(await run(planned)).toMatchObject({ ok: false, error: { code: "policy.denied" } });
    expect(ran).toHaveLength(1);
  });

  test("what does as its words say is not bound to other files", async () => {
    const { root, plan, run } = await temporaryShell({ allow: ["cp", "ls", "rm"] });
    for (const cmd of ["cp a b", "ls", "ls | rm a"]) {
      const planned = await plan(cmd);
      await writeFile(join(root, "other"), cmd);
      expect((await plan(cmd)).plan, cmd).toEqual(planned.plan);
      expect(planned.shown).not.toContain("lapses");
      expect(await run(planned), cmd).toMatchObject({ ok: true });
    }
  });

  test.each(["one", "two | one", "one | two"])("in %s a program that is another one by now is not run", async (cmd) => {
    const { bin, plan, run, ran } = await temporaryShell({ allow: ["one", "two"], hasOwnPrograms: true });
    await writeFile(join(bin, "one"), "good", { mode: 0o755 });
    await writeFile(join(bin, "two"), "good", { mode: 0o755 });
    const planned = await plan(cmd);
    expect(await run(planned)).toMatchObject({ ok: true });
    await writeFile(join(bin, "one"), "evil");
    expect(await run(planned)).toMatchObject({ ok: false, error: { code: "policy.denied" } });
    await rename(join(bin, "one"), join(bin, "moved"));
    await symlink("moved", join(bin, "one"));
    await writeFile(join(bin, "moved"), "good");
    expect(await run(planned)).toMatchObject({ ok: false, error: { code: "policy.denied" } });
    expect(ran).toHaveLength(1);
  });

  test("scripts are found by how they are named, data is left alone, and links to them are refused", async () => {
    const { root, base, bin, plan, verdict } = await temporaryShell({
      allow: ["make", "env", "timeout", "sh", "cp"],
      hasOwnPrograms: true,
    });
    await mkdir(join(root, "sub"));
    for (const name of ["a.py", "b.py", "data.json", "Makefile", "run", "sub/c.sh"])
      await writeFile(join(root, name), name);
    await writeFile(join(root, "tool"), "#!/bin/sh\n");
    await writeFile(join(base, "outside/evil.sh"), "id");
    await symlink(join(base, "outside/evil.sh"), join(root, "link.sh"));
    for (const name of ["make", "env", "timeout", "sh", "cp"]) await writeFile(join(bin, name), "", { mode: 0o755 });
    const count = async (cmd: string) => (await plan(cmd)).shown.match(/^ {2}reads:/gm)?.length ?? 0;
    expect(await count("sh run data.json")).toBe(1);
    expect(await count("sh ./sub/../sub/c.sh tool")).toBe(2);
    expect(await count("env X=1 sh sub/c.sh a.py b.py data.json")).toBe(3);
    expect(await count(`timeout 5 sh ${root}/sub/c.sh`)).toBe(1);
    expect(await count("sh -c 'echo hi'")).toBe(0);
    expect(await count("cp a.py b.py")).toBe(0);
    expect(await count("make all")).toBe(1);
    await writeFile(join(root, "sub/makefile"), "");
    await writeFile(join(root, "sub/b"), "");
    expect(await count("make -fsub/b")).toBe(2);
    for (const cmd of ["make -C sub", "make -Csub", "make --directory=sub", "make --directory sub", "make -C. -C sub"])
      expect((await plan(cmd)).shown, cmd).toContain(join(root, "sub/makefile"));
    expect((await plan(`make -C ${root}/sub -f b`)).shown).toContain(join(root, "sub/b"));
    expect(await verdict("sh link.sh")).toBe("policy.denied");
    await writeFile(join(root, "big.sh"), Buffer.alloc(300_000, "#"));
    expect(await verdict("sh big.sh")).toBe("invalid.request");
  });
});

describe("git", () => {
  test("reads a plain repository by the configuration that was looked at", async () => {
    const { root, plan, run, ran } = await temporaryShell();
    expect(await plan("git status")).toMatchObject({ risk: "read_only" });
    await gitInit(root);
    const planned = await plan("git status");
    expect(planned).toMatchObject({ risk: "read_only" });
    expect(planned.plan.scriptHashes).toHaveLength(1);
    await run(planned);
    expect(ran[0]?.pinned.map(({ path }) => path)).toEqual([join(root, ".git/config")]);
    await writeFile(join(root, ".git/commondir"), "../other");
    expect(await run(planned)).toMatchObject({ ok: false, error: { code: "policy.denied" } });
    await rm(join(root, ".git/commondir"));
    expect(await run(planned)).toMatchObject({ ok: true });
    await writeFile(join(root, ".git/config"), "[core]\n\tfsmonitor = ./x\n");
    expect(await run(planned)).toMatchObject({ ok: false, error: { code: "policy.denied" } });
  });

  test("a repository that could start programs asks", async () => {
    const { root, verdict, plan, run, ran } = await temporaryShell();
    await gitInit(root, '[filter "x"]\n\tclean = ./x\n');
    expect(await verdict("git status")).toBe("side_effect");
    expect(await verdict("ls | git diff")).toBe("side_effect");
    expect(await verdict("git -c a=b status")).toBe("policy.denied");
    const planned = await plan("git config user.name x");
    expect(planned.shown).toContain("| \tclean = ./x");
    await run(planned);
    expect(ran[0]).toMatchObject({ pinned: [], workspace: { isWritable: true } });
  });

  test.each([
    ["a work tree of another", async (root: string) => await writeFile(join(root, ".git"), "gitdir: /elsewhere")],
    [
      "a bare repository lying around",
      async (root: string) => await writeFile(join(root, "HEAD"), "ref: refs/heads/x"),
    ],
    [
      "a configuration elsewhere",
      async (root: string) => {
        await gitInit(root);
        await writeFile(join(root, ".git/commondir"), "../other");
      },
    ],
  ])("%s asks", async (_, make) => {
    const { root, verdict } = await temporaryShell();
    await make(root);
    expect(await verdict("git status")).toBe("side_effect");
  });
});

describe("the tripwire", () => {
  test.each([
    "rm -rf /",
    "rm -fr -v '/'",
    "rm -rf --no-preserve-root x",
    "rm -rf '~'",
    "sh -c ':(){ :|:& };:'",
    "dd of=/dev/sda",
    "echo x | cp - /etc/shadow",
    "echo '.ssh/id_rsa'",
  ])(citedTitle("S-4.3/tripwire", "denies %s though every program is allowlisted"), async (cmd) => {
    const { verdict } = await temporaryShell({ allow: ["rm", "sh", "dd", "cp", "echo"] });
    expect(await verdict(cmd)).toBe("policy.denied");
  });

  test.each(["ls rm-notes.txt", "grep -rn 'rm -rf' docs", "ls confirm"])("%s is not meant", async (cmd) => {
    const { verdict } = await temporaryShell();
    expect(await verdict(cmd)).toBe("read_only");
  });

  test("rm -rf of something in the workspace asks when it is allowlisted", async () => {
    expect(await (await temporaryShell({ allow: ["rm"] })).verdict("rm -rf node_modules")).toBe("side_effect");
    expect(await (await temporaryShell()).verdict("rm -rf node_modules")).toBe("policy.denied");
  });
});

describe("what a command prints", () => {
  test("streams whole characters, each stream on its own", async () => {
    const smile = Buffer.from("a🙂");
    const sandbox: Sandbox = {
      check: async () => [],
      run(_command, { onOutput }) {
        onOutput?.("stdout", smile.subarray(0, 3));
        onOutput?.("stderr", Buffer.from("oh"));
        onOutput?.("stdout", smile.subarray(3));
        return Promise.resolve({ ...QUIET, stdout: smile });
      },
    };
    const { plan, run } = await temporaryShell({ sandbox });
    const told = { stdout: "", stderr: "" };
    const onOutput: CallContext["onOutput"] = (text, stream) => {
      told[stream] += text;
    };
    expect(await run(await plan("ls"), { onOutput })).toMatchObject({ ok: true, output: { stdout: "a🙂" } });
    expect(told).toEqual({ stdout: "a🙂", stderr: "oh" });
    expect(await run(await plan("ls"))).toMatchObject({ ok: true });
  });
});
