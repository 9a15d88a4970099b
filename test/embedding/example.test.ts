/** The example of docs/embedding.md, as a program that has the package installed: its types hold, and it prints what is shown. */
import { execFile } from "node:child_process";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { libraryTypes } from "../../scripts/published-library.ts";
import { temporaryDirectory } from "../boot/temporary-home.ts";

const run = promisify(execFile);

async function codeBlocks(): Promise<readonly string[]> {
  const text = await readFile("docs/embedding.md", "utf8");
  return [...text.matchAll(/^```\w*\n(.*?)^```$/gms)].map(([, block = ""]) => block);
}

/** From source, so that a bundle which was not made again does not matter; the bundle's own test compares the two. */
async function installed(): Promise<string> {
  const directory = await temporaryDirectory();
  const packaged = join(directory, "node_modules/surety");
  await mkdir(packaged, { recursive: true });
  await symlink(resolve("src"), join(packaged, "src"));
  await writeFile(join(packaged, "library.d.ts"), libraryTypes());
  const exports = { ".": { types: "./library.d.ts", default: "./src/boot/embedding/library.ts" } };
  await writeFile(join(packaged, "package.json"), JSON.stringify({ name: "surety", type: "module", exports }));
  const [example = ""] = await codeBlocks();
  await writeFile(join(directory, "package.json"), JSON.stringify({ type: "module" }));
  await writeFile(join(directory, "example.ts"), example);
  return directory;
}

describe("docs/embedding.md", () => {
  test("the example prints what the page shows", async () => {
    const directory = await installed();
    const { stdout, stderr } = await run(process.execPath, ["example.ts"], {
      cwd: directory,
      env: { ...process.env, TMPDIR: directory },
    });
    const [, printed] = await codeBlocks();
    expect([stdout, stderr]).toEqual([printed, ""]);
  });

  test("the example compiles against the published types, strictly", async () => {
    const directory = await installed();
    const compilerOptions = {
      ...{ target: "es2024", lib: ["es2024"], module: "nodenext", strict: true, noEmit: true, skipLibCheck: false },
      ...{ types: ["node"], typeRoots: [resolve("node_modules/@types")] },
    };
    await writeFile(join(directory, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["example.ts"] }));
    const tsc = resolve("node_modules/typescript/lib/tsc.js");
    const { stdout } = await run(process.execPath, [tsc, "-p", directory]).catch((error: { stdout: string }) => error);
    expect(stdout).toBe("");
  });
});
