/**
 * What of the host's own system is seen in a sandbox: programs and libraries, read-only, and how libraries are found.
 *
 * W1. Nothing of `/etc` but what the loader and the links of alternatives need: no names, no hosts, no keys.
 * W2. As little as will do: each of these costs every command a mount.
 * W3. What is a link on the host is one in the sandbox, so that real paths are the same on both sides.
 */
import { lstatSync, readlinkSync } from "node:fs";

const DIRECTORIES = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
const SETTINGS = ["/etc/ld.so.cache", "/etc/ld-musl-x86_64.path", "/etc/ld-musl-aarch64.path", "/etc/alternatives"];

/** As arguments of bwrap. */
export function systemView(): readonly string[] {
  return [...DIRECTORIES, ...SETTINGS].flatMap(seenAsItIs);
}

/** What bwrap itself needs to show that, and to make the rest. Directories only: a file that is replaced would stay as it was. */
export function systemBehindView(): readonly string[] {
  return [...[...DIRECTORIES, "/etc"].flatMap(seenAsItIs), "--dev-bind", "/dev", "/dev", "--bind", "/proc", "/proc"];
}

function seenAsItIs(path: string): readonly string[] {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return [];
  return stats.isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path];
}
