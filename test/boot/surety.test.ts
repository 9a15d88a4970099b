/** The real process: what `main.test.ts` cannot see. */
import { spawn } from "node:child_process";
import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryDirectory, temporaryHome } from "./temporary-home.ts";

const ENTRY = fileURLToPath(new URL("../../src/boot/surety.ts", import.meta.url));

interface Ending {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function surety(
  words: readonly string[],
  options: {
    readonly variables?: NodeJS.ProcessEnv;
    readonly closesStdout?: boolean;
    readonly directory?: string;
  } = {},
): Promise<Ending> {
  const child = spawn(process.execPath, [ENTRY, ...words], {
    env: { ...process.env, ...options.variables },
    cwd: options.directory,
  });
  const written = { stdout: "", stderr: "" };
  child.stderr.on("data", (chunk: Buffer) => {
    written.stderr += chunk.toString();
  });
  if (options.closesStdout === true) child.stdout.destroy();
  else
    child.stdout.on("data", (chunk: Buffer) => {
      written.stdout += chunk.toString();
    });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, ...written }));
  });
}

/** A process that is killed when the test is over. */
function running(words: readonly string[]) {
  const child = spawn(process.execPath, [ENTRY, ...words], { env: { ...process.env, NO_COLOR: "1" } });
  let written = "";
  let look = (): void => {};
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      written += chunk.toString();
      look();
    });
  }
  const kill = (): void => {
    child.kill("SIGKILL");
  };
  onTestFinished(kill);
  return {
    kill,
    written: () => written,
    says: (text: string) =>
      new Promise<void>((resolve, reject) => {
        look = () => {
          if (written.includes(text)) resolve();
        };
        child.once("close", () => reject(new Error(`it ended without ${text}: ${written}`)));
        look();
      }),
  };
}

describe("the process", () => {
  test("prints, and exits with the code of the command", async () => {
    const [version, unknown] = await Promise.all([surety(["--version"]), surety(["bogus"])]);
    expect(version).toMatchObject({ code: 0, stderr: "" });
    expect(unknown).toEqual({
      code: 2,
      stdout: "",
      stderr: "error usage: unknown command bogus\nSee surety --help.\n",
    });
  });

  test("finds its home through SURETY_HOME", async () => {
    const home = await temporaryHome();
    const variables = { SURETY_HOME: home.directory };
    expect(await surety(["config", "set", "gateway.port", "4321"], { variables })).toMatchObject({ code: 0 });
    expect((await surety(["config", "get", "gateway.port"], { variables })).stdout).toBe("4321\n");
  });

  test.each([
    ["surety", "surety", "there"],
    ["start", "surety", "there"],
    ["test", "surety", "here"],
    ["surety", "another", "here"],
  ])("by npm's script %s of %s, a path is meant from %s", async (script, name, place) => {
    const [here, there] = [await temporaryDirectory(), await temporaryDirectory()];
    const variables = { INIT_CWD: there, npm_lifecycle_event: script, npm_package_name: name };
    const words = ["config", "set", "gateway.port", "4321", "--home", "mine"];
    expect(await surety(words, { variables, directory: here })).toMatchObject({ code: 0, stderr: "" });
    const made = { here: await readdir(here), there: await readdir(there) };
    expect(made).toEqual({ here: [], there: [], [place]: ["mine"] });
  });

  test("a killed gateway: the client says so, finds the next one, and its question is open again", async () => {
    const home = await temporaryHome();
    const start = async () => {
      const child = running(["start", "--home", home.directory, "--port", "0"]);
      await child.says("listening on");
      return child;
    };
    const first = await start();
    const client = running(["run", "write hello to a.txt", "--wait", "--home", home.directory]);
    await client.says("waiting for approval");
    first.kill();
    await client.says("Lost the gateway. The run is saved and continues when you restart it.\n");
    await client.says("surety runs watch run_");
    const second = await start();
    await second.says("1 unfinished run continues; 1 question waits for an answer: surety approvals ls");
    await client.says("The gateway is back.");
    const [approval = ""] = /approval_[0-9a-f]+/.exec(client.written()) ?? [];
    const [allowed] = await Promise.all([
      surety(["approvals", "allow", approval, "--home", home.directory]),
      client.says("COMPLETED_WITH_TOOLS"),
    ]);
    expect(allowed).toMatchObject({ code: 0 });
  });

  test("a run that waits for a gateway cannot be watched without one", async () => {
    const home = await temporaryHome();
    const gateway = running(["start", "--home", home.directory, "--port", "0"]);
    await gateway.says("listening on");
    const client = running(["run", "write hello to a.txt", "--wait", "--home", home.directory]);
    await client.says("waiting for approval");
    const [runId = ""] = /run_[0-9a-f]+/.exec(client.written()) ?? [];
    client.kill();
    const watcher = running(["runs", "watch", runId, "--home", home.directory]);
    await watcher.says("waiting for approval");
    gateway.kill();
    await watcher.says("Lost the gateway.");
    watcher.kill();
    const refused = await surety(["runs", "watch", runId, "--home", home.directory]);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("error gateway.missing") });
  });

  test("a reader that has gone is no failure", async () => {
    const { stderr } = await surety(["config", "schema"], { closesStdout: true });
    expect(stderr).toBe("");
  });
});
