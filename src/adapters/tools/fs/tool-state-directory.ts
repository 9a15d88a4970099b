/**
 * A directory outside the workspace where the file tools keep what no model may reach: what was deleted, which edit of a
 * file was the last, and what was written by an untrusted context.
 *
 * N1. No path that a tool takes leads there, because none leads out of the workspace; nor does the sandbox show it.
 * N2. For that it must not lie in the workspace, nor the workspace in it.
 * N3. It is made with the first thing that is put there. Looking for something makes nothing.
 */
import { realpath } from "node:fs/promises";
import { sep } from "node:path";
import { ToolFailure } from "../tool-failure.ts";
import { errnoOf, naming } from "./fs-failure.ts";
import { openWorkspace, type Workspace } from "./workspace.ts";

/** Null where nothing was ever put there. */
export async function findToolStateDirectory(workspace: Workspace, path: string): Promise<Workspace | null> {
  try {
    return { root: assertApart(workspace, await realpath(path)), traversal: workspace.traversal };
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return null;
    throw error;
  }
}

export async function makeToolStateDirectory(workspace: Workspace, path: string): Promise<Workspace> {
  assertApart(workspace, path);
  const annex = await naming("annex", () => openWorkspace(path, workspace.traversal));
  assertApart(workspace, annex.root);
  return annex;
}

function assertApart({ root }: Workspace, annexRoot: string): string {
  if (annexRoot !== root && !annexRoot.startsWith(root + sep) && !root.startsWith(annexRoot + sep)) return annexRoot;
  const message = "The workspace and the gateway's annex lie within one another: the operator must separate them.";
  throw new ToolFailure("internal.error", message);
}
