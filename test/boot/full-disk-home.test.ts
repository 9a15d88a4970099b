/** F3, seen by commands: a home whose disk is full, with a gateway on it or without. Real processes on a small disk. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, statfsSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { lockHome } from "../../src/adapters/store-sqlite/open-database.ts";
import { mayMount, mountDisk } from "../adapters/store-sqlite/mounted-disk.ts";
import { temporaryDirectory } from "./temporary-home.ts";

const ENTRY = fileURLToPath(new URL("../../src/boot/surety.ts", import.meta.url));
/** Only against hanging: a command that does not end is what these tests are about. */
const LIMIT_MS = 60_000;
const COMMAND_LIMIT_MS = 20_000;
/** What SQLite needs beside a database to read it, and not what it takes to write. */
const ENOUGH_TO_READ = 48 * 1024;

function start(home: string, ...words: readonly string[]) {
  const child = spawn(process.execPath, [ENTRY, "--home", home, ...words], { env: { ...process.env, NO_COLOR: "1" } });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  const written = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].on("data", (chunk: Buffer) => {
      written[name] += chunk.toString();
    });
  }
  return { child, written };
}

async function surety(home: string, ...words: readonly string[]) {
  const { child, written } = start(home, ...words);
  const hanging = setTimeout(() => child.kill("SIGKILL"), COMMAND_LIMIT_MS);
  const [code] = await once(child, "close");
  clearTimeout(hanging);
  return { code, ...written };
}

/** A home that was used, on a disk that can be made full. */
async function homeOnDisk() {
  const directory = await temporaryDirectory();
  const disk = mountDisk(directory, "size=16m,mode=700");
  onTestFinished(() => disk.remove());
  const home = join(directory, "home");
  await mkdir(home);
  expect(await surety(home, "run", "list files")).toMatchObject({ code: 0 });
  const ballast = join(directory, "ballast");
  return {
    home,
    fill: (leavingBytes: number) => {
      writeFileSync(ballast, Buffer.alloc(roomIn(directory) - leavingBytes));
    },
    makeRoom: () => rmSync(ballast),
  };
}

function errorsIn({ code, stderr }: { readonly code: number | null; readonly stderr: string }) {
  expect(code).toBe(1);
  return stderr.match(/^error .*/gm);
}

function roomIn(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

test.runIf(mayMount())(
  "beside a gateway that cannot write, commands that read work, commands that act fail, and the gateway recovers",
  async () => {
    const { home, fill, makeRoom } = await homeOnDisk();
    const { child, written } = start(home, "start", "--port", "0");
    await vi.waitFor(() => expect(written.stdout).toContain("listening"), LIMIT_MS);
    fill(ENOUGH_TO_READ);
    await vi.waitFor(
      async () => {
        await surety(home, "run", "list files");
        expect(written.stderr).toContain("Not accepting runs");
      },
      { timeout: LIMIT_MS, interval: 100 },
    );
    expect(errorsIn(await surety(home, "run", "list files"))).toEqual([expect.stringContaining("store.unavailable")]);
    expect(() => lockHome(home)).toThrow("Another surety runs on");
    for (const words of [
      ["approvals", "ls"],
      ["caps", "ls"],
      ["runs", "ls"],
    ]) {
      expect([words, await surety(home, ...words)]).toMatchObject([words, { code: 0, stderr: "" }]);
    }
    makeRoom();
    await vi.waitFor(() => expect(written.stderr).toContain("open again"), LIMIT_MS);
    expect(await surety(home, "run", "list files")).toMatchObject({ code: 0 });
    child.kill("SIGTERM");
    await once(child, "close");
  },
  LIMIT_MS * 3,
);

test.runIf(mayMount())(
  "without a gateway, a command that cannot write says so in one error, and ends",
  async () => {
    const { home, fill, makeRoom } = await homeOnDisk();
    fill(ENOUGH_TO_READ);
    expect(errorsIn(await surety(home, "run", "list files"))).toEqual([expect.stringContaining("store.unavailable")]);
    expect(await surety(home, "approvals", "ls")).toMatchObject({ code: 0, stderr: "" });
    makeRoom();
    expect(await surety(home, "run", "list files")).toMatchObject({ code: 0 });
  },
  LIMIT_MS * 3,
);
