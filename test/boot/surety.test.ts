/** The real process: what `main.test.ts` cannot see. */
import { spawn } from "node:child_process";
import { once } from "node:events";
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

  test.each([
    ["0.0.0.0", "warning gateway.exposed: 0.0.0.0 can be reached from the network; the token alone protects it\n"],
    ["127.0.0.1", ""],
  ])("a gateway on %s says whether others can reach it", async (host, warning) => {
    const home = await temporaryHome();
    const words = ["start", "--home", home.directory, "--host", host, "--port", "0"];
    const child = spawn(process.execPath, [ENTRY, ...words], { env: { ...process.env, NO_COLOR: "1" } });
    onTestFinished(() => {
      child.kill("SIGKILL");
    });
    let remarks = "";
    child.stderr.on("data", (chunk: Buffer) => {
      remarks += chunk.toString();
    });
    child.stdout.once("data", () => child.kill("SIGTERM"));
    await once(child, "close");
    expect(remarks).toBe(warning);
  });

  test("a reader that has gone is no failure", async () => {
    const { stderr } = await surety(["config", "schema"], { closesStdout: true });
    expect(stderr).toBe("");
  });
});
