/** What the shadow loop watches: real files and links, a real git repository, a real shell with the hook. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, link, mkdir, realpath, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, vi } from "vitest";
import { readGuarded, readGuardedText } from "../../src/adapters/shadow/guarded-read.ts";
import { ShadowWatcher } from "../../src/adapters/shadow/shadow-watcher.ts";
import { shellHook } from "../../src/boot/shell-hooks.ts";
import { ManualClock } from "../adapters/gateway/manual-clock.ts";
import { verifies } from "../requirements.ts";
import { openShadowHome, WAIT } from "./shadow-home.ts";
import { temporaryDirectory } from "./temporary-home.ts";

const BROKEN = '{"a": [1, }';
const SECRET = `${"ghp_"}0123456789abcdefghij0123456789abcdef`;
const MANY = { maxGhostsPerHour: 1000 };

function gitIn(directory: string): (...args: string[]) => string {
  const identity = {
    GIT_AUTHOR_NAME: "a",
    GIT_AUTHOR_EMAIL: "a@b",
    GIT_COMMITTER_NAME: "a",
    GIT_COMMITTER_EMAIL: "a@b",
  };
  const env = { PATH: process.env["PATH"], HOME: directory, GIT_CONFIG_NOSYSTEM: "1", ...identity };
  return (...args) => execFileSync("git", args, { cwd: directory, env, encoding: "utf8", stdio: "pipe" });
}

verifies(
  ["T-5.1/filesystem", "T-5.1/detectors", "T-5.2/states"],
  "files that are added, changed and removed are noticed, in every language; what is whole again settles",
  async () => {
    // Of what was there before, what was written just now is noticed, too.
    const shadow = await openShadowHome({
      shadow: MANY,
      prepare: async (workspace) => {
        await writeFile(join(workspace, "before.json"), BROKEN);
        await writeFile(join(workspace, "long-before.json"), BROKEN);
        await utimes(join(workspace, "long-before.json"), 1, 1);
      },
    });
    const texts: Readonly<Record<string, string>> = {
      "a.json": BROKEN,
      "deep/er/b.yaml": "a: [1\nb: 2\n",
      "App.tsx": "export const App = () => <b>;\n",
      "tool.py": "def f(:\n    pass\n",
      "lonely.test.ts": "export {};\n",
      "node_modules/x/c.json": BROKEN,
    };
    for (const [name, text] of Object.entries(texts)) await shadow.write(name, text);
    const wanted = ["before.json", "a.json", "deep/er/b.yaml", "App.tsx", "tool.py", "lonely.test.ts"];
    for (const name of wanted) await shadow.ghost(({ trigger }) => trigger === `file added: ${name}`);
    await shadow.write("a.json", "{}");
    await shadow.ghost(({ trigger, state }) => trigger.endsWith("a.json") && state === "settled");
    await rm(join(shadow.workspace, "tool.py"));
    await shadow.ghost(({ trigger, state }) => trigger.endsWith("tool.py") && state === "settled");
    await shadow.write("lonely.ts", "export {};\n");
    await shadow.ghost(({ trigger, state }) => trigger.endsWith("lonely.test.ts") && state === "settled");
    await shadow.write("a.json", BROKEN);
    await shadow.ghost(({ trigger }) => trigger === "file changed: a.json");
    // While nothing watches it is repaired: that is seen at the next start.
    await shadow.restart();
    expect((await shadow.ghosts()).map(({ trigger }) => trigger)).not.toContain("file added: node_modules/x/c.json");
    expect((await shadow.ghosts()).map(({ trigger }) => trigger)).not.toContain("file added: long-before.json");
    await shadow.write("a.json", "[]");
    await shadow.ghost(({ trigger, state }) => trigger === "file changed: a.json" && state === "settled");
    expect(shadow.defects).toEqual([]);
  },
);

verifies(
  "T-5.1/paths",
  "nothing outside the paths is read: links, links of directories, second names, the home",
  async () => {
    const outside = await temporaryDirectory();
    const shadow = await openShadowHome({
      shadow: MANY,
      watchers: { filesystem: { paths: ["workspace", "..", ".", "keys", "missing"] } },
      prepare: async (workspace) => {
        await mkdir(join(outside, "secret"));
        await writeFile(join(outside, "secret", "a.json"), BROKEN);
        await symlink(join(outside, "secret"), join(workspace, "linked"));
        await symlink(join(outside, "secret", "a.json"), join(workspace, "link.json"));
      },
    });
    const subjects: string[] = [];
    shadow.surety.events.on("shadow.event", ({ subject }) => subjects.push(subject));
    const { workspace, home } = shadow;
    await link(join(outside, "secret", "a.json"), join(workspace, "second-name.json"));
    await symlink(join(outside, "secret", "a.json"), join(workspace, "later.json"));
    await mkdir(join(workspace, "swapped"));
    await writeFile(join(workspace, "swapped", "b.json"), "{}");
    await rename(join(workspace, "swapped"), join(workspace, "moved"));
    await symlink(join(outside, "secret"), join(workspace, "swapped"));
    await writeFile(join(outside, "secret", "a.json"), `${BROKEN} `);
    await writeFile(join(outside, "secret", "b.json"), BROKEN);
    await writeFile(join(home.directory, "own.json"), BROKEN);
    await writeFile(join(home.keysDirectory, "own.json"), BROKEN);
    const own = await shadow.write("own.json", BROKEN);
    await shadow.ghost(({ trigger }) => trigger === "file added: own.json");
    expect(subjects).toEqual([`syntax ${own}`]);
    expect(shadow.remarks.join("\n")).toMatch(/missing does not exist.*keys lies in the home/s);
    // The directory above the home, the home for the sake of its workspace, and that: no link in it.
    expect(shadow.remarks.at(-1)).toContain("(3 files and directories)");
    for (const name of ["link.json", "later.json", "second-name.json", "linked/a.json", "swapped/a.json"]) {
      expect(readGuarded(join(workspace, name), 100), name).toBeNull();
    }
    expect(readGuardedText(own, 100)).toBe(BROKEN);
    expect(readGuardedText(own, 3)).toBeNull();
    execFileSync("mkfifo", [join(workspace, "pipe.json")]);
    expect(readGuarded(join(workspace, "pipe.json"), 100)).toBeNull();
  },
);

verifies(
  "T-5.1/git",
  "a secret in a commit and in a push, a large binary staged and a conflict are noticed",
  async () => {
    const remote = await temporaryDirectory();
    gitIn(remote)("init", "-q", "--bare", "-b", "main");
    const shadow = await openShadowHome({
      shadow: MANY,
      prepare: (workspace) => {
        const git = gitIn(workspace);
        git("init", "-q", "-b", "main");
        git("commit", "-q", "--allow-empty", "-m", "first");
        git("remote", "add", "origin", remote);
        git("push", "-q", "origin", "main");
      },
    });
    const git = gitIn(shadow.workspace);
    await shadow.write("src/settings.txt", `# settings\ntoken ${SECRET}\n`);
    git("add", ".");
    git("commit", "-q", "-m", "settings");
    const committed = await shadow.ghost(({ detector }) => detector === "secret-in-commit");
    expect(committed.observation).toBe("src/settings.txt, line 2, looks like a secret (github).");
    expect(committed.trigger).toMatch(/^git commit: [0-9a-f]{8} in the workspace$/);
    git("push", "-q", "origin", "main");
    await shadow.ghost(({ trigger }) => trigger.startsWith("git push: "));

    await shadow.write("photo.raw", Buffer.alloc(3 * 1_048_576));
    git("add", "photo.raw");
    const binary = await shadow.ghost(({ detector }) => detector === "large-binary");
    expect(binary.observation).toContain("photo.raw is a binary file of 3.0 MiB");
    git("rm", "-q", "--cached", "photo.raw");
    await shadow.ghost(({ detector, state }) => detector === "large-binary" && state === "settled");

    git("checkout", "-q", "-b", "other");
    await shadow.write("src/settings.txt", "one\n");
    git("commit", "-q", "-am", "one");
    git("checkout", "-q", "main");
    await shadow.write("src/settings.txt", "two\n");
    git("commit", "-q", "-am", "two");
    expect(() => git("merge", "-q", "other")).toThrow();
    const conflict = await shadow.ghost(({ detector }) => detector === "merge-conflict");
    expect(conflict.observation).toBe("1 file has conflicts: src/settings.txt.");
    git("merge", "--abort");
    await shadow.ghost(({ detector, state }) => detector === "merge-conflict" && state === "settled");
    expect(JSON.stringify(await shadow.ghosts())).not.toContain(SECRET);
    expect(shadow.defects).toEqual([]);
  },
);

verifies("T-5.1/config", "off, and switched off in part, it watches nothing of that", async () => {
  const shadow = await openShadowHome({
    shadow: MANY,
    watchers: {
      filesystem: { events: ["change"], ignore: ["*.yaml"] },
      git: { enabled: false },
      shell: { watchErrors: false },
    },
  });
  const git = gitIn(shadow.workspace);
  git("init", "-q", "-b", "main");
  const subjects: string[] = [];
  shadow.surety.events.on("shadow.event", ({ subject }) => subjects.push(subject));
  await shadow.write("added.json", BROKEN);
  await shadow.write("ignored.yaml", "a: [1\nb: 2\n");
  await shadow.write("settings.txt", SECRET);
  git("add", ".");
  git("commit", "-q", "-m", "x");
  const changed = await shadow.write("changed.json", "{}");
  // Once it is known, it can change.
  await vi.waitFor(
    async () => {
      await writeFile(changed, `${BROKEN}${" ".repeat(Math.ceil(Math.random() * 100))}`);
      expect(subjects).not.toEqual([]);
    },
    { timeout: 20_000, interval: 600 },
  );
  expect(new Set(subjects)).toEqual(new Set([`syntax ${changed}`]));
  await expect(appendFile(shadow.home.shellReports, "x", { flag: "r+" })).rejects.toThrow("ENOENT");

  const { config } = shadow;
  const off = { ...config, shadow: { ...config.shadow, enabled: false } };
  await shadow.surety.reconfigure({ config: off, readVariable: () => undefined });
  subjects.length = 0;
  await shadow.surety.reconfigure({ config, readVariable: () => undefined });
  await vi.waitFor(() => expect(shadow.remarks.filter((line) => line.includes("watching"))).toHaveLength(2), WAIT);
  expect(subjects).toEqual([]);
});

verifies(
  "T-5.1/shell",
  "a real shell with the hook reports what fails again and again; history alone what is repeated",
  async () => {
    const history = join(await temporaryDirectory(), "history");
    await writeFile(history, "earlier\n");
    const shadow = await openShadowHome({ shadow: MANY, watchers: { shell: { historyFile: history } } });
    await appendFile(history, ": 1763590000:0;make\nmake\n- cmd: make\nmake\n");
    const repeated = await shadow.ghost(({ detector }) => detector === "repeated-command");
    expect(repeated).toMatchObject({ trigger: "command repeated: make", confidence: "low" });

    const shell = spawn("bash", ["--norc", "--noprofile", "-i"], {
      ...{ cwd: shadow.workspace, stdio: ["pipe", "ignore", "ignore"] as const, detached: true },
      env: {
        PATH: process.env["PATH"],
        HOME: shadow.workspace,
        TERM: "dumb",
        HISTFILE: "/dev/null",
        HISTCONTROL: "ignoreboth",
      },
    });
    const type = (line: string) => shell.stdin.write(`${line}\n`);
    type(shellHook("bash", shadow.home.shellReports));
    type("true");
    for (let count = 0; count < 3; count += 1) {
      type("ls ./no-such-file");
      type("");
    }
    const failing = await shadow.ghost(({ detector }) => detector === "failing-command");
    expect(failing).toMatchObject({
      trigger: "command failed: ls ./no-such-file",
      observation: "It failed 3 times in a row, the last time with exit code 2.",
    });
    type("touch no-such-file");
    type("ls ./no-such-file");
    await shadow.ghost(({ detector, state }) => detector === "failing-command" && state === "settled");
    shell.stdin.end("exit\n");
    await once(shell, "exit");
  },
);

verifies(
  "T-5.1/bounded",
  "a flood of changes leaves the backlog bounded, and what comes after is noticed",
  async () => {
    const shadow = await openShadowHome({ shadow: MANY });
    const listed: Promise<unknown>[] = [];
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(
        Array.from({ length: 200 }, (_, index) => writeFile(join(shadow.workspace, `${round}-${index}.json`), "{}")),
      );
      listed.push(shadow.ghosts());
    }
    await Promise.all(listed);
    const ghosts = async () => (await shadow.ghosts()).length;
    expect(await ghosts()).toBe(0);
    await vi.waitFor(
      async () => {
        await shadow.write("after.json", `${BROKEN}${" ".repeat(Math.ceil(Math.random() * 100))}`);
        expect(await ghosts()).toBe(1);
      },
      { timeout: 20_000, interval: 500 },
    );
    expect(shadow.defects).toEqual([]);
  },
);

verifies("T-5.1/bounded", "of what changes while nothing is looked at, at most 2,000 paths wait", async () => {
  const root = await realpath(await temporaryDirectory());
  const problems: string[] = [];
  const orders = {
    ...{ roots: [root], excluded: [], ignore: [], git: [], lookAgain: [], historyFile: null, hookFile: null },
    events: ["add", "change", "unlink"] as const,
  };
  const watcher = new ShadowWatcher({
    ...{ orders, clock: new ManualClock(), onFinding: () => {}, onProblem: (problem) => problems.push(problem) },
    redactor: { redactText: (text) => ({ text, found: [] }) },
  });
  onTestFinished(() => watcher.stop());
  await watcher.start();
  for (let at = 0; at < 2_200; at += 200) {
    await Promise.all(Array.from({ length: 200 }, (_, index) => writeFile(join(root, `${at + index}.json`), BROKEN)));
  }
  await vi.waitFor(() => expect(watcher.status.dropped).toBeGreaterThan(0), WAIT);
  expect(watcher.status.pending).toBe(2_000);
  expect(problems).toEqual(["changes come faster than they can be looked at; some are passed over"]);
});

verifies("T-5.1/idle", "what is noticed calls no model: no run, no request, nothing spent", async () => {
  const shadow = await openShadowHome({ shadow: MANY });
  await shadow.write("a.json", BROKEN);
  await shadow.ghost(({ state }) => state === "open");
  const runs = await shadow.surety.operations.call("runs.list", {});
  expect(runs.ok && runs.value.total).toBe(0);
  const day = new Date().toISOString().slice(0, 10);
  expect(await shadow.surety.store.spendTotals(day)).toEqual([]);
});
