/**
 * Finds the program of a command name in fixed directories, never in the workspace or by a PATH. The real file counts,
 * with the hash of its bytes. It is refused if others can write it, or if it is another kind of program than its name
 * says. Hashes are cached by identity, size and times; an owner cannot set ctime back.
 */
import { createHash } from "node:crypto";
import { closeSync, constants, createReadStream, fstatSync, openSync, realpathSync } from "node:fs";
import { basename, join } from "node:path";
import { asHash, type Hash } from "../../../kernel/vocabulary/identifiers.ts";
import { errnoOf } from "../fs/fs-failure.ts";
import { ToolFailure } from "../tool-failure.ts";
import { commandRefused, quoted } from "./classification.ts";
import { isWithin } from "./classify-command.ts";
import { isDisguised } from "./program-kinds.ts";

export interface Executable {
  readonly path: string;
  readonly hash: Hash;
}

export type FindExecutable = (name: string) => Promise<Executable>;

const WRITABLE_BY_OTHERS = 0o022;
const EXECUTABLE = 0o111;

export function createExecutableFinder(root: string, searchPath: readonly string[]): FindExecutable {
  const hashes = new Map<string, Hash>();
  return async (name) => {
    for (const directory of searchPath) {
      const path = realPathOf(join(directory, name));
      const executable = path === null ? null : await inspect(name, path, root, hashes);
      if (executable !== null) return executable;
    }
    throw new ToolFailure(
      "invalid.request",
      `${quoted(name)} is allowed, but not installed in ${searchPath.join(", ")}.`,
    );
  };
}

function realPathOf(path: string): string | null {
  try {
    return realpathSync.native(path);
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "EACCES", "ELOOP"].includes(errnoOf(error) ?? "")) return null;
    throw error;
  }
}

async function inspect(
  name: string,
  path: string,
  root: string,
  hashes: Map<string, Hash>,
): Promise<Executable | null> {
  if (isWithin(root, path)) throw commandRefused(`${quoted(name)} is a file in the workspace`);
  if (isDisguised(name, basename(path))) throw commandRefused(`${quoted(name)} is really ${quoted(path)}`);
  const fd = openIfThere(path);
  if (fd === null) return null;
  try {
    const stats = fstatSync(fd, { bigint: true });
    const { dev, ino, size, mtimeNs, ctimeNs } = stats;
    const mode = Number(stats.mode);
    if (!stats.isFile() || (mode & EXECUTABLE) === 0) return null;
    if ((mode & WRITABLE_BY_OTHERS) !== 0) throw commandRefused(`other users can write to ${quoted(path)}`);
    const identity = [path, dev, ino, size, mtimeNs, ctimeNs].join(" ");
    const hash = hashes.get(identity) ?? (await hashOf(fd));
    hashes.set(identity, hash);
    return { path, hash };
  } finally {
    closeSync(fd);
  }
}

function openIfThere(path: string): number | null {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (["ENOENT", "EACCES", "ELOOP", "ENXIO"].includes(errnoOf(error) ?? "")) return null;
    throw error;
  }
}

/** Streams, since an interpreter may have a hundred megabytes. */
async function hashOf(fd: number): Promise<Hash> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream("", { fd, autoClose: false, start: 0 })) hash.update(chunk);
  return asHash(hash.digest("hex"));
}
