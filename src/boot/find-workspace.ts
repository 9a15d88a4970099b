/**
 * The workspace of a home: the directory `tools.workspace` names, else `workspace` in the home.
 *
 * W1. A relative path starts at the home, `~/` at the user's home directory; the working directory does not matter.
 * W2. The workspace neither holds the home nor lies in it, except as `workspace/`: no tool may reach token, keys and
 *     journal. Links are resolved before the check.
 * W3. The home's own workspace is created if missing. One that the config names must exist: a typo must not create a
 *     directory.
 */
import { lstat, realpath, stat } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import { openWorkspace, type Workspace } from "../adapters/tools/fs/workspace.ts";
import { BootError, systemCodeOf } from "./boot-error.ts";
import { expandTilde, type Home } from "./home.ts";

/** The home must exist. */
export async function findWorkspace(home: Home, named: string | undefined): Promise<Workspace> {
  const path = named === undefined ? home.workspace : resolve(home.directory, expandTilde(named));
  if (named !== undefined) await assertDirectory(path);
  const workspace = await openWorkspace(path);
  const homeRoot = await realpath(home.directory);
  if (isWithin(homeRoot, workspace.root)) throw unusable(path, `contains the home ${homeRoot}`, APART);
  const isOwn = isWithin(workspace.root, join(homeRoot, "workspace"));
  if (!isOwn && isWithin(workspace.root, homeRoot)) throw unusable(path, `lies inside the home ${homeRoot}`, APART);
  return workspace;
}

const APART = "Name a directory outside the home, so that no tool can reach its keys; or remove the setting.";
const MAKE_IT = "Create that directory first, or name another.";

async function assertDirectory(path: string): Promise<void> {
  try {
    if ((await stat(path)).isDirectory()) return;
  } catch (error) {
    const code = systemCodeOf(error);
    if (code === null) throw error;
    if (code === "ENOENT")
      throw unusable(path, (await isLink(path)) ? "is a broken link" : "does not exist", MAKE_IT, error);
    throw unusable(path, `cannot be used (${code})`, MAKE_IT, error);
  }
  throw unusable(path, "is not a directory", MAKE_IT);
}

async function isLink(path: string): Promise<boolean> {
  return await lstat(path).then(
    (found) => found.isSymbolicLink(),
    () => false,
  );
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory.replace(/\/$/, "")}${sep}`);
}

function unusable(path: string, what: string, hint: string, cause?: unknown): BootError {
  return new BootError("config.invalid", `tools.workspace: ${path} ${what}`, hint, { cause });
}
