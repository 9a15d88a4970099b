/**
 * The part of the host's system that a sandbox shows: programs and libraries, read-only, and of `/etc` only what the
 * loader and alternatives links need. Each entry costs every command a mount. Links on the host are links in the
 * sandbox, so that real paths are equal on both sides.
 */
import { lstatSync, readlinkSync } from "node:fs";

const DIRECTORIES = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
const SETTINGS = ["/etc/ld.so.cache", "/etc/ld-musl-x86_64.path", "/etc/ld-musl-aarch64.path", "/etc/alternatives"];

export function systemMounts(): readonly string[] {
  return [...DIRECTORIES, ...SETTINGS].flatMap(mountOf);
}

/** What bwrap itself needs. Directories only: a file that is replaced later would stay as it was. */
export function namespaceSystemMounts(): readonly string[] {
  return [...[...DIRECTORIES, "/etc"].flatMap(mountOf), "--dev-bind", "/dev", "/dev", "--bind", "/proc", "/proc"];
}

function mountOf(path: string): readonly string[] {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return [];
  return stats.isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path];
}
