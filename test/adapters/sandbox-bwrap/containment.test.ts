/** What a command can reach from within, tried by commands. As root the sandbox runs as somebody else; both must hold. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startFailure } from "../../../src/adapters/sandbox-bwrap/sandbox-failure.ts";
import { DEFAULT_LIMITS } from "../../../src/adapters/sandbox-bwrap/sandbox-limits.ts";
import { FALLBACK_USER } from "../../../src/adapters/sandbox-bwrap/workspace-user.ts";
import { SandboxError } from "../../../src/runtime/ports/sandbox.ts";
import {
  type Boxed,
  boxed,
  distinctNap,
  identified,
  openSandbox,
  processesWith,
  shellStage,
  sleepers,
  textOf,
} from "./boxed.ts";

let box: Boxed;
beforeEach(() => {
  box = boxed();
});
afterEach(() => box.dispose());

describe("what is there", () => {
  test("every promised property holds on this machine", async () => {
    expect(await box.sandbox.check()).toEqual([]);
  });

  test("no home and no file of the host, but its programs", async () => {
    const inside = await box.shell("echo /*; cat /etc/passwd; ls -A /etc; ls -A /tmp");
    for (const name of ["home", "root", "var", "opt", "srv", "run", "mnt", "sys"]) {
      expect(inside.split("\n")[0]?.split(" ")).not.toContain(`/${name}`);
    }
    expect(inside).toContain("agent:x:1000:1000");
    expect(inside).not.toContain("root:");
    expect(await box.shell(`ls -A ${homedir()}`)).toMatch(/No such file|cannot access/);
  });

  test("the workspace is at its own path, and alone there", async () => {
    writeFileSync(join(box.root, "mine.txt"), "mine");
    expect(await box.shell(`pwd; ls; ls ${dirname(box.root)}`)).toBe(
      `${box.root}\nmine.txt\n${box.root.slice(dirname(box.root).length + 1)}\n`,
    );
  });

  test("nothing of the gateway's environment, and nothing but what was given", async () => {
    const inside = await box.shell("env", { environment: { PATH: "/usr/bin:/bin", GIVEN: "a b\n$(id)" } });
    expect(inside.split("\n").toSorted()).toEqual(["", "$(id)", "GIVEN=a b", "PATH=/usr/bin:/bin", `PWD=${box.root}`]);
  });

  test("no descriptor leads out", async () => {
    const inside = await box.shell(
      'for fd in /proc/$$/fd/*; do [ -e "$fd" ] && readlink "$fd"; done; readlink /proc/1/fd/*',
    );
    for (const target of inside.trim().split("\n"))
      expect(target).toMatch(/^(?:\/dev\/null|(?:socket|pipe|anon_inode):.*)$/);
  });

  test("no descriptor but input, output and errors, in any stage: neither the mark's nor the planned directory's", async () => {
    const look = shellStage("for fd in /proc/$$/fd/*; do [ -e $fd ] && basename $fd; done");
    for (const stages of [[look], [look, shellStage("cat")], [shellStage("true"), look]]) {
      const seen = textOf((await box.run({ stages })).stdout)
        .trim()
        .split("\n")
        .map(Number);
      expect(seen).toEqual([0, 1, 2]);
    }
  });

  test("nothing of the first process, whose memory would be the command's to write", async () => {
    expect(
      await box.shell("ls -A /proc/1; ls -A /proc/self/root/proc/1; (: > /proc/1/mem) 2>&1 || echo closed"),
    ).toMatch(/^[^\n]*\bmem\b[^\n]*\nclosed\n$/);
  });

  test("no other process", async () => {
    expect(await box.shell('echo /proc/[0-9]*; echo "/proc/1 /proc/$$"')).toMatch(/^(.*)\n\1\n$/);
  });

  test("one user, not root on either side, without a capability", async () => {
    const zero = "0000000000000000";
    const fields = "^(Cap(Eff|Prm|Bnd|Amb)|NoNewPrivs|Seccomp):";
    expect(await box.shell(`id -u; grep -E '${fields}' /proc/self/status`)).toBe(
      `1000\nCapPrm:\t${zero}\nCapEff:\t${zero}\nCapBnd:\t${zero}\nCapAmb:\t${zero}\nNoNewPrivs:\t1\nSeccomp:\t2\n`,
    );
    const nap = distinctNap();
    const stop = new AbortController();
    const napping = box.run({ stages: [shellStage(`sleep ${nap}`)] }, { signal: stop.signal });
    await expect.poll(() => sleepers(nap)).toHaveLength(1);
    const { uid, gid } = statSync(`/proc/${sleepers(nap)[0]}`);
    stop.abort();
    await napping;
    expect([uid, gid]).not.toContain(0);
  });
});

describe("what cannot be done", () => {
  test("reach a server on the host, or open a socket at all", async () => {
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    let connections = 0;
    server.on("connection", () => connections++);
    const { port } = server.address() as { port: number };
    const script = `const net = require("node:net");
      net.connect(${port}, "127.0.0.1").on("error", (e) => console.log(e.code));
      net.createServer().on("error", (e) => console.log(e.code)).listen("/tmp/here");`;
    const result = await box.run({
      stages: [{ executable: process.execPath, argv: ["node", "-e", script] }],
      workspace: { root: dirname(process.execPath), isWritable: false },
      cwd: identified(dirname(process.execPath)),
    });
    server.close();
    expect(textOf(result.stdout) + textOf(result.stderr)).toBe("EAFNOSUPPORT\nEAFNOSUPPORT\n");
    expect(connections).toBe(0);
  });

  test("write to the system, or to memory that nobody counts", async () => {
    const places = ["/new", "/usr/new", "/etc/new", "/dev/new", "/dev/shm/new", "/proc/sys/kernel/hostname"];
    const attempts = places.map((path) => `(echo x > ${path}) 2>/dev/null && echo wrote ${path}`);
    expect(await box.shell(`${attempts.join("\n")}\necho tried`)).toBe("tried\n");
  });

  test("what the filter of system calls refuses: shared memory, privileged files, user namespaces", async () => {
    const inside = await box.shell(
      "ipcmk -M 4096; touch f; chmod 4755 f; chmod 2755 f; chmod 755 f && echo plain; unshare -U true",
    );
    expect(inside.match(/Operation not permitted/g)).toHaveLength(4);
    expect(inside).toContain("plain");
    expect(statSync(join(box.root, "f")).mode & 0o7777).toBe(0o755);
  });

  test("change a workspace that is only to be read", async () => {
    chmodSync(box.root, 0o755);
    writeFileSync(join(box.root, "mine.txt"), "mine");
    const inside = await box.shell("echo x > mine.txt; echo y > new; rm mine.txt; cat mine.txt", {
      workspace: { root: box.root, isWritable: false },
    });
    expect(inside).toMatch(/^mine/);
    expect(inside.match(/Read-only file system/g)).toHaveLength(3);
  });

  test("follow a link of the workspace out of it", async () => {
    const other = boxed();
    writeFileSync(join(other.root, "secret"), "secret");
    symlinkSync(join(other.root, "secret"), join(box.root, "link"));
    expect(await box.shell("cat link")).toMatch(/No such file/);
    other.dispose();
  });
});

describe("limits", () => {
  test("processes: as many as allowed, and then no more", async () => {
    const { processes } = DEFAULT_LIMITS;
    // The shell gives up at the first refusal; what it has started by then ends with it.
    const inside = await box.shell(`i=0; while [ $i -lt ${processes + 5} ]; do sleep 60 & i=$((i+1)); echo $i; done`);
    expect(inside).toMatch(/fork/);
    const started = inside.split("\n").filter((line) => /^\d+$/.test(line)).length;
    // One is bubblewrap's own, one the shell.
    expect(started).toBe(processes - 2);
  });

  test("memory, files and what lies in /tmp", async () => {
    const inside = await box.shell(`
      dd if=/dev/zero of=/dev/null bs=512M count=1 2>/dev/null && echo half a gigabyte
      dd if=/dev/zero of=/dev/null bs=1100M count=1 2>/dev/null || echo no more memory
      head -c 70000000 /dev/zero > /tmp/large 2>/dev/null || echo no more in tmp
      ulimit -f; ulimit -n; ulimit -c; ulimit -t
      ulimit -n 100000 2>/dev/null || echo for good`);
    expect(inside).toBe("half a gigabyte\nno more memory\nno more in tmp\n524288\n1024\n0\n600\nfor good\n");
  });

  test("a file beyond its limit ends the command that writes it", async () => {
    const { exitCode } = await box.run({
      stages: [
        { executable: "/usr/bin/truncate", argv: ["truncate", "-s", `${DEFAULT_LIMITS.fileBytes + 1}`, "large"] },
      ],
    });
    expect(exitCode).not.toBe(0);
    expect(statSync(join(box.root, "large")).size).toBe(0);
  });
});

describe("the workspace's files", () => {
  test("what a command makes can be used by the gateway, and what the gateway's owner shares by the command", async () => {
    expect(await box.shell("mkdir d && echo made > d/new && stat -c %u:%g d/new")).toBe("1000:1000\n");
    expect(readFileSync(join(box.root, "d/new"), "utf8")).toBe("made\n");
    writeFileSync(join(box.root, "shared.txt"), "shared\n", { mode: 0o644 });
    expect(await box.shell("cat shared.txt; mv shared.txt d/")).toBe("shared\n");
    expect(statSync(join(box.root, "d/new")).uid).toBe(statSync(box.root).uid);
  });

  test("a pinned file has the pinned bytes, whatever lies there by now", async () => {
    const path = join(box.root, "script.sh");
    writeFileSync(path, "echo swapped");
    const pinned = [{ path, bytes: Buffer.from("echo approved; echo more >> script.sh") }];
    expect(await box.shell("sh script.sh", { pinned })).toMatch(/^approved\n.*(?:Read-only|Permission denied)/);
    expect(readFileSync(path, "utf8")).toBe("echo swapped");
  });

  test.each([
    ["a file beside it", "other.sh", "script.sh"],
    ["where the sandbox is being made", "/newroot/etc/ld.so.preload", "script.sh"],
    ["the host", "/oldroot/tmp/made-by-a-mount", "script.sh"],
    ["a directory", "/newroot/etc", "linked/ld.so.preload"],
    ["nothing", "missing", "script.sh"],
  ])("a link to %s in a pinned file's place: nothing runs", async (_, target, pinnedAt) => {
    writeFileSync(join(box.root, "other.sh"), "echo other");
    symlinkSync(target, join(box.root, pinnedAt.split("/")[0] ?? ""));
    const pinned = [{ path: join(box.root, pinnedAt), bytes: Buffer.from("echo approved") }];
    const stages = [shellStage("touch ran")];
    await expect(box.run({ stages, pinned })).rejects.toMatchObject({ code: "sandbox.moved" });
    expect(existsSync(join(box.root, "ran"))).toBe(false);
  });

  test("large pinned files arrive whole", async () => {
    const path = join(box.root, "data");
    writeFileSync(path, "");
    expect(await box.shell("wc -c < data", { pinned: [{ path, bytes: new Uint8Array(3_000_000) }] })).toBe("3000000\n");
  });

  test("a command does not start in a directory that took the planned one's place", async () => {
    mkdirSync(join(box.root, "planned"));
    mkdirSync(join(box.root, "other"));
    const cwd = identified(join(box.root, "planned"));
    const replaced = { ...cwd, path: join(box.root, "other") };
    symlinkSync("planned", join(box.root, "link"));
    const through = { ...cwd, path: join(box.root, "link") };
    for (const moved of [replaced, through, { ...cwd, path: join(box.root, "missing") }]) {
      const failure = await box
        .run({ cwd: moved, stages: [shellStage("touch ../ran")] })
        .catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(SandboxError);
      expect(failure).toMatchObject({ code: "sandbox.moved" });
    }
    expect(await box.shell("pwd; ls ..", { cwd })).toBe(`${cwd.path}\nlink\nother\nplanned\n`);
  });
});

describe("a race for the directory", () => {
  test("is lost by whoever swaps it while the sandbox is made", async () => {
    // In the place of bubblewrap: swaps the directory, once, and then is bubblewrap.
    const swap = join(box.root, "swap");
    const body = `[ -e old ] || { mv planned old; mkdir planned; }; exec /usr/bin/bwrap "$@"`;
    writeFileSync(swap, `#!/bin/sh\ncd ${box.root}; ${body}\n`, { mode: 0o755 });
    mkdirSync(join(box.root, "planned"));
    const racing = openSandbox(swap).run(
      {
        stages: [shellStage("touch ../ran")],
        workspace: { root: box.root, isWritable: true },
        cwd: identified(join(box.root, "planned")),
        environment: {},
        pinned: [],
        timeoutMs: 30_000,
        maxOutputBytes: 1000,
      },
      { signal: new AbortController().signal, onOutput: null },
    );
    await expect(racing).rejects.toMatchObject({ code: "sandbox.moved" });
    expect(existsSync(join(box.root, "old"))).toBe(true);
    expect(existsSync(join(box.root, "ran"))).toBe(false);
  });
});

describe("who it runs as", () => {
  const isRoot = process.getuid?.() === 0;

  test("the workspace's owner", async () => {
    const owner = isRoot ? 12_345 : statSync(box.root).uid;
    if (isRoot) chownSync(box.root, owner, owner);
    await box.shell("touch made");
    expect(statSync(join(box.root, "made")).uid).toBe(owner);
  });

  test("a workspace within closed directories is reached", async () => {
    const root = join(box.root, "closed", "workspace");
    mkdirSync(root, { recursive: true, mode: 0o700 });
    writeFileSync(join(box.root, "closed", "secret"), "secret");
    const inside = await box.shell("touch made; ls -A . ..", {
      workspace: { root, isWritable: true },
      cwd: identified(root),
    });
    expect(inside).toBe(".:\nmade\n\n..:\nworkspace\n");
  });

  test("a workspace that took another's place is the one that is seen, also by who had seen the other", async () => {
    const root = join(box.root, "workspace");
    const list = () => box.shell("ls", { workspace: { root, isWritable: true }, cwd: identified(root) });
    mkdirSync(root);
    writeFileSync(join(root, "first"), "");
    expect(await list()).toBe("first\n");
    renameSync(root, join(box.root, "moved"));
    mkdirSync(root);
    writeFileSync(join(root, "second"), "");
    expect(await list()).toBe("second\n");
  });

  test.runIf(isRoot)("what is mounted in the workspace is seen as it is now, and not as it was", async () => {
    const place = join(box.root, "place");
    const list = () => box.shell("ls place");
    mkdirSync(place);
    writeFileSync(join(place, "beneath"), "");
    expect(await list()).toBe("beneath\n");
    execFileSync("mount", ["-t", "tmpfs", "none", place]);
    try {
      writeFileSync(join(place, "mounted"), "");
      expect(await list()).toBe("mounted\n");
    } finally {
      execFileSync("umount", [place]);
    }
    expect(await list()).toBe("beneath\n");
  });

  test.runIf(isRoot)("a directory that was not planned for is not given away", async () => {
    const root = join(box.root, "workspace");
    mkdirSync(root);
    const cwd = identified(root);
    renameSync(root, join(box.root, "moved"));
    mkdirSync(root);
    const over = box.run({ stages: [shellStage("true")], workspace: { root, isWritable: true }, cwd });
    await expect(over).rejects.toMatchObject({ code: "sandbox.moved" });
    expect(statSync(root).uid).toBe(0);
  });

  test("what is needed to start it waits for nobody: no process is left between commands", async () => {
    await box.shell("true");
    // Bubblewrap is told the workspace, whatever it is to make.
    await expect.poll(() => processesWith((words) => words.includes(box.root))).toEqual([]);
  });

  test("what is there keeps its owner, and what a command makes is the workspace owner's", async () => {
    const { uid, gid } = statSync(box.root);
    writeFileSync(join(box.root, "closed"), "closed\n", { mode: 0o600 });
    chownSync(join(box.root, "closed"), uid, gid);
    const script =
      "cat closed; echo changed > closed; mkdir d; touch d/made; ln -s d link; stat -c %u:%g . closed d d/made";
    expect(await box.shell(script)).toBe(`closed\n${"1000:1000\n".repeat(4)}`);
    expect(readFileSync(join(box.root, "closed"), "utf8")).toBe("changed\n");
    for (const path of ["", "closed", "d", "d/made", "link"])
      expect(lstatSync(join(box.root, path)), path).toMatchObject({ uid, gid });
    const reading = { workspace: { root: box.root, isWritable: false } };
    expect(await box.shell("cat closed; touch new 2>/dev/null || echo refused", reading)).toBe("changed\nrefused\n");
  });

  test.runIf(isRoot)("files of others stay theirs, and closed to a command in root's workspace", async () => {
    for (const owner of [12_345, FALLBACK_USER.uid]) {
      const path = join(box.root, `${owner}`);
      writeFileSync(path, "theirs\n", { mode: 0o604 });
      chownSync(path, owner, owner);
      expect(await box.shell(`cat ${owner}; echo x >> ${owner}`)).toMatch(/^theirs\n.*Permission denied/);
      expect(await box.shell(`chmod 777 ${owner}`)).toMatch(/Operation not permitted/);
      expect(statSync(path)).toMatchObject({ uid: owner, gid: owner });
    }
  });

  describe.runIf(isRoot)("where root's files cannot be shown as another user's", () => {
    let root: string;
    const run = (script: string, isWritable: boolean) =>
      box.shell(script, { workspace: { root, isWritable }, cwd: identified(root) });
    beforeEach(() => {
      const layers = ["lower", "upper", "work", "merged"].map((name) => join(box.root, name));
      for (const path of layers) mkdirSync(path);
      const [lower, upper, work, merged = ""] = layers;
      execFileSync("mount", [
        "-t",
        "overlay",
        "-o",
        `lowerdir=${lower},upperdir=${upper},workdir=${work}`,
        "o",
        merged,
      ]);
      root = merged;
    });
    afterEach(() => execFileSync("umount", [root]));

    test("a command that its directory is closed to is refused with the remedy, and no owner changes", async () => {
      for (const [mode, isWritable] of [
        [0o700, false],
        [0o700, true],
        [0o755, true],
      ] as const) {
        chmodSync(root, mode);
        await expect(run("touch ran", isWritable)).rejects.toMatchObject({
          code: "sandbox.unavailable",
          message: expect.stringMatching(/belongs to root.*chown/),
        });
        expect(statSync(root)).toMatchObject({ uid: 0, gid: 0 });
        expect(readdirSync(root)).toEqual([]);
      }
    });

    test("a command does what the directory allows everybody", async () => {
      chmodSync(root, 0o755);
      expect(await run("ls; echo read", false)).toBe("read\n");
      chmodSync(root, 0o777);
      expect(await run("touch made && echo made", true)).toBe("made\n");
      expect(statSync(root)).toMatchObject({ uid: 0, gid: 0 });
      chownSync(root, 12_345, 12_345);
      chmodSync(root, 0o700);
      expect(await run("touch own && ls", true)).toBe("made\nown\n");
    });
  });
});

describe("where there is no sandbox", () => {
  test("without bubblewrap the check names it, and nothing is run", async () => {
    const without = boxed(openSandbox("/usr/bin/no-such-bwrap"));
    const [sentence, ...others] = await without.sandbox.check();
    expect(sentence).toMatch(/install the package bubblewrap/);
    expect(others).toEqual([]);
    await expect(without.shell("touch ran")).rejects.toMatchObject({ code: "sandbox.unavailable" });
    expect(() => statSync(join(without.root, "ran"))).toThrow("ENOENT");
    without.dispose();
  });

  test("a program that it takes besides is named too", () => {
    const error = Object.assign(new Error("spawn"), { code: "ENOENT", syscall: "spawn /usr/bin/nsenter" });
    expect(startFailure(error, "/usr/bin/bwrap")).toMatchObject({
      code: "sandbox.unavailable",
      message: expect.stringContaining("install the package util-linux"),
    });
  });

  test("a bubblewrap that cannot do it is quoted", async () => {
    const [sentence] = await openSandbox("/bin/false").check();
    expect(sentence).toMatch(/^The sandbox cannot be made here \(1\)\./);
  });

  test("a processor without a list of system calls runs nothing", async () => {
    expect(await openSandbox("/usr/bin/bwrap", "riscv64").check()).toEqual([expect.stringContaining("riscv64")]);
  });
});
