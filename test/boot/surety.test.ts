/** The real process: what `main.test.ts` cannot see. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { temporaryHome } from "./temporary-home.ts";

const ENTRY = fileURLToPath(new URL("../../src/boot/surety.ts", import.meta.url));

interface Ending {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function surety(
  words: readonly string[],
  options: { readonly variables?: NodeJS.ProcessEnv; readonly closesStdout?: boolean } = {},
): Promise<Ending> {
  const child = spawn(process.execPath, [ENTRY, ...words], { env: { ...process.env, ...options.variables } });
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

  test("a reader that has gone is no failure", async () => {
    const { stderr } = await surety(["config", "schema"], { closesStdout: true });
    expect(stderr).toBe("");
  });
});
