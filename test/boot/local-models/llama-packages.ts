/**
 * node-llama-cpp for the tests: it is no dependency, so they install it themselves, once for a machine, with the same line
 * that `surety models add` names. Homes of tests link to it.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { installLine, PACKAGE_VERSION } from "../../../src/adapters/models/llama-cpp/llama-package.ts";

const INSTALLED = join(tmpdir(), `surety-tests-node-llama-cpp-${PACKAGE_VERSION}`);
const INSTALL_MS = 300_000;

/** The directory it is installed in. */
async function llamaPackages(): Promise<string> {
  if (existsSync(INSTALLED)) return INSTALLED;
  const made = await mkdtemp(`${INSTALLED}-`);
  const [npm = "", ...words] = installLine(made).replaceAll('"', "").split(" ");
  await promisify(execFile)(npm, words, { timeout: INSTALL_MS });
  // Another test may have been first.
  await rename(made, INSTALLED).catch(() => rm(made, { recursive: true }));
  return INSTALLED;
}

/** As if it was installed into the home. */
export async function linkPackages(homeDirectory: string): Promise<void> {
  const packages = join(homeDirectory, "packages");
  await mkdir(dirname(packages), { recursive: true });
  await symlink(await llamaPackages(), packages);
}
