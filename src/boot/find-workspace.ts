/**
 * The workspace of a home: the directory `tools.workspace` names, else `workspace` in the home.
 *
 * W1. A relative path is meant from the home, `~/` from the person's own directory; where somebody stands means nothing.
 * W2. It neither holds the home nor lies in it, but for `workspace/` there: token, keys and journal are beyond every tool.
 *     Links are followed before that is judged.
 * W3. The home's own is made where it is missing. One that the operator names is theirs to make: a slip of the pen must
 *     not become a directory.
 */
import { lstat, realpath, stat } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import { openWorkspace, type Workspace } from "../adapters/tools/fs/workspace.ts";
import { BootError, systemCodeOf } from "./boot-error.ts";
import { type Home, withoutTilde } from "./home.ts";

/** The home is there. */
export async function findWorkspace(home: Home, named: string | undefined): Promise<Workspace> {
  const path = named === undefined ? home.workspace : resolve(home.directory, withoutTilde(named));
  if (named !== undefined) await assertDirectory(path);
  const workspace = await openWorkspace(path);
  const homeRoot = await realpath(home.directory);
  if (isWithin(homeRoot, workspace.root)) throw unusable(path, `holds the home ${homeRoot}`, APART);
  const isOwn = isWithin(workspace.root, join(homeRoot, "workspace"));
  if (!isOwn && isWithin(workspace.root, homeRoot)) throw unusable(path, `lies in the home ${homeRoot}`, APART);
  return workspace;
}

const APART = "Name a directory apart from the home, so that no tool can reach its keys; or leave it out.";
const MAKE_IT = "Make that directory first, or name another.";

async function assertDirectory(path: string): Promise<void> {
  try {
    if ((await stat(path)).isDirectory()) return;
  } catch (error) {
    const code = systemCodeOf(error);
    if (code === null) throw error;
    if (code === "ENOENT")
      throw unusable(path, (await isLink(path)) ? "leads nowhere" : "is not there", MAKE_IT, error);
    throw unusable(path, `cannot be used (${code})`, MAKE_IT, error);
  }
  throw unusable(path, "is no directory", MAKE_IT);
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
