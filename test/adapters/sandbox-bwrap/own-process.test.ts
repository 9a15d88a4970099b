/** A gateway of its own process: an ordinary user's, which root tries as somebody else, and one like ours. */
import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, closeSync, cpSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FALLBACK_USER } from "../../../src/adapters/sandbox-bwrap/workspace-user.ts";
import { distinctNap, sleepers } from "./boxed.ts";

const NOBODY = 65_534;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "surety-user-"));
  // The repository itself may lie where nobody else can read it.
  cpSync(resolve("src"), join(directory, "src"), { recursive: true });
  chmodSync(directory, 0o777);
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** Runs a shell script in a workspace of its own, after the check. */
function gateway(
  script: string,
  user: "ordinary" | "ours" = "ordinary",
  inheritable: readonly (number | "ignore")[] = [],
): ChildProcess {
  const isRoot = process.getuid?.() === 0;
  const fallbackUser = isRoot && user === "ours" ? FALLBACK_USER : null;
  const program = `
    import { mkdtempSync, statSync } from "node:fs";
    import { createBwrapSandbox } from "${directory}/src/adapters/sandbox-bwrap/create-bwrap-sandbox.ts";
    import { systemClock } from "${directory}/src/boot/system-clock.ts";
    const sandbox = createBwrapSandbox({ clock: systemClock, bwrapPath: "/usr/bin/bwrap", architecture: process.arch, fallbackUser: ${JSON.stringify(fallbackUser)} });
    const missing = await sandbox.check();
    const root = mkdtempSync("${directory}/workspace-");
    const { dev, ino } = statSync(root, { bigint: true });
    const { stdout, stderr } = await sandbox.run(
      {
        stages: [{ executable: "/bin/sh", argv: ["sh", "-c", ${JSON.stringify(script)}] }],
        workspace: { root, isWritable: true },
        cwd: { path: root, device: String(dev), inode: String(ino) },
        environment: { PATH: "/usr/bin:/bin" },
        pinned: [],
        timeoutMs: 30_000,
        maxOutputBytes: 100_000,
      },
      { signal: new AbortController().signal, onOutput: (_, bytes) => process.stderr.write(bytes) },
    );
    const { uid } = statSync(root + "/made", { throwIfNoEntry: false }) ?? {};
    console.log(JSON.stringify({ missing, isOwn: uid === process.getuid(), said: Buffer.concat([stdout, stderr]).toString() }));
  `;
  // The program that runs this is reached by its process: its path may be closed to others.
  return spawn("/proc/self/exe", ["--input-type=module", "-e", program], {
    cwd: "/",
    stdio: ["ignore", "pipe", "pipe", ...inheritable],
    ...(isRoot && fallbackUser === null ? { uid: NOBODY, gid: NOBODY } : {}),
  });
}

async function reportOf(child: ChildProcess) {
  const [said, errors] = await Promise.all([
    text(child.stdout as NonNullable<typeof child.stdout>),
    text(child.stderr as NonNullable<typeof child.stderr>),
  ]);
  expect(said, errors).not.toBe("");
  return JSON.parse(said) as { missing: string[]; isOwn: boolean; said: string };
}

test("every property holds, and what a command makes is the gateway's own", async () => {
  const child = gateway("id -u; touch made; echo /proc/[0-9]*; ls -A /; (ulimit -p || ulimit -u) 2>/dev/null");
  const seen = await reportOf(child);
  expect(seen).toMatchObject({ missing: [], isOwn: true });
  expect(seen.said).toMatch(/^1000\n\/proc\/1 \/proc\/\d+\n/);
  expect(seen.said).not.toMatch(/^(?:home|root|var)$/m);
  expect(seen.said).toMatch(/^128$/m);
});

test.each(["ordinary", "ours"] as const)(
  "a command has three descriptors, however many the gateway's process hands on (%s)",
  async (user) => {
    const host = openSync("/", "r");
    try {
      // More than a command may have open, behind a gap: Node closes the first ones in a row.
      const inheritable = Array.from({ length: 1500 }, (_, index) => (index < 40 ? "ignore" : host));
      const script = `for fd in /proc/$$/fd/*; do [ ! -e "$fd" ] || basename "$fd"; done; cat /etc/passwd | wc -l`;
      expect(await reportOf(gateway(script, user, inheritable))).toMatchObject({ missing: [], said: "0\n1\n2\n1\n" });
    } finally {
      closeSync(host);
    }
  },
);

test.each(["ordinary", "ours"] as const)(
  "nothing of a command outlives a gateway that was killed (%s)",
  async (user) => {
    const nap = distinctNap();
    const child = gateway(`setsid sleep ${nap} & sleep ${nap} & wait`, user);
    await expect.poll(() => sleepers(nap).length, { timeout: 30_000 }).toBe(2);
    child.kill("SIGKILL");
    await expect.poll(() => sleepers(nap), { timeout: 10_000 }).toEqual([]);
  },
);
