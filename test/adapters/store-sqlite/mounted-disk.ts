/** A disk in memory for tests that need a small or read-only one; only root may mount it. */
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { temporaryHome } from "./temporary-home.ts";

export interface MountedDisk {
  change(options: string): void;
  remove(): void;
}

export function mountDisk(directory: string, options: string): MountedDisk {
  mkdirSync(directory, { recursive: true });
  execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", directory], { stdio: "pipe" });
  return {
    change: (changed) => execFileSync("mount", ["-o", `remount,${changed}`, directory]),
    remove: () => execFileSync("umount", ["--lazy", directory]),
  };
}

export function mayMount(): boolean {
  const { home, dispose } = temporaryHome();
  try {
    mountDisk(home, "size=64k").remove();
    return true;
  } catch {
    return false;
  } finally {
    dispose();
  }
}
