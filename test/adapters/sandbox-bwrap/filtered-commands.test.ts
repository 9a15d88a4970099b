/** What the filter of system calls leaves a command, tried by commands. */
import { chmodSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Boxed, boxed, identified, textOf } from "./boxed.ts";

let box: Boxed;
beforeEach(() => {
  box = boxed();
});
afterEach(() => box.dispose());

test("no command reaches a daemon's socket file in the workspace, from a socket of any type", async () => {
  const daemon = createServer((socket) => socket.destroy());
  const path = join(box.root, "daemon.sock");
  await new Promise<void>((resolve) => daemon.listen(path, resolve));
  chmodSync(path, 0o777);
  const inside = await box.shell(`perl -e '
    use Socket;
    my $to = pack_sockaddr_un($ARGV[0]);
    for my $type (SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET) {
      socket(my $alone, AF_UNIX, $type, 0) and print "socket $type\n";
      socketpair(my $one, my $other, AF_UNIX, $type, 0) or next;
      print "pair $type\n";
      print "connected\n" if connect($one, $to);
      print "addressed\n" if send($one, "x", 0, $to) || bind($one, pack_sockaddr_un("/tmp/s"));
      send($one, "hello\n", 0); sysread($other, my $heard, 6); print $heard;
    }' ${path} 2>&1`);
  daemon.close();
  expect(inside).toBe("pair 1\nhello\n");
});

test("no command keeps anything in System V objects or message queues", async () => {
  const inside = await box.shell("ipcmk -M 4096; ipcmk -Q; ipcmk -S 1; ipcs -a");
  expect(inside.match(/Operation not permitted|failed/g)?.length).toBeGreaterThanOrEqual(3);
  expect(inside).not.toMatch(/^0x/m);
});

test("what can still be done: version control, archives, pipes, and programs that start others", async () => {
  const script = `set -e
    git init -q . && echo one > a.txt && git add . && git -c user.name=a -c user.email=a@b commit -qm first
    git status --short && git log --format=%s
    tar cf - a.txt | tar tf - && printf 'b\\na\\n' | sort | head -n 1
    perl -e 'print qx(echo from perl)'`;
  expect(await box.shell(script)).toBe("first\na.txt\na\nfrom perl\n");
  const child = `process.stdout.write(require("node:child_process").execFileSync("/bin/echo", ["from a child"]))`;
  const { stdout, stderr } = await box.run({
    stages: [{ executable: process.execPath, argv: ["node", "-e", child] }],
    workspace: { root: dirname(process.execPath), isWritable: false },
    cwd: identified(dirname(process.execPath)),
  });
  expect(textOf(stdout) + textOf(stderr)).toBe("from a child\n");
});
