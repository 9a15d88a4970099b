/**
 * As root on overlayfs, the root of most containers, commands cannot use a workspace that root owns (docs/sandbox.md). There
 * the tests put theirs into memory, if root may mount.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isOverlay } from "../src/adapters/sandbox-bwrap/workspace-user.ts";

let mounted: string | null = null;

export function setup(): void {
  const before = tmpdir();
  if (process.getuid?.() !== 0 || !isOverlay(before)) return;
  const directory = mkdtempSync(join(before, "surety-tests-"));
  const mount = spawnSync("mount", ["-t", "tmpfs", "-o", "mode=1777", "surety-tests", directory]);
  if (mount.status === 0) process.env["TMPDIR"] = mounted = directory;
  else rmdirSync(directory);
}

export function teardown(): void {
  if (mounted === null) return;
  spawnSync("umount", ["--lazy", mounted]);
  rmdirSync(mounted);
}
