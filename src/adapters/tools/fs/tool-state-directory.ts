/**
 * The directory where the file tools keep what no model may reach: the trash, the last edit of each file, and the marks
 * of untrusted writes. It lies outside the workspace and does not contain it, so no tool path and no sandbox leads
 * there.
 */
import { realpath } from "node:fs/promises";
import { sep } from "node:path";
import { ToolFailure } from "../tool-failure.ts";
import { errnoOf, withPathErrors } from "./fs-failure.ts";
import { openWorkspace, type Workspace } from "./workspace.ts";

/** Null if nothing was ever written there. */
export async function findToolStateDirectory(workspace: Workspace, path: string): Promise<Workspace | null> {
  try {
    const root = await realpath(path);
    assertSeparate(workspace, root);
    return { root, traversal: workspace.traversal };
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return null;
    throw error;
  }
}

export async function openToolStateDirectory(workspace: Workspace, path: string): Promise<Workspace> {
  assertSeparate(workspace, path);
  const state = await withPathErrors("tool state directory", () => openWorkspace(path, workspace.traversal));
  assertSeparate(workspace, state.root);
  return state;
}

function assertSeparate({ root }: Workspace, stateRoot: string): void {
  if (stateRoot !== root && !stateRoot.startsWith(root + sep) && !root.startsWith(stateRoot + sep)) return;
  const message =
    "The workspace and the gateway's tool state directory contain one another: the operator must separate them.";
  throw new ToolFailure("internal.error", message);
}
