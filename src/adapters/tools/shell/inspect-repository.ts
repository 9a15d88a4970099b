/**
 * Can git be trusted to read this workspace without starting programs that the workspace names?
 *
 * Y1. Yes where there is no repository, or a plain one whose configuration is inert; the configuration's bytes are
 *     returned, so that git is shown the ones that were looked at.
 * Y2. A repository elsewhere, a work tree of another, and a configuration in several files are not followed: no.
 */
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf } from "../fs/fs-failure.ts";
import type { Workspace } from "../fs/workspace.ts";
import { isInertGitConfig } from "./inert-git-config.ts";
import { readScript, type ScriptFile } from "./read-scripts.ts";

export interface Repository {
  readonly isInert: boolean;
  readonly config: ScriptFile | null;
}

export async function inspectRepository(workspace: Workspace): Promise<Repository> {
  const kinds = await Promise.all(
    [".git", ".git/commondir", ".git/config.worktree", "HEAD"].map((name) => kindOf(join(workspace.root, name))),
  );
  const [repository, commonDirectory, moreConfig, head] = kinds;
  if (repository === "nothing") return { isInert: head === "nothing", config: null };
  if (repository !== "directory") return { isInert: false, config: null };
  const config = await readScript(workspace, ".git/config");
  const isPlain = commonDirectory === "nothing" && moreConfig === "nothing";
  return { isInert: isPlain && config !== null && isInertGitConfig(config.bytes.toString("utf8")), config };
}

async function kindOf(path: string): Promise<"nothing" | "directory" | "other"> {
  try {
    return (await lstat(path)).isDirectory() ? "directory" : "other";
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(errnoOf(error) ?? "")) return "nothing";
    throw error;
  }
}
