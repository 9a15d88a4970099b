/** The published package with its production dependencies, as npm lays it down in an empty directory. */
import { execFile } from "node:child_process";
import { lstat, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Figure } from "../figure.ts";
import { removeDirectory, temporaryDirectory } from "../scene.ts";

const PROJECT = join(import.meta.dirname, "..", "..");
const run = promisify(execFile);

export const installSize: Figure = {
  name: "install",
  measure: async () => {
    const row = {
      name: "installed size",
      spread: 0,
      unit: "MB",
      bound: { is: "at most", must: 60, aim: 30 },
    } as const;
    const directory = await temporaryDirectory();
    try {
      // Without scripts: packing would bundle again, beneath whoever uses the bundle.
      const packing = ["pack", "--ignore-scripts", "--silent", "--pack-destination", directory];
      const { stdout } = await run("npm", packing, { cwd: PROJECT });
      await writeFile(join(directory, "package.json"), '{"private":true}');
      const quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--omit=dev", "--omit=optional"];
      await run("npm", ["install", ...quiet, join(directory, stdout.trim())], { cwd: directory });
      const modules = join(directory, "node_modules");
      const packages = await packagesIn(modules);
      const own = await bytesIn(join(modules, "surety"));
      const note = `${(own / 1e6).toFixed(1)} MB our own; ${packages.length - 1} packages beside it: ${packages.filter((name) => name !== "surety").join(", ")}`;
      return [{ ...row, value: (await bytesIn(modules)) / 1e6, note }];
    } catch (error) {
      return [{ ...row, value: null, note: error instanceof Error ? (error.message.split("\n")[0] ?? "") : "" }];
    } finally {
      await removeDirectory(directory);
    }
  },
};

async function packagesIn(modules: string): Promise<readonly string[]> {
  const names: string[] = [];
  for (const name of await readdir(modules)) {
    if (name.startsWith(".")) continue;
    if (!name.startsWith("@")) names.push(name);
    else names.push(...(await readdir(join(modules, name))).map((scoped) => `${name}/${scoped}`));
  }
  return names;
}

async function bytesIn(directory: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += (await lstat(join(entry.parentPath, entry.name))).size;
  }
  return bytes;
}
